"""LaTeX tables float, fit into a column or the page, have no notes, and compile."""

import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from randsmooth.certificates import Certificates
from randsmooth.report import render
from randsmooth.report.formats.latex import DAGGER, STAR
from randsmooth.report.latex_table import Span, floating_table
from report.conftest import Make

RADII = [0.0, 0.5, 1.0]
MANY_RADII = [round(0.05 * step, 2) for step in range(40)]
# The preambles of papers: `article` as it is, and the columns of ICML.
PREAMBLES = {
    "article": "",
    "icml": (
        r"\setlength{\textwidth}{6.75in}\setlength{\columnsep}{0.25in}"
        r"\setlength{\textheight}{9in}"
    ),
}


def cells_of(text: str) -> list[list[str]]:
    rows = [line.removesuffix(r" \\") for line in text.splitlines() if "&" in line]
    return [row.split(" & ") for row in rows]


@pytest.fixture
def tables(make: Make) -> list[Certificates]:
    return [make("gaussian"), make("macer", seed=1, a=3.0), make("cat_rs", seed=2)]


def test_it_has_the_radii_asked_for_and_few_without(
    tables: list[Certificates],
) -> None:
    _, head, *rows = cells_of(render(tables, radii=RADII, format="latex"))
    assert head == ["Method", "0", "0.5", "1", r"$p_A \geq 0.9$", "ACR"]
    assert [row[0] for row in rows] == [f"gaussian{STAR}", "macer", r"cat\_rs"]
    _, usual, *_ = cells_of(render(tables, format="latex"))
    assert 2 <= len(usual) - 3 <= 5


def test_images_have_a_column_where_they_differ(make: Make) -> None:
    tables = [make("gaussian"), make("macer").rows(np.arange(10))]
    _, head, first, second = cells_of(render(tables, radii=RADII, format="latex"))
    assert head[1] == "Images"
    assert [int(first[1]), int(second[1])] == [len(table) for table in tables]


def test_remarks_are_no_part_of_it(make: Make) -> None:
    tables = [make("gaussian"), make("other", sigma=0.25, n=1000)]
    remark = "made with different sigma"
    assert remark in render(tables, format="md")
    assert remark not in render(tables, format="latex")


def test_it_has_a_label_and_marks_the_baseline_and_failed_checks(
    make: Make, tables: list[Certificates]
) -> None:
    text = render(tables, radii=RADII, format="latex")
    assert len(re.findall(r"\\label\{tab:[a-z0-9.:-]+\}", text)) == 1
    _, _, *rows = cells_of(text)
    assert [STAR in row[0] for row in rows] == [True, False, False]
    assert DAGGER not in text

    repeated = tables[1].rows(np.append(np.arange(len(tables[1])), [5, 5]))
    text = render([tables[0], repeated, tables[2]], radii=RADII, format="latex")
    _, _, *rows = cells_of(text)
    assert [DAGGER in row[0] for row in rows] == [False, True, False]
    (caption,) = (line for line in text.splitlines() if line.startswith(r"\caption"))
    assert DAGGER in caption


def environment_of(lines: Sequence[str]) -> str:
    (begin,) = (line for line in lines if line.startswith(r"\begin{table"))
    return str(re.findall(r"\{(.*?)\}", begin)[0])


def test_a_wide_table_spans_both_columns_and_a_wider_one_is_cut() -> None:
    def of(columns: int) -> list[str]:
        head = ["Method", *(f"{radius:.2f}" for radius in MANY_RADII[:columns])]
        row = ["consistency", *("64.7" for _ in range(columns))]
        span = Span("Accuracy", first=1, columns=columns)
        figures = [False, *(True for _ in range(columns))]
        return floating_table(
            [head, row], figures, "A table.", span, label="tab:a-table"
        )

    assert environment_of(of(5)) == "table"
    assert environment_of(of(12)) == "table*"
    blocks = cells_of("\n".join(of(40)))
    names = [row[0] for row in blocks if row[0] == "consistency"]
    figures = [cell for row in blocks for cell in row if cell == "64.7"]
    assert len(names) > 1
    assert len(figures) == 40
    assert environment_of(of(40)) == "table*"


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no pdflatex is at hand")
@pytest.mark.parametrize("paper", PREAMBLES)
def test_it_compiles_in_two_columns_and_nothing_sticks_out(
    make: Make, tables: list[Certificates], tmp_path: Path, paper: str
) -> None:
    long = [make(f"a_rather_long_name_{place}", seed=place) for place in range(3)]
    mixed = [make("gaussian"), make("macer", sigma=0.25, n=1000)]
    texts = [
        render(tables, radii=RADII, format="latex"),
        render(tables, format="latex"),
        render(tables, radii=MANY_RADII[::3], format="latex"),
        render(tables, radii=MANY_RADII, format="latex"),
        render(long, format="latex"),
        render(mixed, radii=RADII, format="latex"),
    ]
    document = [
        r"\documentclass[twocolumn]{article}",
        r"\usepackage{booktabs}",
        PREAMBLES[paper],
        r"\begin{document}",
        "\n\n".join(f"Words between two tables.\n{text}" for text in texts),
        r"\end{document}",
    ]
    (tmp_path / "paper.tex").write_text("\n".join(document))
    made = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    if "booktabs.sty' not found" in made.stdout:
        pytest.skip("this TeX has no booktabs")
    assert made.returncode == 0, made.stdout[-2000:]
    assert "Overfull" not in made.stdout
