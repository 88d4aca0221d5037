"""How far ACR moves where the method stays the same, measured on published certification logs.

    python benchmarks/acr_moves.py [LOGS] [--released FOLDER] [--out results/acr-moves.json]

LOGS is a folder of TSV logs of all 10,000 images at n = 100,000 and alpha = 0.001, by default those of the ACR paper at
sigma 0.5, where they lie beside RANDSMOOTH_DATA. Of these logs other subsets, budgets and noise are computed. FOLDER
holds clones of the repositories that released logs (`as-released` beside them): of these come other runs, networks and
training noise. A figure whose logs are missing is left out.
"""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from harness import options_of, written
from randsmooth import bounds, metrics, read
from randsmooth.certificates import Certificates, infer
from randsmooth.noise import Gaussian
from savings import beside_the_data, logs_of

Floats = NDArray[np.float64]
Moves = dict[
    str, dict[str, float]
]  # what is changed -> name of a log -> by how much ACR moves
CONSISTENCY, CATRS = (
    "jh-jeong+smoothing-consistency/data/certify",
    "alinlab+smoothing-catrs/data",
)
CIFAR10, MNIST = (
    f"{CONSISTENCY}/cifar10/consistency/cohen/num_2/lbd_10.0/eta_0.5",
    f"{CONSISTENCY}/mnist",
)
NETWORKS = {
    name: f"{CIFAR10}/{name}/noise_0.50"
    for name in ("cifar_resnet110", "cifar_resnet20", "cifar_densenet40")
}
SEEDS = {  # five trainings each, on MNIST at sigma 0.5
    "gaussian": f"{MNIST}/cohen/noise_0.50_*",
    "stability": f"{MNIST}/stab/lbd_2/noise_0.5_*",
    "smoothadv": f"{MNIST}/salman/pgd_255.0_10_10/num_4/noise_0.50_*",
    "macer": f"{MNIST}/macer_deferred30/num_16/lbd_16.0/gamma_8.0/beta_16.0/noise_0.50_*",
    "consistency": f"{MNIST}/consistency/cohen/num_2/lbd_5.0/eta_0.5/noise_0.50_*",
    "smoothadv+consistency": f"{MNIST}/consistency/salman_255.0_10_10/num_4/lbd_1.0/eta_0.5/noise_0.50_*",
}
TRAINED = "locuslab+smoothing/data/certify/cifar10/resnet110/noise_{}/test/sigma_0.50"
OTHER_RUN = f"{CATRS}/cifar10/noise_0.5/{{}}/noise_0.5.tsv"
OTHER_RUNS = {  # the same method in the logs of another paper
    "gaussian": "cohen",
    "smoothadv": "salman",
    "macer": "macer",
    "consistency": "consistency",
    "smoothmix": "smoothmix",
    "catrs": "cat-rs",
}


def acr(table: Certificates) -> float:
    return metrics.acr(table).value


def of_images(tables: dict[str, Certificates]) -> Moves:
    """ACR of some of the images, less that of all."""
    found: Moves = {}
    for name, table in tables.items():
        added, whole = table.radius * table.correct, acr(table)
        twentieths = np.array([added[i::20].mean() for i in range(20)]) - whole
        moved = {
            "every 20th image (500)": twentieths[0],
            "every 20th image, lowest of the 20 ways": twentieths.min(),
            "every 20th image, highest of the 20 ways": twentieths.max(),
            "every 10th image (1,000)": added[::10].mean() - whole,
            "the first 500 images": added[:500].mean() - whole,
            "500 images by chance, 95% of the draws within": 1.96
            * _error_of(added, 500),
            "1,000 images by chance, 95% of the draws within": 1.96
            * _error_of(added, 1000),
        }
        for what, value in moved.items():
            found.setdefault(what, {})[name] = float(value)
    return found


def _error_of(added: Floats, chosen: int) -> float:
    """Standard deviation of the mean of `chosen` of the images, drawn without replacement."""
    return float(added.std(ddof=1) * np.sqrt((1 - chosen / len(added)) / chosen))


def of_budget(tables: dict[str, Certificates]) -> Moves:
    """Expected ACR at another n or alpha, less that at n = 100,000 and alpha = 0.001."""
    budgets = {f"n = {n:,}": (n, 0.001) for n in (10_000, 1_000, 100)}
    budgets |= {
        f"alpha = {alpha:g}": (100_000, alpha) for alpha in (0.01, 0.05, 0.0001)
    }
    budgets |= {"n = 1,000, alpha = 0.05": (1_000, 0.05)}
    usual = {name: metrics.acr_at(table).value for name, table in tables.items()}
    found = {
        what: {
            name: metrics.acr_at(table, n, alpha).value - usual[name]
            for name, table in tables.items()
        }
        for what, (n, alpha) in budgets.items()
    }
    found["radii of a log, rounded to three digits"] = {
        name: acr(t) - usual[name] for name, t in tables.items()
    }
    return found


