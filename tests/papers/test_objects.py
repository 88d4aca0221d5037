"""The list of the papers' objects: quick to load, and complete."""

from __future__ import annotations

import subprocess
import sys
from pkgutil import resolve_name

from randsmooth.papers import OBJECTS

LISTS = """
import sys
from randsmooth import papers
rows = sum(len(one.rows()) for one in papers.OBJECTS)
heavy = {"numpy", "pandas", "scipy", "pyarrow", "torch", "plotly", "matplotlib", "jinja2"}
print(rows > 500, *sorted(heavy & set(sys.modules)))
"""


def test_listing_all_objects_and_their_rows_loads_nothing_heavy() -> None:
    printed = subprocess.run([sys.executable, "-c", LISTS], capture_output=True, text=True, check=True)
    assert printed.stdout.split() == ["True"]


def test_every_object_has_a_function_that_draws_it() -> None:
    for one in OBJECTS:
        assert callable(resolve_name(f"randsmooth.papers.{one.maker}")), one.name
