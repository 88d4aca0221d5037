"""Classifiers of clean MNIST images, certified alone, behind a DnCNN, and behind a diffusion model.

Started again, it goes on where it was.

    python benchmarks/denoised_mnist.py --out runs/denoised-mnist --results results/denoised-mnist

Neither classifier ever saw noise: a LeNet trained at sigma 0, and scikit-learn's MLPClassifier. Both denoisers are
trained here without either. `--scale tiny` tries every part in a minute; `--device cuda` runs the same on a GPU.
"""

import argparse
import itertools
import time
from functools import cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd

import randsmooth as rs
import tiny_unet
from harness import written
from randsmooth import data, metrics
from randsmooth.certificates import Certificates
from randsmooth.progress import console
from randsmooth.report.layouts import pipes

SIGMAS = (0.25, 0.5)
ALPHA, N0 = 0.001, 100
RADII = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5)
CLASSIFIERS = ("lenet", "mlp")
DENOISERS = {"none": "nothing", "dncnn": "DnCNN", "diffusion": "diffusion model"}
LENET = {
    "lr": 0.05,
    "lr_milestones": [2],
}  # the usual schedule, of 150 epochs, would drop too early in so few


# How much of everything; `take` None is all training images.
SIZES = (
    "images",
    "n",
    "take",
    "arch",
    "lenet_epochs",
    "mlp_epochs",
    "dncnn_epochs",
    "diffusion_epochs",
)
SCALES = {
    "full": dict(
        zip(SIZES, (200, 10_000, None, "dncnn-5x16", 3, 10, 2, 5), strict=True)
    ),
    "tiny": dict(zip(SIZES, (4, 128, 256, "dncnn-3x4", 1, 2, 1, 1), strict=True)),
}


