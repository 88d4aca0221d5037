"""Follow a training run: curves in a CSV file, a function called after every epoch; stop the run, and go on."""

from __future__ import annotations

import tempfile
from pathlib import Path

from torch import nn

import randsmooth as rs

SETTINGS = rs.TrainingSettings(sigma=0.25, epochs=4, take=500)


class EnoughForNow(Exception):
    """Raised to stop the run; its checkpoint stays."""


def stop_after_two(metrics: dict[str, float], model: nn.Module) -> None:
    print(
        f"epoch {metrics['epoch'] + 1:.0f}: loss {metrics['cross_entropy']:.3f}, easy {metrics['easy_share']:.0%}"
    )
    if metrics["epoch"] == 1:
        raise EnoughForNow


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "model"
        try:
            rs.train(
                "digits", SETTINGS, out=out, logger="csv", callback=stop_after_two
            )  # or "tensorboard", or both
        except EnoughForNow:
            print("stopped; the same call with resume=True goes on")
        rs.train("digits", SETTINGS, out=out, resume=True, callback=stop_after_two)
        lines = (out / "metrics" / "metrics.csv").read_text().splitlines()
        print(f"{len(lines) - 1} rows in metrics.csv: {lines[0]}")


if __name__ == "__main__":
    main()
