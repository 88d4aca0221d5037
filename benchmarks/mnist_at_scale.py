"""MNIST models trained on all images for all epochs (mnist-at-scale.yaml), beside their authors' logs.

    python benchmarks/mnist_at_scale.py --logs FOLDER [--tables results/mnist-at-scale]

The tables are sigma*/METHOD.parquet; sigma*.csv and sigma*.md are written beside these folders. The logs lie in
`data/certify/mnist` of the repository jh-jeong/smoothing-consistency: five training seeds a method, all 10,000 test
images at n = 100,000. Their ACR and accuracies are brought down to the n used here, in expectation over subsets of the
samples. The two cannot be paired image by image where the files of MNIST differ in their order.
"""

import argparse
import math
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

from randsmooth import metrics, read
from randsmooth.certificates import Certificates
from randsmooth.report.layouts import pipes

ALPHA, THEIR_N = 0.001, 100_000
RADII = (0.0, 0.5, 1.0, 1.5)
LOGS = {  # of a method at sigma, which stands in place of {}; of some it takes other strengths; * is the training seed
    "gaussian": "cohen/noise_{:.2f}_*",
    "stability": "stab/lbd_2/noise_{}_*",
    "consistency": "consistency/cohen/num_2/lbd_5.0/eta_0.5/noise_{:.2f}_[1-9]",
    "macer": "macer_deferred30/num_16/lbd_16.0/gamma_8.0/beta_16.0/noise_{:.2f}_*",
}
OTHER_LOGS = {
    ("consistency", 0.25): "consistency/cohen/num_2/lbd_10.0/eta_0.5/noise_0.25_[1-9]",
    ("macer", 1.0): "macer_deferred30/num_16/lbd_6.0/gamma_8.0/beta_16.0/noise_1.00_*",
}


def seeds(folder: Path, method: str, sigma: float) -> list[Certificates]:
    """The authors' logs, one a training seed."""
    pattern = OTHER_LOGS.get((method, sigma), LOGS[method].format(sigma))
    logs = [
        read(path).assuming(sigma=sigma, n=THEIR_N, alpha=ALPHA)
        for path in sorted(folder.glob(pattern))
    ]
    if len(logs) < 2:
        raise SystemExit(
            f"{folder / pattern}: {len(logs)} logs; expected those of several training seeds"
        )
    return logs


def figures(table: Certificates, n: int) -> dict[str, metrics.Estimate]:
    """ACR and accuracies at n samples."""
    return {"acr": metrics.acr_at(table, n, ALPHA)} | {
        f"accuracy@{r:g}": metrics.accuracy_at(table, r, n, ALPHA) for r in RADII
    }


def beside(path: Path, folder: Path) -> list[dict[str, object]]:
    """A row a figure: ours with its interval over the images, theirs over the training seeds, and how far apart."""
    table, method = read(path), path.stem
    sigma, n = float(table.header.sigma or 0.0), int(table.header.n or 0)
    theirs = [figures(log, n) for log in seeds(folder, method, sigma)]
    return [
        {
            "method": method,
            "sigma": sigma,
            "metric": name,
            **row(mine, [seed[name] for seed in theirs]),
        }
        for name, mine in figures(table, n).items()
    ]


def row(mine: metrics.Estimate, theirs: list[metrics.Estimate]) -> dict[str, float]:
    """What is compared: one more training seed, seen on some images, with the seeds seen on all of them.

    `deviations` is how far apart they are in units of sqrt(e^2 (1 - f) + s^2 (1 + 1/S)), where e is the standard error
    over the images here, f the share that they are of the test set, which is theirs too, and s the deviation between
    S seeds.
    """
    values = np.array([estimate.value for estimate in theirs])
    error = (mine.high - mine.low) / (2.0 * float(stats.norm.ppf(0.975)))
    error *= math.sqrt(1.0 - mine.images / theirs[0].images)
    spread = float(values.std(ddof=1))
    deviation = math.hypot(error, spread * math.sqrt(1.0 + 1.0 / len(values)))
    apart = (mine.value - values.mean()) / deviation if deviation else math.nan
    return {
        "here": mine.value,
        "here_low": mine.low,
        "here_high": mine.high,
        "images": mine.images,
        "theirs": float(values.mean()),
        "theirs_least": float(values.min()),
        "theirs_most": float(values.max()),
        "between_seeds": spread,
        "seeds": len(values),
        "deviations": apart,
    }


def markdown(table: pd.DataFrame) -> str:
    """ACR with three decimals, accuracies in per cent."""
    heads = [
        "method",
        "metric",
        "here",
        "95% over the images",
        "theirs, mean of seeds",
        "least to most",
    ]
    lines = [[*heads, "apart, deviations"]]
    for r in table.itertuples():
        scale, digits = (1.0, 3) if r.metric == "acr" else (100.0, 1)
        here, low, high, theirs, least, most = (
            f"{scale * value:.{digits}f}"
            for value in (
                r.here,
                r.here_low,
                r.here_high,
                r.theirs,
                r.theirs_least,
                r.theirs_most,
            )
        )
        name = "ACR" if r.metric == "acr" else f"% at {r.metric.split('@')[1]}"
        apart = "–" if math.isnan(r.deviations) else f"{r.deviations:+.1f}"
        lines.append(
            [
                r.method,
                name,
                here,
                f"{low} to {high}",
                theirs,
                f"{least} to {most}",
                apart,
            ]
        )
    return "\n".join(pipes(lines, [False] * 7)) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--logs", type=Path, required=True, help="folder of the authors' logs"
    )
    parser.add_argument(
        "--tables",
        type=Path,
        default=Path("results/mnist-at-scale"),
        help="folder of ours",
    )
    options = parser.parse_args()
    for folder in sorted(options.tables.glob("sigma*/")):
        lines = [
            line
            for path in sorted(folder.glob("*.parquet"))
            for line in beside(path, options.logs)
        ]
        table = pd.DataFrame(lines)
        table.to_csv(options.tables / f"{folder.name}.csv", index=False)
        (options.tables / f"{folder.name}.md").write_text(markdown(table))
        print(markdown(table))


if __name__ == "__main__":
    main()
