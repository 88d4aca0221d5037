"""The page: true to the tables, safe against odd names, offline, and drawn in a browser without a complaint."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import plotly.graph_objects as go
import pytest
from scipy.special import ndtr

from randsmooth import metrics
from randsmooth.report import comparison_page, page_content, what_acr_hides
from randsmooth.report.page.panels.accuracy_curves import slider_stops
from report.browser import opened
from report.conftest import Make
from report.reading import Read


def test_no_raw_float_is_printed_and_nothing_is_fetched(make: Make) -> None:
    model = {"method": "macer", "lr": {"first": 0.1 + 0.2}}
    read = Read(
        comparison_page(
            [make("a", model=model), make("b", seed=1), make("c", seed=2)],
            radii=[0.1 + 0.2, 0.5],
        )
    )
    values = [value or "" for _, attrs in read.tags for value in attrs.values()]
    assert not [text for text in [read.text, *values] if re.search(r"\d\.\d{4,}", text)]
    assert not re.findall(r"\d\.\d{6,}", read.scripts[0])
    addresses = [
        attrs.get(key) or ""
        for _, attrs in read.tags
        for key in ("src", "href", "srcset", "action")
    ]
    assert not [
        address
        for address in addresses
        if not address.startswith(("#", "data:")) and address
    ]
    ours = read.source.replace(
        read.scripts[1], ""
    )  # without plotly.js, which names its home in a comment
    assert len(ours) < len(read.source) / 2 and not re.findall(
        r"https?:|//\w+\.|@import|url\(", ours
    )
    (policy,) = [
        attrs["content"] or ""
        for tag, attrs in read.tags
        if tag == "meta" and "http-equiv" in attrs
    ]
    assert policy.startswith(
        "default-src 'none'; style-src 'unsafe-inline'; img-src data:;"
    )


def test_the_plots_are_valid_and_true(make: Make) -> None:
    table = make("gaussian")
    data = Read(comparison_page([table, make("b", seed=1)])).data
    # a band and a line a table, and of b's difference; bars of b; lines
    traces = {"radius": 6, "p_a": 6, "difference": 3, "waterfall": 1, "budget": 2}
    assert {
        name: len(go.Figure(plot).data) for name, plot in data["plots"].items()
    } == traces
    curve = data["plots"]["radius"]["data"][2]
    assert (
        min(
            len(trace["x"]) for plot in data["plots"].values() for trace in plot["data"]
        )
        > 1
    )
    exact = [100.0 * ((table.radius >= r) & table.correct).mean() for r in curve["x"]]
    assert curve["y"] == pytest.approx(exact, abs=1e-3)
    low, high = (data["plots"]["radius"]["data"][i]["y"] for i in (0, 1))
    assert all(a <= s <= b for a, s, b in zip(low, curve["y"], high, strict=True))
    p_a = data["plots"]["p_a"]["data"][2]
    hits = table.evidence()[1][range(len(table)), table.label]
    assert p_a["y"] == pytest.approx(
        [100.0 * (hits / 500 >= x).mean() for x in p_a["customdata"]], abs=1e-3
    )


def test_the_curve_meets_the_table_and_has_few_points(log: Make) -> None:
    table = log([0.25, 0.5, 0.5, 1.0, -1.0])
    curve = Read(comparison_page([table])).data["plots"]["radius"]["data"][2]
    shares = dict(zip(curve["x"], curve["y"], strict=True))
    for r in (0.0, 0.25, 0.5, 1.0):
        assert shares[r] == 100.0 * metrics.certified_accuracy(table, r).value, r
    large = Read(
        comparison_page(
            [log([i / 2700 for i in range(10_000)], sigma=1.0, n=100_000, alpha=0.001)]
        )
    )
    assert all(
        len(trace["x"]) <= 510
        for plot in large.data["plots"].values()
        for trace in plot["data"]
    )
    assert len(large.source) - len(large.scripts[1]) < 150_000


def test_findings_and_the_first_curves_are_open_and_passed_checks_folded(
    make: Make,
) -> None:
    tables = [make("gaussian"), make("b", seed=1)]
    page = comparison_page(tables, at=0.3)
    panels = re.findall(r'<details class="panel" id="panel-([\w-]+)"( open)?', page)
    opened_first = [slug for slug, is_open in panels if is_open]
    assert opened_first == ["findings", "accuracy-curves"]
    assert 'class="alarm"' not in page
    assert page.index('class="quiet"') < page.index('<li class="passed"')

    repeated = tables[1].rows(np.append(np.arange(len(tables[1])), [5, 5]))
    failed = comparison_page([tables[0], repeated], at=0.3)
    alarm = failed.index('class="alarm"')
    assert alarm < failed.index('<li class="failed"') < failed.index('class="quiet"')


def test_the_slider_starts_at_the_radius_of_the_answer(make: Make) -> None:
    tables = [make("gaussian"), make("b", seed=1)]
    stops = Read(comparison_page(tables, at=0.3)).data["panels"]["accuracy_curves"]
    assert stops["radii"][stops["start"]] == stops["named"] == 0.3
    assert stops["radii"] == sorted(stops["radii"])
    share = metrics.certified_accuracy(tables[0], 0.3).value
    assert stops["accuracy"][0][stops["start"]] == pytest.approx(1000 * share, abs=0.5)


def test_a_share_is_printed_alike_everywhere(log: Make) -> None:
    # 100 * 0.6465 is a little less than 64.65 as a float.
    first = log([0.5] * 6465 + [-1.0] * 3535, "first")
    second = log([1.0] * 6000 + [-1.0] * 4000, "second")
    content = page_content([first, second], at=0.3)
    stops = slider_stops([first], farthest=0.5)
    assert content.sheet.answer.cells[0][1].startswith("64.7")
    assert content.sheet.accuracy[0].figures[0] == "64.7"
    assert stops["accuracy"][0][0] == 647
    assert content.radius_chart.lines[0].figures[0] == "64.7"
    # The second certifies fewer images, and these farther.
    assert "64.7%" in what_acr_hides(second, first)


def accuracy_rows(page: str) -> str:
    """The rows of the table of certified accuracy and ACR."""
    panel = page.split('id="panel-accuracy-table"')[1]
    return panel.split("<tbody>")[1].split("</tbody>")[0]


def test_the_table_is_marked(log: Make) -> None:
    """By what is tested: two images show nothing, sixty do; the highest figure of a column is nothing by itself."""
    few = comparison_page(
        [log([1.0, 0.5], "gaussian"), log([2.0, -1.0], "b")], radii=[0, 1.5]
    )
    assert not re.search(
        r"<td( class=\"below\")|<td[^>]*><[bu]>",
        accuracy_rows(few),
    )
    text = comparison_page(
        [log([1.0] + [0.9] * 59, "gaussian"), log([2.0, 1.9, -1.0] * 20, "b")],
        radii=[0, 1.0],
    )
    cells = re.findall(
        r"<td( class=\"below\")?[^>]*>(<[bu]>)?([\d.]+)", accuracy_rows(text)
    )
    figures = [(value, mark, bool(grey)) for grey, mark, value in cells]
    gaussian, b = figures[1:5], figures[6:10]  # after the number of images
    assert gaussian == [
        (value, "", False) for value in ("0.902", "100.0", "1.7", "0.0")
    ]
    assert b[1] == ("66.7", "", True) and b[2] == ("66.7", "<b>", False)
    assert 'title="95% interval' in text and "baseline</span>" in text


def test_classes_without_script_and_with(make: Make) -> None:
    read = Read(comparison_page([make("a"), make("b", seed=1)], radii=[0, 0.25, 0.5]))
    cells = read.data["panels"]["classes"]["cells"]
    assert (len(cells), len(cells[0]), len(cells[0][0])) == (3, 3, 2)
    table = make("a")
    for at, r in enumerate([0, 0.25, 0.5]):
        for label in range(3):
            rows = table.label == label
            right = ((table.radius >= r) & table.correct)[rows].mean()
            assert cells[at][label][0][0] == round(1000 * right)
    assert "class 2" in read.text and f"{cells[2][1][0][0] / 10:.1f}" in read.text


def test_logs_say_what_they_do_not_tell_of_p_a_and_what_would_help(
    make: Make, log: Make
) -> None:
    read = Read(comparison_page([log([1.0, 0.2], "a", n=1000), log([0.4, 0.2], "b")]))
    assert "p_a" not in read.data["plots"]
    assert "Not drawn: a :" in read.text and "give sigma, alpha to recover" in read.text
    assert "give sigma, n, alpha to recover" in read.text
    counted, logged = (
        make("a", images=3),
        log([1.0, 0.2, 0.3], "b", sigma=0.5, n=1000, alpha=0.001),
    )
    read = Read(
        comparison_page(
            [counted, replace(logged, label=counted.label, predict=counted.label)]
        )
    )
    assert [read.data["plots"]["p_a"]["data"][i]["customdata"][0] for i in (2, 5)] == [
        0.0,
        0.5,
    ]
    assert "below 1/2 its curve is unknown" in read.text


def test_provenance_is_shared_or_side_by_side(make: Make) -> None:
    model = {"method": "macer", "lr": 0.1 + 0.2, "weights": "ab" * 32}
    text = Read(
        comparison_page([make("a", seed=1), make("b", seed=2, model=model, n=1000)])
    ).text
    assert "data set digits" in text
    assert "samples to bound p_A, n 500 1000" in text
    assert "model: learning rate not recorded 0.3" in text and "ab" * 32 in text
    assert "Not recorded in any of the files split;" in text


def test_ten_methods_that_do_not_differ_have_no_figure_in_bold(make: Make) -> None:
    """By printed figures one of them always leads; that is no finding, and the first lines claim none."""
    text = comparison_page(
        [make("gaussian"), *(make(f"m{i}", seed=i) for i in range(1, 10))],
        radii=[0, 0.25, 0.5],
    )
    rows = accuracy_rows(text)
    assert rows.count("<tr>") == 10 and "<b>" not in rows and "<u>" not in rows
    assert (
        "images which has the highest ACR (" in text and "is highest under" not in text
    )


@pytest.mark.slow
def test_plots_slider_toggles_and_radius_work(make: Make, tmp_path: Path) -> None:
    names = ["gaussian", "<b>b</b>", "</script><script>alert(1)</script>"]
    tables = [make(name, seed=seed) for seed, name in enumerate(names)]
    page = comparison_page(tables, radii=[0, 0.25, 0.5])
    (tmp_path / "report.html").write_text(page)
    told = opened(tmp_path / "report.html", "comparison")
    assert told["drawn"] == [
        27,
        2,
    ]  # 3 traces of 3 tables in 2 plots, of 2 differences; 3 budgets; 2 methods' bars
    assert min(told["widths"]) > 800
    ((radius,), (quantile,)), text, where = told["moved"]
    p_a = ndtr(quantile)
    assert told["start"][0] != told["moved"][0] and 0 < radius < 1.5 and 0.5 < p_a <= 1
    assert where == f"radius {radius:.2f} (p_A {p_a:.3f})"
    shares = [  # isolated: a name may run from right to left
        f"\u2068{name}\u2069 {100 * metrics.certified_accuracy(t, radius).value:.1f}%"
        for name, t in zip(names, tables, strict=True)
    ]
    assert text == f"{where}: {', '.join(shares)}"
    data = Read(page).data
    stops = data["panels"]["accuracy_curves"]
    low, high = data["plots"]["p_a"]["layout"]["xaxis"]["range"]
    # The probe points at this part of the axis; the slider goes to the nearest stop.
    pointed = low + 0.62 * (high - low)
    nearest = np.argmin(np.abs(np.array(stops["p_a_at"]) - pointed))
    expected = [[stops["radii"][nearest]], [stops["p_a_at"][nearest]]]
    assert told["hovered"] == [str(nearest), expected, 1]
    traces, off, text = told["hidden"]
    assert (
        told["focused"]
        and traces == [6, 6, 3, 1, 2]
        and off == 5
        and "<b>b</b>" not in text
    )
    assert told["back"] == [[9, 9, 6, 2, 3], 0]
    assert told["at"] == "0.5"


@pytest.mark.slow
def test_a_picked_radius_out_of_reach_leaves_no_figure_of_another(
    make: Make, tmp_path: Path
) -> None:
    tables = [make("near", sigma=0.25), make("far", sigma=1.0)]
    (tmp_path / "report.html").write_text(
        comparison_page(tables, radii=[0, 0.25, 0.5, 1.0])
    )
    first, last = opened(tmp_path / "report.html", "radius")
    assert "–" not in first and last[0::2] == ["–"] * 3 and "–" not in last[1::2]
