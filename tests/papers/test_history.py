"""What is read of a training run's history: its numbers, or a sentence."""

from __future__ import annotations

from pathlib import Path

from models.refusing import refusal
from randsmooth.papers.from_models import _cost, _history


def test_the_cost_of_a_training_is_that_of_its_epochs(tmp_path: Path) -> None:
    (tmp_path / "history.csv").write_text("epoch,seconds,loss\n0,1000.0,2\n1,800.0,1\n")
    assert _cost(tmp_path) == {"seconds": 900.0, "epochs": 2.0, "hours": 0.5}


def test_a_history_that_is_none_is_named(tmp_path: Path) -> None:
    header = b"epoch,seconds\n"
    bad = (None, b"", b"\xff\xfe\xfd", b'epoch,seconds\n"0,1', b"epoch,loss\n0,1\n", header, header + b"0,long\n")
    for content in bad:
        if content is not None:
            (tmp_path / "history.csv").write_bytes(content)
        assert "history.csv" in refusal(lambda: _history(tmp_path))
