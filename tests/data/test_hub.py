"""The hub's data sets: what they hold is tested on a local one, and the way there without a network."""

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from randsmooth import data
from randsmooth.data.tables import from_hub
from randsmooth.errors import InputError

datasets = pytest.importorskip("datasets")


def test_from_hub(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    write_parquet: Callable[..., None],
    random_images: Callable[..., NDArray[np.uint8]],
) -> None:
    """`load_dataset` takes a folder where it takes a hub id: everything but the network is real."""
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("datasets.config.HF_HUB_OFFLINE", True)
    pixels = random_images(3, (1, 28, 28))
    write_parquet(tmp_path / "hub" / "test.parquet", pixels, [4, 5, 6])
    spec = replace(data.DATASETS["mnist"], hub=str(tmp_path / "hub"), hub_config=None)
    table = from_hub(spec, "test")
    assert table.labels.tolist() == [4, 5, 6]
    assert np.array_equal(table.read_many(torch.arange(3), spec).numpy(), pixels)


@pytest.fixture
def fails_fast(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Asserts that loading fails without a wait, however slow or busy the machine is."""
    waits: list[float] = []
    monkeypatch.setattr(time, "sleep", waits.append)  # what the library waits by between its retries

    def check(match: str) -> None:
        with pytest.raises(InputError, match=match):
            data.load("fashion-mnist", "test")
        assert sum(waits) < 1

    return check


BOTH_WAYS = "fashion-mnist is not at .*fashion-mnist .*RANDSMOOTH_DATA.*hf download zalando-datasets/fashion_mnist"


def test_no_network(monkeypatch: pytest.MonkeyPatch, fails_fast: Callable[[str], None]) -> None:
    """A port where nothing listens: the answer comes at once, not after the library's retries."""
    monkeypatch.delenv("RANDSMOOTH_DATA", raising=False)
    monkeypatch.setattr("datasets.config.HF_HUB_OFFLINE", False)
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    fails_fast("cannot reach http://127.0.0.1:9")
    fails_fast(BOTH_WAYS)