def of_noise(tables: dict[str, Certificates]) -> Moves:
    """What another seed of the noise does, and fewer samples that pick the class."""
    found: Moves = {}
    for name, table in tables.items():
        p, added = (
            metrics.p_a(table).values[table.correct],
            (table.radius * table.correct)[table.correct],
        )
        found.setdefault("another seed of the noise, 95% of them within", {})[name] = (
            1.96 * noise_deviation(p, table)
        )
        for n0 in (100, 10, 1):
            missed = stats.binom.cdf(
                n0 // 2, n0, p
            )  # the others all of one class, and every tie lost: the worst case
            found.setdefault(f"n0 = {n0}, lost at most", {})[name] = -float(
                (added * missed).sum() / len(table)
            )
    return found


def noise_deviation(p: Floats, table: Certificates) -> float:
    """Standard deviation of ACR over the noise, taking the right images' p_A (N,) for what the log shows."""
    sigma, n, alpha = table.header.sigma, table.header.n, table.header.alpha
    assert sigma is not None and n is not None and alpha is not None
    k = np.arange(n // 2, n + 1)  # below, nothing is certified
    radius = Gaussian(sigma).radius(bounds.q_upper(k, n, alpha))

    def variance(share: float) -> float:
        low, high = (int(end) for end in stats.binom.interval(1 - 1e-12, n, share))
        counts = np.arange(max(low, int(k[0])), high + 1)
        mass, radii = stats.binom.pmf(counts, n, share), radius[counts - k[0]]
        return float(mass @ radii**2 - (mass @ radii) ** 2)

    unique, counts = np.unique(p, return_counts=True)
    return float(
        np.sqrt(counts @ [variance(float(each)) for each in unique]) / len(table)
    )


def of_training(tables: dict[str, Certificates], released: Path) -> Moves:
    """Logs of other runs, networks and training noise."""
    found: Moves = {}
    for method, pattern in SEEDS.items():
        if seeds := [acr(log(path)) for path in sorted(released.glob(pattern))]:
            found.setdefault("MNIST, mean of the seeds", {})[method] = float(
                np.mean(seeds)
            )
            found.setdefault("MNIST, seeds", {})[method] = len(seeds)
            found.setdefault("MNIST, highest less lowest of the seeds", {})[method] = (
                max(seeds) - min(seeds)
            )
    others = {
        "the log of another paper": {
            m: OTHER_RUN.format(folder)
            for m, folder in OTHER_RUNS.items()
            if m in tables
        },
        "ACR by network, Consistency": NETWORKS,
        "ACR at sigma 0.5 by noise of training": {
            sigma: TRAINED.format(sigma) for sigma in ("0.25", "0.50", "1.00")
        },
    }
    for what, places in others.items():
        there = {
            name: acr(log(released / place))
            for name, place in places.items()
            if (released / place).is_file()
        }
        less = what.startswith("the log")
        found |= {
            what: {
                name: value - acr(tables[name]) if less else value
                for name, value in there.items()
            }
        }
    return {what: by_name for what, by_name in found.items() if by_name}


def log(path: Path) -> Certificates:
    return infer(read(path), path)


def main() -> None:
    parser = options_of(__doc__, "acr-moves")
    parser.add_argument(
        "logs",
        type=Path,
        nargs="?",
        default=beside_the_data(),
        help="folder of TSV logs",
    )
    parser.add_argument(
        "--released",
        type=Path,
        help="folder of clones (default: as-released beside the logs)",
    )
    options = parser.parse_args()
    tables = {path.stem: log(path) for path in logs_of(options)}
    right_alone = {
        name: float(t.radius[t.correct].mean()) - acr(t) for name, t in tables.items()
    }  # which is not ACR
    moved = of_images(tables) | of_budget(tables) | of_noise(tables)
    moved |= {"mean radius of the right images alone": right_alone}
    moved |= of_training(
        tables, options.released or options.logs.parent / "as-released"
    )
    rounded = {
        what: {name: round(value, 6) for name, value in by.items()}
        for what, by in moved.items()
    }
    whole = {name: round(acr(table), 6) for name, table in tables.items()}
    for what, by_name in rounded.items():
        print(f"{what}: {min(by_name.values()):.5f} to {max(by_name.values()):.5f}")
    written(options.out, {"ACR of all images": whole, "moved": rounded})


if __name__ == "__main__":
    main()
