"""A panel of another package: a module, its template and its registration are all that it takes."""

import importlib
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from randsmooth.certificates import Certificates
from randsmooth.errors import InputError
from randsmooth.registry import Registry
from randsmooth.report import PANELS, comparison_page
from randsmooth.report.page import comparison
from randsmooth.report.page.panels import NAMES, Panel
from randsmooth.report.web import policy
from report.reading import Read

Make = Callable[..., Certificates]

MODULE = '''
"""The median certified radius of every table."""

import numpy as np

from randsmooth.report import PageContent, PanelView
from randsmooth.report.figures.charts import Chart, Scale, Series


def view(content: PageContent) -> PanelView | None:
    if content.command == "nothing to show":
        return None
    medians = [float(np.median(table.radius)) for table in content.sheet.tables]
    look = content.looks[0]
    chart = Chart(Scale("table"), Scale("median radius"), [Series(0, "median", look, range(len(medians)), medians)])
    return PanelView({"medians": medians}, {"median": chart}, data=medians)
'''
TEMPLATE = """
{% from "macros.html.j2" import row_name with context %}
<section><h2>Median radius</h2><table>
{% for median in medians %}<tr>{{ row_name(loop.index0) }}<td>{{ "%.3f" | format(median) }}</td></tr>{% endfor %}
</table><div class="plot" id="median"></div></section>
"""
SCRIPT = "report.data.panels.median_radius.length;\n"


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Another package that can be imported, with one panel."""
    name = "another_package"
    (tmp_path / name).mkdir()
    (tmp_path / name / "__init__.py").write_text("")
    (tmp_path / name / "median_radius.py").write_text(MODULE)
    (tmp_path / name / "median_radius.html.j2").write_text(TEMPLATE)
    (tmp_path / name / "median_radius.js").write_text(SCRIPT)
    for imported in (name, f"{name}.median_radius"):  # by an earlier test, from its own folder
        monkeypatch.delitem(sys.modules, imported, raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    return name


@pytest.fixture
def installed(package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The package as pip leaves it: its panel is found by an entry point."""
    info = tmp_path / f"{package}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[randsmooth.panels]\nmedian_radius = {package}.median_radius\n")
    own = {name: f"randsmooth.report.page.panels.{name}" for name in NAMES}
    fresh: Registry[Panel] = Registry("panel", "randsmooth.panels", own)
    monkeypatch.setattr(comparison, "PANELS", fresh)


def test_a_panel_is_found_by_its_entry_point_with_its_template_and_script(installed: None, make: Make) -> None:
    text = comparison_page([make("<b>gaussian</b>"), make("b", seed=1)])
    read = Read(text)
    section = text.split("<h2>Median radius</h2>")[1].split("</section>")[0]
    assert "&lt;b&gt;gaussian" in section and "<b>gaussian" not in section  # escaped as all of the page is
    medians = [f"{float(value):.3f}" for value in re.findall(r"<td>([\d.]+)</td>", section)]
    assert len(medians) == 2
    assert '"median"' in read.scripts[0] and '"median_radius"' in read.scripts[0]
    assert SCRIPT in read.scripts[-1]
    (allowed,) = [dict(attrs)["content"] for tag, attrs in read.tags if tag == "meta" and "http-equiv" in attrs]
    assert allowed == policy(read.scripts[1:])
    assert text.index("What was compared, and how") < text.index("Median radius") < text.index("How to read this page")


def test_a_panel_without_anything_to_show_is_left_out(installed: None, make: Make) -> None:
    text = comparison_page([make("gaussian")], command="nothing to show")
    assert "Median radius" not in text and SCRIPT not in text


def test_a_program_adds_a_panel(package: str, make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PANELS, "_added", {})
    module: Panel = importlib.import_module(f"{package}.median_radius")
    assert "Median radius" not in comparison_page([make("gaussian")])
    PANELS.add("of this program", module)
    assert "Median radius" in comparison_page([make("gaussian")])
    with pytest.raises(InputError, match="'classes' is registered already"):
        PANELS.add("classes", module)


@pytest.mark.parametrize("name", NAMES)
def test_every_panel_of_ours_has_its_template_beside_it(name: str) -> None:
    module = PANELS[name]
    assert module.__name__.rpartition(".")[2] == name
    assert Path(str(sys.modules[module.__name__].__file__)).with_suffix(".html.j2").exists()


def test_every_module_beside_a_template_is_registered() -> None:
    folder = Path(str(sys.modules[PANELS["classes"].__name__].__file__)).parent
    assert {path.name.removesuffix(".html.j2") for path in folder.glob("*.html.j2")} == {*NAMES}
    assert {path.stem for path in folder.glob("*.py")} - {"__init__"} == {*NAMES}
