"""What is read of a training run's history: its numbers, or a sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from randsmooth.errors import InputError
from randsmooth.papers.from_models import _cost, _history


def test_the_cost_of_a_training_is_that_of_its_epochs(tmp_path: Path) -> None:
    (tmp_path / "history.csv").write_text("epoch,seconds,loss\n0,1000.0,2\n1,800.0,1\n")
    assert _cost(tmp_path) == {"seconds": 900.0, "epochs": 2.0, "hours": 0.5}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "no file at .*history.csv"),
        (b"", "history.csv is damaged"),
        (b"\xff\xfe\xfd", "history.csv is damaged"),
        (b'epoch,seconds\n"0,1', "history.csv (is damaged|does not say)"),
        (b"epoch,loss\n0,1\n", "does not say how many seconds"),
        (b"epoch,seconds\n", "does not say how many seconds"),
        (b"epoch,seconds\n0,long\n", "does not say how many seconds"),
    ],
)
def test_a_history_that_is_none_is_named(tmp_path: Path, content: bytes | None, message: str) -> None:
    if content is not None:
        (tmp_path / "history.csv").write_bytes(content)
    with pytest.raises(InputError, match=message):
        _history(tmp_path)
