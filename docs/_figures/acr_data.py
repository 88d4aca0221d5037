"""Make the two CSV files behind the page "Why not ACR" from the logs that the authors of the ACR paper published.

    python docs/_figures/acr_data.py path/to/cifar10-sigma0.5 [--out docs/_data]

The logs themselves are not ours to pass on. What is kept of them is how many images have which radius under each
method (`acr-radii.csv`), and how each method compares with Gaussian training on the images that were equally easy for
the latter (`acr-pairs.csv`).
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

from randsmooth import metrics, read
from randsmooth.certificates import Certificates, infer

METHODS = ("gaussian", "macer", "smoothadv", "consistency", "smoothmix", "catrs", "ours")  # by their ACR
NONE = -1.0  # the radius of an image that is wrong or was abstained on


def radii(tables: dict[str, Certificates]) -> pd.DataFrame:
    """A row for every radius that occurs: how many images have it under each method."""
    counted = {
        name: pd.Series(np.where(table.correct, table.radius, NONE)).value_counts() for name, table in tables.items()
    }
    return pd.DataFrame(counted).fillna(0).astype(int).sort_index().rename_axis("radius").reset_index()


def pairs(tables: dict[str, Certificates]) -> pd.DataFrame:
    """Of each method but Gaussian and each range of Gaussian's p_A: images, parts of ACR, images lost and won."""
    gaussian, rows = tables["gaussian"], []
    p_a = np.nan_to_num(metrics.p_a(gaussian).values)
    for name, table in tables.items():
        if table is gaussian:
            continue
        parts = metrics.waterfall(table, gaussian)
        place = np.maximum(np.searchsorted(parts.edges, p_a, side="left") - 1, 0)
        lost, won = gaussian.correct & ~table.correct, table.correct & ~gaussian.correct
        for i, (low, high) in enumerate(zip(parts.edges[:-1], parts.edges[1:], strict=True)):
            there = place == i
            figures = (round(float(parts.a[i]), 6), round(float(parts.b[i]), 6))
            rows.append(
                (name, low, high, int(parts.images[i]), *figures, int(lost[there].sum()), int(won[there].sum()))
            )
    columns = ["method", "above", "up_to", "images", "acr", "acr_gaussian", "lost", "won"]
    return pd.DataFrame(rows, columns=columns)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("logs", type=Path)
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "_data")
    options = parser.parse_args()
    paths = {name: options.logs / f"{name}.tsv" for name in METHODS}
    tables = {name: infer(read(path), path) for name, path in paths.items()}
    radii(tables).to_csv(options.out / "acr-radii.csv", index=False, float_format="%.4g")
    pairs(tables).to_csv(options.out / "acr-pairs.csv", index=False)


if __name__ == "__main__":
    main()
