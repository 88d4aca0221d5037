"""How far ACR moves where the method stays the same, measured on published certification logs.

    python benchmarks/acr_moves.py [LOGS] [--released FOLDER] [--out results/acr-moves.json]

LOGS is a folder of TSV logs of all 10,000 images at n = 100,000 and alpha = 0.001, by default those of the ACR paper at
sigma 0.5, where they lie beside RANDSMOOTH_DATA. Of these logs other subsets, budgets and noise are computed. FOLDER
holds clones of the repositories that released logs (`as-released` beside them): of these come other runs, networks and
training noise. A figure whose logs are missing is left out.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from randsmooth import bounds, metrics, read
from randsmooth.certificates import Certificates, infer
from randsmooth.versions import versions
from savings import beside_the_data

Floats = NDArray[np.float64]
CONSISTENCY, CATRS = "jh-jeong+smoothing-consistency/data/certify", "alinlab+smoothing-catrs/data"
CIFAR10, MNIST = f"{CONSISTENCY}/cifar10/consistency/cohen/num_2/lbd_10.0/eta_0.5", f"{CONSISTENCY}/mnist"
NETWORKS = {name: f"{CIFAR10}/{name}/noise_0.50" for name in ("cifar_resnet110", "cifar_resnet20", "cifar_densenet40")}
SEEDS = {  # five trainings each, on MNIST at sigma 0.5
    "gaussian": f"{MNIST}/cohen/noise_0.50_*",
    "stability": f"{MNIST}/stab/lbd_2/noise_0.5_*",
    "smoothadv": f"{MNIST}/salman/pgd_255.0_10_10/num_4/noise_0.50_*",
    "macer": f"{MNIST}/macer_deferred30/num_16/lbd_16.0/gamma_8.0/beta_16.0/noise_0.50_*",
    "consistency": f"{MNIST}/consistency/cohen/num_2/lbd_5.0/eta_0.5/noise_0.50_*",
    "smoothadv+consistency": f"{MNIST}/consistency/salman_255.0_10_10/num_4/lbd_1.0/eta_0.5/noise_0.50_*",
}
TRAINED = "locuslab+smoothing/data/certify/cifar10/resnet110/noise_{}/test/sigma_0.50"
OTHER_RUNS = {  # the same method in the logs of another paper
    "gaussian": "cohen",
    "smoothadv": "salman",
    "macer": "macer",
    "consistency": "consistency",
    "smoothmix": "smoothmix",
    "catrs": "cat-rs",
}


class Radii(NamedTuple):
    """What k of n successes certify, for k from `first` on: below it nothing."""

    first: int
    of_k: Floats


def acr(table: Certificates) -> float:
    return metrics.acr(table).value


def of_images(tables: dict[str, Certificates]) -> dict[str, dict[str, float]]:
    """ACR of some of the images, less that of all."""
    found: dict[str, dict[str, float]] = {}
    for name, table in tables.items():
        added, whole = table.radius * table.correct, acr(table)
        twentieths = np.array([added[i::20].mean() for i in range(20)]) - whole
        moved = {
            "every 20th image (500)": twentieths[0],
            "every 20th image, lowest of the 20 ways": twentieths.min(),
            "every 20th image, highest of the 20 ways": twentieths.max(),
            "every 10th image (1,000)": added[::10].mean() - whole,
            "the first 500 images": added[:500].mean() - whole,
            "500 images by chance, 95% of the draws within": 1.96 * _error_of(added, 500),
            "1,000 images by chance, 95% of the draws within": 1.96 * _error_of(added, 1000),
        }
        for what, value in moved.items():
            found.setdefault(what, {})[name] = float(value)
    return found


def _error_of(added: Floats, chosen: int) -> float:
    """Standard deviation of the mean of `chosen` of the images, drawn without replacement."""
    return float(added.std(ddof=1) * np.sqrt((1 - chosen / len(added)) / chosen))


def of_budget(tables: dict[str, Certificates]) -> dict[str, dict[str, float]]:
    """Expected ACR at another n or alpha, less that at n = 100,000 and alpha = 0.001."""
    budgets = {
        "n = 10,000": (10_000, 0.001),
        "n = 1,000": (1_000, 0.001),
        "n = 100": (100, 0.001),
        "alpha = 0.01": (100_000, 0.01),
        "alpha = 0.05": (100_000, 0.05),
        "alpha = 0.0001": (100_000, 0.0001),
        "n = 1,000, alpha = 0.05": (1_000, 0.05),
    }
    usual = {name: metrics.acr_at(table).value for name, table in tables.items()}
    found = {
        what: {name: metrics.acr_at(table, n, alpha).value - usual[name] for name, table in tables.items()}
        for what, (n, alpha) in budgets.items()
    }
    found["radii of a log, rounded to three digits"] = {name: acr(t) - usual[name] for name, t in tables.items()}
    return found


def of_noise(tables: dict[str, Certificates]) -> dict[str, dict[str, float]]:
    """What another seed of the noise does, and fewer samples that pick the class."""
    found: dict[str, dict[str, float]] = {}
    for name, table in tables.items():
        p, added = _known_p(table), (table.radius * table.correct)[table.correct]
        found.setdefault("another seed of the noise, 95% of them within", {})[name] = 1.96 * _noise_deviation(p, table)
        for n0 in (100, 10, 1):
            missed = stats.binom.cdf(n0 // 2, n0, p)  # the others all of one class, and every tie lost: the worst case
            found.setdefault(f"n0 = {n0}, lost at most", {})[name] = -float((added * missed).sum() / len(table))
    return found


def _known_p(table: Certificates) -> Floats:
    """p_A of the right images."""
    return metrics.p_a(table).values[table.correct]


def _noise_deviation(p: Floats, table: Certificates) -> float:
    """Standard deviation of ACR over the noise, taking p_A for what the log shows."""
    sigma, n, alpha = table.header.sigma, table.header.n, table.header.alpha
    assert sigma is not None and n is not None and alpha is not None
    k = np.arange(n // 2, n + 1)
    radii = Radii(int(k[0]), bounds.radius_of_tail(bounds.q_upper(k, n, alpha), sigma))
    unique, counts = np.unique(p, return_counts=True)
    return float(np.sqrt(counts @ [_variance(float(each), n, radii) for each in unique]) / len(table))


def _variance(p: float, n: int, radii: Radii) -> float:
    low, high = (int(end) for end in stats.binom.interval(1 - 1e-12, n, p))
    k = np.arange(max(low, radii.first), high + 1)
    mass, radius = stats.binom.pmf(k, n, p), radii.of_k[k - radii.first]
    return float(mass @ radius**2 - (mass @ radius) ** 2)


def of_training(tables: dict[str, Certificates], released: Path) -> dict[str, dict[str, float]]:
    """Logs of other runs, networks and training noise."""
    found: dict[str, dict[str, float]] = {}
    for method, pattern in SEEDS.items():
        if seeds := [acr(_log(path)) for path in sorted(released.glob(pattern))]:
            found.setdefault("MNIST, mean of the seeds", {})[method] = float(np.mean(seeds))
            found.setdefault("MNIST, seeds", {})[method] = len(seeds)
            found.setdefault("MNIST, highest less lowest of the seeds", {})[method] = max(seeds) - min(seeds)
    for method, folder in OTHER_RUNS.items():
        path = released / CATRS / "cifar10/noise_0.5" / folder / "noise_0.5.tsv"
        if path.is_file() and method in tables:
            found.setdefault("the log of another paper", {})[method] = acr(_log(path)) - acr(tables[method])
    for name, place in NETWORKS.items():
        if (released / place).is_file():
            found.setdefault("ACR by network, Consistency", {})[name] = acr(_log(released / place))
    for noise in ("0.25", "0.50", "1.00"):
        if (path := released / TRAINED.format(noise)).is_file():
            found.setdefault("ACR at sigma 0.5 by noise of training", {})[noise] = acr(_log(path))
    return found


def _log(path: Path) -> Certificates:
    return infer(read(path), path)


def of_definition(tables: dict[str, Certificates]) -> dict[str, dict[str, float]]:
    """The mean over right images alone, which is not ACR, less ACR."""
    return {
        "mean radius of the right images alone": {
            name: float(table.radius[table.correct].mean()) - acr(table) for name, table in tables.items()
        }
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("logs", type=Path, nargs="?", default=beside_the_data(), help="folder of TSV logs")
    parser.add_argument("--released", type=Path, help="folder of clones (default: as-released beside the logs)")
    parser.add_argument("--out", type=Path, default=Path("runs/bench/acr-moves.json"))
    options = parser.parse_args()
    if options.logs is None or not any(options.logs.glob("*.tsv")):
        print(f"not measured: no logs in {options.logs or 'RANDSMOOTH_DATA/../published-logs'}")
        return
    tables = {path.stem: _log(path) for path in sorted(options.logs.glob("*.tsv"))}
    parts = (of_images(tables), of_budget(tables), of_noise(tables), of_definition(tables))
    moved = {what: by_name for part in parts for what, by_name in part.items()}
    moved |= of_training(tables, options.released or options.logs.parent / "as-released")
    rounded = {what: {name: round(value, 6) for name, value in by.items()} for what, by in moved.items()}
    whole = {name: round(acr(table), 6) for name, table in tables.items()}
    for what, by_name in rounded.items():
        print(f"{what}: {min(by_name.values()):.5f} to {max(by_name.values()):.5f}")
    told = {
        "command": "python benchmarks/acr_moves.py --out results/acr-moves.json",
        "versions": {name: version for name, version in versions().items() if name in ("randsmooth", "numpy", "scipy")},
        "ACR of all images": whole,
        "moved": rounded,
    }
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(told, indent=1) + "\n")


if __name__ == "__main__":
    main()
