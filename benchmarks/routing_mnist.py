"""One sigma for each image of MNIST: three experts, a smoothed router, and their routed table.

    python benchmarks/routing_mnist.py --out runs/routing-mnist --results results/routing-mnist
    python docs/_figures/pictures.py routed-curves

Started again, it goes on where it was. The experts are trained on every third training image. The router learns from
other training images, which the experts have not seen: its labels are the experts that certify them furthest.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

import randsmooth as rs
from harness import written
from randsmooth import metrics
from randsmooth.certificates import Certificates
from randsmooth.progress import console
from randsmooth.report.layouts import pipes
from randsmooth.rules import make_rule

SIGMAS = (0.25, 0.5, 1.0)
RADII = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0)
ALPHA, N0 = 0.001, 100
# Samples of the training images that label the router's.
LABEL_N0, LABEL_N = 5, 60
TRAINING_IMAGES = 60_000


def train(
    folder: Path,
    data: object,
    sigma: float,
    take: int | None,
    epochs: int,
    **changed: float,
) -> Path:
    """Train what is left of a model, and return its folder."""
    # A router has no preset of its own: it is trained as an expert is.
    how = {}
    if data != "mnist":
        how = {"preset": "cat-rs/gaussian/prose", "anywhere": True}
    rs.train(
        data,
        method="gaussian",
        arch="lenet",
        sigma=sigma,
        set={"m": 1, **changed},
        epochs=epochs,
        take=take,
        out=folder,
        resume=folder.exists(),
        progress=console,
        **how,
    )
    return folder


def unseen(number: int) -> tuple[tuple[int, ...], str]:
    """Return positions of training images that no expert has seen, evenly spread."""
    # The experts take the images 0, 3, 6, ...
    others = [index for index in range(TRAINING_IMAGES) if index % 3 == 1]
    kept = np.linspace(0, len(others) - 1, number).astype(int)
    words = f"{number} images that no expert was trained on"
    return tuple(others[k] for k in kept), words


def experts_of(options: argparse.Namespace) -> list[Path]:
    return [
        train(
            options.out / f"expert-{sigma}",
            "mnist",
            sigma,
            options.train,
            options.epochs,
        )
        for sigma in SIGMAS
    ]


def label_tables(options: argparse.Namespace, experts: list[Path]) -> list[Path]:
    """Certify unseen training images, a few samples each."""
    files = []
    for expert, sigma in zip(experts, SIGMAS, strict=True):
        file = options.out / f"labels-{sigma}.parquet"
        rs.certify(
            expert,
            "mnist",
            split="train",
            only=unseen(options.unseen),
            n0=LABEL_N0,
            n=LABEL_N,
            backend=options.backend,
            out=file,
            resume=True,
            progress=console,
        )
        files.append(file)
    return files


def row(name: str, table: Certificates, sigma: object) -> dict[str, object]:
    return {
        "table": name,
        "sigma": sigma,
        "acr": round(float((table.radius * table.correct).mean()), 3),
        **{
            f"at {r:g}": 100.0 * metrics.certified_accuracy(table, r).value
            for r in RADII
        },
        "samples": float(table.samples.mean()),
    }


def router_costs(
    router: Certificates, routed: Certificates, n: int
) -> dict[str, object]:
    """Return the mean samples of the router under other rules, drawn from its shares anew.

    "its expert's radius" certifies the expert first, and asks the router for that radius alone. A rule certifies what
    it reaches; `kept` is the mean radius that is left, as a share of that of rule fixed.
    """
    rng = np.random.default_rng(0)
    counts0, counts = router.evidence()
    picked = counts0.argmax(axis=1)
    p = counts[np.arange(len(router)), picked] / counts.sum(axis=1)
    routes = routed.routes
    assert routes is not None
    certified = np.flatnonzero(routed.predict >= 0)
    fixed = routed.radius[certified].mean()
    costs: dict[str, object] = {}
    for name in ("fixed", "dense", "grid", "its expert's radius"):
        taken, reached = [], []
        for row in certified:
            wanted = float(routes.expert_radius[row])
            rule_name = f"radius={wanted}" if name == "its expert's radius" else name
            try:
                rule = make_rule(rule_name, noise=router.noise, n=n, alpha=ALPHA)
            except rs.Problem:
                # No n samples prove so large a radius: none are drawn.
                taken.append(0)
                reached.append(0.0)
                continue
            path: list[int] = []
            drawn = 0
            while (look := rule.next_look(path)) is not None:
                before = path[-1] if path else 0
                path.append(before + int(rng.binomial(look - drawn, p[row])))
                drawn = look
            taken.append(drawn)
            reached.append(min(wanted, rule.claim(path).radius))
        costs[name] = {
            "samples": round(float(np.mean(taken)), 1),
            "share_of_fixed": round(float(np.mean(taken)) / n, 3),
            "kept": round(float(np.mean(reached)) / fixed, 3),
        }
    return costs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("runs/routing-mnist"))
    parser.add_argument("--results", type=Path, default=Path("results/routing-mnist"))
    parser.add_argument("--train", type=int, default=20_000)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--unseen", type=int, default=20_000)
    parser.add_argument("--router-epochs", type=int, default=10)
    parser.add_argument("--backend", default="torch")
    parser.add_argument("--router-sigma", type=float, default=1.0)
    parser.add_argument("--images", type=int, default=500)
    parser.add_argument("--n", type=int, default=10_000)
    options = parser.parse_args()
    options.results.mkdir(parents=True, exist_ok=True)

    experts = experts_of(options)
    labels = label_tables(options, experts)
    told = rs.router_labels(labels)
    data = rs.router_data("mnist", labels)
    router = train(
        options.out / "router",
        data,
        options.router_sigma,
        None,
        options.router_epochs,
        # Fewer images than the experts', so that it needs more steps an epoch.
        batch=64,
        lr=0.02,
    )

    how = {
        "n0": N0,
        "n": options.n,
        "alpha": ALPHA,
        "take": options.images,
        "backend": options.backend,
    }
    models = {"router": router}
    for sigma, expert in zip(SIGMAS, experts, strict=True):
        models[f"sigma {sigma:g}"] = expert
    files = {
        name: options.results / f"{name.replace(' ', '-')}.parquet" for name in models
    }
    tables: dict[str, Certificates] = {
        name: rs.certify(
            model,
            "mnist",
            # The labels of the data are no classes of the router.
            unlabelled=name == "router",
            out=files[name],
            resume=True,
            progress=console,
            **how,
        )
        for name, model in models.items()
    }
    singles = {name: table for name, table in tables.items() if name != "router"}

    whole = rs.route(files["router"], [files[name] for name in singles], name="routed")
    alone = rs.route(
        files["router"],
        [files[name] for name in singles],
        sets=False,
        name="one expert",
    )
    # Experts need only the images that they get: their samples count there alone.
    gets = rs.certificates.images_of_experts(tables["router"])
    parts = [table.rows(gets[:, k]) for k, table in enumerate(singles.values())]
    routed = rs.route(tables["router"], parts, name="routed, experts on their images")
    rs.certificates.write_parquet(whole, options.results / "routed.parquet")

    rows = [row(name, table, table.header.sigma) for name, table in singles.items()]
    rows += [
        row("routed, one expert", alone, "router"),
        row("routed, sets; every expert on every image", whole, "router"),
        row("routed, sets; experts on their images", routed, "router"),
    ]
    frame = pd.DataFrame(rows)
    single = N0 + options.n
    frame["samples of one sigma"] = (frame["samples"] / single).round(2)
    frame.to_csv(options.results / "table.csv", index=False)
    rounded = frame.round({name: 1 for name in frame.columns if name.startswith("at ")})
    printed = rounded.astype(str).to_numpy().tolist()
    figures = [False, False, *[True] * (len(frame.columns) - 2)]
    lines = pipes([list(frame.columns), *printed], figures)
    (options.results / "table.md").write_text("\n".join(lines) + "\n")
    facts = {
        "router_labels": np.bincount(told.label, minlength=len(SIGMAS)).tolist(),
        "left_out": len(told.left_out),
        "router_certified": float((tables["router"].predict >= 0).mean()),
        "experts_of_an_image": float(gets.sum(axis=1).mean()),
        "certified_by_size_of_set": np.bincount(
            routed.routes.members.sum(axis=1)[routed.predict >= 0], minlength=4
        ).tolist(),
        "router_by_rule": router_costs(tables["router"], alone, options.n),
        "options": {key: str(value) for key, value in vars(options).items()},
    }
    written(options.results / "made.json", facts)
    print(frame.to_string())


if __name__ == "__main__":
    main()
