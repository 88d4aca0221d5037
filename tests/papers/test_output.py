"""Tables of papers on a terminal."""

import pandas as pd
import pytest

from randsmooth.papers.output import to_terminal, to_text


def accuracies() -> pd.DataFrame:
    """Two methods at eight radii, each with figures of its own."""
    columns: dict[str, list[str]] = {"method": ["gaussian", "amplify"]}
    for radius in range(8):
        columns[f"{radius / 4:g}"] = [f"{90 - radius}.1", f"{80 - radius}.2"]
    return pd.DataFrame(columns)


@pytest.mark.parametrize("width", [14, 20, 33, 40])
def test_columns_that_do_not_fit_stand_below_beside_the_names(width: int) -> None:
    frame = accuracies()
    lines = to_terminal(frame, width).splitlines()
    assert max(map(len, lines)) <= width
    assert lines.count("") + 1 == sum(line.startswith("method") for line in lines) > 1
    for place, method in enumerate(frame["method"]):
        figures = [
            figure
            for line in lines
            if line.startswith(method)
            for figure in line.split()[1:]
        ]
        assert figures == list(frame.iloc[place, 1:])


def test_a_table_that_fits_is_whole() -> None:
    frame = accuracies()
    assert to_terminal(frame, 100) == to_text(frame)


def test_words_are_not_spread() -> None:
    frame = pd.DataFrame({"method": ["gaussian"], "note": ["not of this run"]})
    assert to_terminal(frame, 10) == to_text(frame)