class Work:
    """The models, each trained when it is first asked for and stored in the folder `out`."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options, self.scale = options, SimpleNamespace(**SCALES[options.scale])
        self.out: Path = options.out
        precision = "bf16-mixed" if options.precision == "bf16" else "32"
        self.training = {
            "precision": precision,
            "device": options.device,
            "take": self.scale.take,
        }

    @cached_property
    def lenet(self) -> rs.models.Classifier:
        folder = self.out / "lenet"
        if not (folder / "config.json").exists():
            how = {
                "sigma": 0.0,
                "epochs": self.scale.lenet_epochs,
                "set": LENET,
                "resume": folder.exists(),
            }
            rs.train("mnist", **how, **self.training, out=folder, progress=console)
        return rs.models.load(folder)

    @cached_property
    def mlp(self) -> Any:
        """A perceptron of 128 hidden units; scikit-learn stores none, so that it is fitted again on every start."""
        from sklearn.neural_network import MLPClassifier

        images = data.load("mnist", "train")
        x, y = images.batch(data.take(len(images), self.scale.take or len(images)))
        network = MLPClassifier(
            (128,), max_iter=self.scale.mlp_epochs, batch_size=256, random_state=0
        )
        return network.fit(x.flatten(1).double().numpy(), y.numpy())

    def dncnn(self, sigma: float) -> rs.models.Denoiser:
        folder = self.out / f"dncnn-{sigma:g}"
        if not (folder / "config.json").exists():
            how = {
                "sigma": sigma,
                "arch": self.scale.arch,
                "epochs": self.scale.dncnn_epochs,
                "batch": 64,
                "lr": 2e-3,
            }
            how |= {"resume": folder.exists(), "out": folder, "progress": console}
            rs.train_denoiser("mnist", **how, **self.training)
        return rs.models.load_denoiser(folder)

    def diffusion(self, sigma: float) -> rs.DiffusionDenoiser:
        device, precision = (
            rs.models.pick_device(self.options.device),
            self.options.precision,
        )
        how = {"epochs": self.scale.diffusion_epochs, "take": self.scale.take}
        network = tiny_unet.trained(
            self.out / "diffusion", **how, device=device, precision=precision
        )
        return rs.DiffusionDenoiser(
            network, sigma=sigma, alphas_cumprod=tiny_unet.ALPHAS_CUMPROD
        )

    def certify(self, classifier: str, denoiser: str, sigma: float) -> Certificates:
        """The finished table of a run, from where it was left."""
        model = getattr(self, classifier)
        alone = (
            classifier == "mlp" and denoiser == "none"
        )  # which computes as scikit-learn does
        if denoiser != "none":
            model = rs.Denoised(getattr(self, denoiser)(sigma), model)
        settings = rs.CertificationSettings(
            sigma=sigma,
            n0=N0,
            n=self.scale.n,
            alpha=ALPHA,
            precision="32" if alone else self.options.precision,
            backend=self.options.backend if classifier == "lenet" else None,
        )
        before = "" if denoiser == "none" else f"{denoiser}-"
        path = self.out / "certificates" / f"{before}{classifier}-{sigma:g}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        how = {
            "take": self.scale.images,
            "device": self.options.device,
            "resume": True,
            "progress": console,
        }
        return (
            rs.read(path)
            if path.exists()
            else rs.certify(model, "mnist", settings, out=path, **how)
        )


def row(
    classifier: str, denoiser: str, sigma: float, table: Certificates
) -> dict[str, Any]:
    n = table.header.settings.n
    accuracies = {
        f"accuracy@{r:g}": metrics.accuracy_at(table, r, n, ALPHA).value for r in RADII
    }
    return {
        "classifier": classifier,
        "denoiser": denoiser,
        "sigma": sigma,
        "acr": metrics.acr_at(table, n, ALPHA).value,
        **accuracies,
        "abstained": float((table.predict < 0).mean()),
        "images": len(table),
        "n": table.header.n,
        "backend": table.header.backend,
        "precision": table.header.precision,
        "seconds": round(float(table.seconds.sum()), 1),
    }


def markdown(table: pd.DataFrame) -> str:
    """ACR with three decimals, accuracies in per cent."""
    radii = [f"accuracy@{r:g}" for r in RADII]
    lines = [
        ["classifier", "before it", "sigma", "ACR", *(f"% at {r:g}" for r in RADII)]
    ]
    for _, line in table.sort_values(["classifier", "sigma"], kind="stable").iterrows():
        cells = [
            line["classifier"],
            DENOISERS[line["denoiser"]],
            f"{line['sigma']:g}",
            f"{line['acr']:.3f}",
        ]
        lines.append(cells + [f"{100 * line[name]:.1f}" for name in radii])
    return "\n".join(pipes(lines, [False] * len(lines[0]))) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("runs/denoised-mnist"),
        help="of models and certificates",
    )
    parser.add_argument(
        "--results",
        type=Path,
        default=Path("runs/denoised-mnist/results"),
        help="of the tables",
    )
    parser.add_argument("--scale", choices=SCALES, default="full")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--precision", choices=("32", "bf16"), default="bf16")
    parser.add_argument("--backend", default="auto", help="of the runs with LeNet")
    options = parser.parse_args()
    options.results.mkdir(parents=True, exist_ok=True)
    work, rows, start = Work(options), [], time.perf_counter()
    for run in itertools.product(CLASSIFIERS, DENOISERS, SIGMAS):
        rows.append(row(*run, work.certify(*run)))
        table = pd.DataFrame(rows)  # after each, so that what is finished can be read
        table.to_csv(options.results / "table.csv", index=False)
        (options.results / "table.md").write_text(markdown(table))
        histories = sorted(options.out.glob("*/history.csv"))
        seconds = {
            path.parent.name: round(float(pd.read_csv(path)["seconds"].sum()), 1)
            for path in histories
        }
        written(
            options.results / "made.json",
            {"scale": SCALES[options.scale], "training_seconds": seconds},
        )
        print(
            f"{run}: ACR {rows[-1]['acr']:.3f} after {time.perf_counter() - start:,.0f} s",
            flush=True,
        )
    print((options.results / "table.md").read_text(), end="")


if __name__ == "__main__":
    main()
