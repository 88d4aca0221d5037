"""A panel of another package: a module, its template and its registration are all that it takes."""

import re
from pathlib import Path

import pytest

from randsmooth.registry import Registry
from randsmooth.report import comparison_page
from randsmooth.report.page import comparison
from randsmooth.report.page.panels import NAMES, Panel
from randsmooth.report.web import policy
from report.conftest import Make
from report.reading import Read

MODULE = '''
"""The median certified radius of every table."""

import numpy as np

from randsmooth.report import PageContent, PanelView
from randsmooth.report.charts import Axes, Line


def view(content: PageContent) -> PanelView | None:
    if content.command == "nothing to show":
        return None
    medians = [float(np.median(table.radius)) for table in content.sheet.tables]
    line = Line("median", range(len(medians)), medians, look=content.looks[0], row=0)
    chart = Axes("", "table", "median radius", [line])
    return PanelView({"medians": medians}, {"median": chart}, data=medians)
'''
TEMPLATE = """
{% from "macros.html.j2" import row_name with context %}
<section><h2>Median radius</h2><table>
{% for median in medians %}<tr>{{ row_name(loop.index0) }}<td>{{ "%.3f" | format(median) }}</td></tr>{% endfor %}
</table><div class="plot" id="median"></div></section>
"""
SCRIPT = "report.data.panels.median_radius.length;\n"
FILES = {"__init__.py": "", "median_radius.py": MODULE, "median_radius.html.j2": TEMPLATE, "median_radius.js": SCRIPT}
INFO = {
    "METADATA": "Metadata-Version: 2.1\nName: another_package\nVersion: 1.0\n",
    "entry_points.txt": "[randsmooth.panels]\nmedian_radius = another_package.median_radius\n",
}


def test_a_panel_is_found_by_its_entry_point_with_its_template_and_script(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder, files in (("another_package", FILES), ("another_package-1.0.dist-info", INFO)):  # as pip leaves it
        (tmp_path / folder).mkdir()
        for name, content in files.items():
            (tmp_path / folder / name).write_text(content)
    monkeypatch.syspath_prepend(tmp_path)
    own = {name: f"randsmooth.report.page.panels.{name}" for name in NAMES}
    fresh: Registry[Panel] = Registry("panel", "randsmooth.panels", own)
    monkeypatch.setattr(comparison, "PANELS", fresh)
    text = comparison_page([make("<b>gaussian</b>"), make("b", seed=1)])
    read = Read(text)
    section = text.split("<h2>Median radius</h2>")[1].split("</section>")[0]
    assert "&lt;b&gt;gaussian" in section and "<b>gaussian" not in section  # escaped as all of the page is
    assert len(re.findall(r"<td>\d\.\d{3}</td>", section)) == 2
    assert '"median"' in read.scripts[0] and '"median_radius"' in read.scripts[0]
    assert SCRIPT in read.scripts[-1]
    (allowed,) = [dict(attrs)["content"] for tag, attrs in read.tags if tag == "meta" and "http-equiv" in attrs]
    assert allowed == policy(read.scripts[1:])
    assert text.index("What was compared, and how") < text.index("Median radius") < text.index("How to read this page")
    text = comparison_page([make("gaussian")], command="nothing to show")
    assert "Median radius" not in text and SCRIPT not in text
