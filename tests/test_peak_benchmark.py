"""What `benchmarks/peak.py` counts of a network."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest
from torch import nn


def test_operations_are_two_for_each_weight_that_an_output_meets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(Path(__file__).parents[1] / "benchmarks")
    layers = nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 8, 3, groups=4, stride=2), nn.Flatten()
    network = nn.Sequential(*layers, nn.Linear(72, 10))
    found = import_module("peak").operations(network, (3, 8, 8))
    assert found == 2 * (8 * 64 * 27 + 8 * 9 * 18 + 10 * 72)
