"""How far a reader walks who follows tables from `comparison_page` to the HTML.

The walk is counted by running it. Each function in a Python file of report/ is noted when it is first called, in the
order of the calls; comprehensions and what dataclasses generate are no functions to look up. Notes in one file that
follow each other are one stop, and a stop in a file that was visited before is a return. Two tables are followed, one
of them the baseline, so that every panel is on the way.
"""

import sys
from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from types import FrameType

import numpy as np

from randsmooth import report
from randsmooth.certificates import Certificates
from randsmooth.report import comparison_page
from randsmooth.report.figures import colours, curves
from randsmooth.report.page.panels import NAMES

ROOT = Path(str(report.__file__)).parent
MOST_STOPS, MOST_RETURNS = 22, 8


def trail(walk: Callable[[], object]) -> list[str]:
    """The stops of `walk`, as paths within report/."""
    first: dict[tuple[str, str], None] = {}  # in the order of insertion

    def note(frame: FrameType, event: str, _: object) -> None:
        file, function = frame.f_code.co_filename, frame.f_code.co_name
        if event == "call" and file.startswith(f"{ROOT}/") and file.endswith(".py") and not function.startswith("<"):
            first.setdefault((file.removeprefix(f"{ROOT}/"), function))

    sys.setprofile(note)
    try:
        walk()
    finally:
        sys.setprofile(None)
    return [file for file, _ in groupby(file for file, _ in first)]


def test_the_way_of_tables_to_the_page_is_short(make: Callable[..., Certificates]) -> None:
    tables = [make("gaussian"), make("b", seed=1)]
    comparison_page(tables)  # modules that are imported on the way are loaded
    stops = trail(lambda: comparison_page(tables))
    assert {f"page/panels/{name}.py" for name in NAMES} <= {*stops}
    returns = len(stops) - len({*stops})
    assert len(stops) <= MOST_STOPS and returns <= MOST_RETURNS, stops


def test_the_count_sees_a_return_and_no_second_call(make: Callable[..., Certificates]) -> None:
    table = make()

    def walk() -> None:
        curves.p_a_grid()
        colours.looks(1, None)
        curves.p_a_grid()
        curves.radius_curve(table, np.zeros(1))

    assert trail(walk) == ["figures/curves.py", "figures/colours.py", "figures/curves.py"]
