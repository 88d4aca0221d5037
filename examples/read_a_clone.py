"""Read a clone of a repository of certification logs as it is: rank its logs, and compare them with the papers' tables.

    python examples/read_a_clone.py [CLONE]

Without CLONE, three small logs are made up and put where a released repository has its own.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np

from randsmooth import bounds, certificates, papers, report
from randsmooth.noise import Gaussian

N, ALPHA = 100_000, 0.001
LOGS = {  # place -> sigma, and how hard the images are
    "data/certify/cifar10/resnet110/noise_0.25/test/sigma_0.25": (0.25, 0.8),
    "data/certify/cifar10/resnet110/noise_0.50/test/sigma_0.50": (0.5, 0.6),
    "data/certify/imagenet/resnet50/noise_0.50/test/sigma_0.50": (0.5, 0.7),
}


def made_up(folder: Path) -> Path:
    """A folder like a clone of locuslab/smoothing, with logs of 200 images."""
    rng = np.random.default_rng(0)
    for place, (sigma, mean) in LOGS.items():
        p_a = np.clip(rng.normal(mean, 0.3, 200), 0.01, 1.0)
        radius = Gaussian(sigma).radius(bounds.q_upper(rng.binomial(N, p_a), N, ALPHA))
        path = folder / "smoothing" / place
        path.parent.mkdir(parents=True)
        certificates.write_tsv(certificates.from_radii(radius), path)
    return folder / "smoothing"


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        clone = Path(sys.argv[1]) if len(sys.argv) > 1 else made_up(Path(name))
        entries = []
        for file in certificates.read_folder(clone):
            if file.table is None:
                print(file.fault)
                continue
            entry = report.measure(file.table, file.path.relative_to(clone).as_posix())
            print(
                f"{entry.method} on {file.table.header.dataset}, sigma {file.table.header.sigma}: ACR {entry.acr}"
            )
            entries.append(entry)
        report.write_leaderboard(
            entries, Path(name) / "leaderboard.html"
        )  # open it in a browser
        for covered in papers.survey(clone).drawn:
            missing = sum(map(len, covered.lacking.values()))
            print(
                f"{covered.object.name}: {len(covered.filled)} rows filled, {missing} missing"
            )


if __name__ == "__main__":
    main()
