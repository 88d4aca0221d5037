"""The real sets, where they are."""

import os
from pathlib import Path

import pytest
import torch

from randsmooth import data

HISTOGRAMS = {
    "mnist": [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009],
    "cifar10-jpeg": [1000] * 10,
}


@pytest.mark.parametrize("name", HISTOGRAMS)
def test_the_test_split(name: str) -> None:
    home = os.environ.get("RANDSMOOTH_DATA")
    if not home or not (Path(home) / name).is_dir():
        pytest.skip(f"set RANDSMOOTH_DATA to a folder that has {name}/test.parquet")
    images = data.load(name, "test")
    assert images.spec == data.describe(str(Path(home) / name)) == data.DATASETS[name]
    assert len(images) == images.spec.sizes["test"] == 10_000
    assert images.labels.bincount().tolist() == HISTOGRAMS[name]
    x, _ = images.batch(torch.arange(1000))
    assert x.shape == (1000, *images.spec.shape)
    assert x.min() == 0 and x.max() == 1
