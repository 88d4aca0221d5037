"""Tables made of another program's radii."""

import math
from typing import Any

import numpy as np
import pytest

from randsmooth import metrics
from randsmooth.certificates import ABSTAIN, from_radii, read, write_tsv
from randsmooth.errors import InputError


def test_radii_alone_are_those_of_right_images() -> None:
    table = from_radii([0.0, 0.5, 1.5], sigma=0.5, n=1000, alpha=0.001, name="other")
    assert table.is_log and table.name == "other" and table.predict.tolist() == [ABSTAIN, 0, 0]
    assert (table.header.sigma, table.header.n, table.header.alpha) == (0.5, 1000, 0.001)
    assert metrics.acr(table).value == 2 / 3
    assert len(from_radii([])) == 0


def test_they_are_written_as_a_log_and_read_back(tmp_path: Any) -> None:
    table = from_radii([0.25, 0.0, 0.5], label=[2, 0, 1], predict=[2, -1, 0])
    write_tsv(table, tmp_path / "log.tsv")
    back = read(tmp_path / "log.tsv")
    for name in ("idx", "label", "predict", "radius"):
        assert np.array_equal(getattr(back, name), getattr(table, name))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"radius": [0.1, -0.1]}, "radius=-0.1 in row 1"),
        ({"radius": [math.nan]}, "radius=nan"),
        ({"radius": [math.inf]}, "radius=inf"),
        ({"radius": [0.1], "label": [-1]}, "label=-1 in row 0"),
        ({"radius": [0.1], "predict": [-2]}, "predict=-2"),
        ({"radius": [0.1], "predict": [-1]}, "radius=0.1 in row 0, where predict=-1 abstains"),
        ({"radius": [0.1], "label": [0, 1]}, "label must hold one whole number for each of 1 radii"),
        ({"radius": [0.1], "predict": [0.5]}, "predict must hold one whole number"),
    ],
)
def test_what_cannot_be_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        from_radii(**given)
