"""The page's comparison with the baseline: its figures are those of the metrics, whatever the names."""

import base64
import io
import json
import re
from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from models.refusing import problem_of, refusal
from randsmooth import bounds, metrics
from randsmooth.certificates import Certificates
from randsmooth.errors import WrongTable
from randsmooth.metrics import NearerEnd
from randsmooth.noise import Gaussian
from randsmooth.notes import Note
from randsmooth.number_text import signed
from randsmooth.report import comparison_page, page_content, render
from randsmooth.report.baseline import AgainstBaseline
from randsmooth.report.curves import budget_curve, radius_grid
from randsmooth.report.page import summary
from randsmooth.report.page.panels import (
    accuracy_curves,
    acr_alternatives,
    against_baseline,
    given_up,
)
from randsmooth.report.plotly_charts import plot
from randsmooth.report.remarks import budget_remarks
from randsmooth.report.sheet import build_sheet
from report.conftest import Make
from values import Refusal

RADII = [0.0, 0.25, 0.5]
LOGGED = {"sigma": 0.5, "n": 1000, "alpha": 0.001}


@pytest.fixture(scope="module")
def pair(make: Make) -> list[Certificates]:
    """A baseline, and a method that is surer of sure images and has given up others."""
    return [
        make("gaussian", a=4.0, b=1.5, images=600),
        make("polar", seed=1, a=0.6, b=0.3, images=600),
    ]


@pytest.fixture(scope="module")
def one(pair: list[Certificates]) -> AgainstBaseline:
    return build_sheet(pair, RADII).compared.against[0]


def cells(text: str, heading: str) -> list[list[str]]:
    """The texts of each row's cells in the table that is labelled by `heading`."""
    table = (
        text.split(f'aria-labelledby="{heading}"')[1]
        .split("</table>")[0]
        .split("<tbody>")[1]
    )
    rows = re.findall(r"<tr>.*?</tr>", table, re.DOTALL)
    return [
        [
            re.sub(r"<[^>]*>", " ", cell).strip()
            for cell in re.findall(r"<t[dh].*?</t[dh]>", row)
        ]
        for row in rows
    ]


def compared(tables: Sequence[Certificates]) -> list[metrics.Comparison]:
    """Each table but the first against it, as the page judges them."""
    return metrics.compare([(table, tables[0]) for table in tables[1:]], RADII)


def test_every_method_is_paired_with_the_baseline(
    pair: list[Certificates], make: Make
) -> None:
    tables = [*pair, make("third", seed=3, images=600)]
    rows = cells(comparison_page(tables, radii=RADII), "paired-differences")
    assert [row[0] for row in rows] == ["polar", "third"]
    for row, table, one in zip(rows, tables[1:], compared(tables), strict=True):
        for cell, r in zip(row[2:], RADII, strict=True):
            at = one.at(r)
            assert at is not None
            value, low, high = (
                100 * end
                for end in (at.difference.value, at.difference.low, at.difference.high)
            )
            assert cell.split() == [
                signed(value, decimals=1),
                signed(low, decimals=1),
                "to",
                signed(high, decimals=1),
            ]
        gain = metrics.acr(table).value - metrics.acr(tables[0]).value
        assert row[1].split()[0] == f"{gain:+.3f}"


def test_the_plot_of_differences_is_the_band(
    pair: list[Certificates], one: AgainstBaseline
) -> None:
    content = page_content(pair, radii=RADII)
    chart = against_baseline.difference_chart(content)
    assert chart is not None
    low, high, value = (np.array(trace["y"]) for trace in plot(chart)["data"])
    assert (
        np.all((low <= value) & (value <= high))
        and len(value) <= 2 * against_baseline.MOST_POINTS
    )
    curve = one.comparison.curve
    assert curve is not None
    for x, y in zip(plot(chart)["data"][2]["x"], value, strict=True):
        there = curve.value[np.abs(curve.radii - x) < 1e-4]  # the page rounds radii
        assert np.abs(100.0 * there - y).min() <= 0.01
    assert against_baseline.difference_chart(replace(content, against=[])) is None


def test_bars_add_up_to_the_difference_in_acr(
    pair: list[Certificates], one: AgainstBaseline
) -> None:
    chart = against_baseline.waterfall_chart(page_content(pair, radii=RADII))
    assert chart is not None
    (drawn,) = plot(chart)["data"]
    gain = metrics.acr(pair[1]).value - metrics.acr(pair[0]).value
    assert sum(drawn["y"]) == pytest.approx(gain, abs=1e-3)
    assert drawn["customdata"] == metrics.waterfall(pair[1], pair[0]).images.tolist()
    (row,) = cells(comparison_page(pair, radii=RADII), "acr-difference")
    easy = metrics.waterfall(pair[1], pair[0]).easy_difference
    assert [row[1], row[2].split()[0], row[3]] == [
        f"{x:+.3f}" for x in (gain, easy, gain - easy)
    ]


def test_budget_curves_are_of_usual_budgets_up_to_the_tables_own(
    make: Make, log: Make
) -> None:
    tables = [
        make("a"),
        log([0.3, 0.9, -1.0], "log", **LOGGED),
        make("b", seed=1),
        log([0.5], "bare"),
        make(n=700),
    ]
    found = [budget_curve(table) for table in tables]
    assert found[3] is None
    most = [500, 1000, 500, None, 700]
    assert [curve and curve[0] for curve in found] == [
        n and [100, 300, n] for n in most
    ]
    for table, curve in zip(tables, found, strict=True):
        for n, acr in zip(*curve, strict=True) if curve else ():
            assert acr == pytest.approx(metrics.acr_at(table, n).value, abs=1e-12)
    assert 'id="budget"' not in comparison_page([log([0.5])])


def test_verdicts_say_what_the_metrics_say(
    pair: list[Certificates], one: AgainstBaseline
) -> None:
    said = one.comparison.verdict
    assert said is not None and said.outcome == metrics.CROSSES
    assert re.fullmatch(
        r"behind up to r = [\d.]+, ahead from [\d.]+ \(the curves cross near [\d.]+\)",
        str(said),
    )
    text = comparison_page(pair, radii=RADII)
    assert cells(text, "verdicts") == [["polar", "600", str(said)]]
    scope = str(one.comparison.scope)
    assert scope in text
    assert f"polar  {said}" in render(pair, radii=RADII)
    assert scope in " ".join(render(pair, radii=RADII).split())
    limit = NearerEnd("polar", 0.4)
    limited = replace(one.comparison, limit=limit)
    assert str(limited) == f"{said} [{limit}]"
    assert str(replace(limited, verdict=None)) == f"not compared: {limit}"


def test_the_summary_groups_the_verdicts(pair: list[Certificates]) -> None:
    content = build_sheet([*pair, *(pair[0].renamed(name) for name in "ab")], RADII)
    verdict = str(content.compared.against[0].comparison)
    assert str(summary.sentences(content)[-1]).endswith(
        f", polar: {verdict}; a, b: no difference shown."
    )


def test_a_budget_that_alone_raises_acr_is_named_before_acr(
    make: Make, log: Make
) -> None:
    few, many = make("few", images=2000), make("many", n=1000, images=2000)
    first, second, *_ = summary.sentences(build_sheet([few, many]))
    assert first == Note("budgets_differ", field="n", values=[500, 1000], rejudged=True)
    assert str(second).startswith("many's ACR is higher than few's")
    # A log's counts are not known, and are judged at no other alpha.
    (remark,) = budget_remarks([few, log([0.5], "loose", alpha=0.05)])
    assert remark == Note(
        "budgets_differ", field="alpha", values=[0.001, 0.05], rejudged=False
    )
    assert budget_remarks([few, make("same", images=2000)]) == []


def test_who_was_given_up_is_counted_and_the_worst_class_named(
    pair: list[Certificates], one: AgainstBaseline
) -> None:
    row = cells(comparison_page(pair, radii=RADII), "given-up-title")[0][1:]
    for i, r in enumerate((0.0, 0.5)):
        ours, theirs = metrics.certified(pair[1], r), metrics.certified(pair[0], r)
        gone, won = theirs & ~ours, ours & ~theirs
        assert row[3 * i : 3 * i + 2] == [f"{gone.sum():,}", f"{won.sum():,}"]
        of = [pair[0].label == k for k in range(3)]
        view = given_up.by_class(page_content(pair, radii=RADII))[i]
        assert view["images"] == [int(rows.sum()) for rows in of]
        assert view["cells"] == [
            [(int(gone[rows].sum()), int(won[rows].sum()))] for rows in of
        ]
        net = [int(gone[rows].sum() - won[rows].sum()) for rows in of]
        worst = int(
            np.argmax([n / rows.sum() for n, rows in zip(net, of, strict=True)])
        )
        assert row[3 * i + 2] == (
            f"class {worst}: {net[worst]} of {of[worst].sum()}"
            if net[worst] > 0
            else "none"
        )


def test_lost_images_are_pictured_where_they_can_be_had(
    pair: list[Certificates],
) -> None:
    asked: list[int] = []

    def pictures(idx: Sequence[int]) -> list[NDArray[np.uint8]]:
        asked.extend(idx)
        return [np.full((8, 8, 1 + 2 * (i % 2)), i % 256, np.uint8) for i in idx]

    text = comparison_page(pair, radii=RADII, pictures=pictures)
    found = re.findall(
        r'<img src="data:image/png;base64,([^"]*)" alt="image (\d+), class (\d)">', text
    )
    assert len(found) == 12 and sorted(asked) == sorted(int(idx) for _, idx, _ in found)
    gone = metrics.certified(pair[0], 0.0) & ~metrics.certified(pair[1], 0.0)
    farthest = np.sort(pair[0].radius[gone])[::-1][:12]
    assert [pair[0].radius[int(idx)] for _, idx, _ in found] == farthest.tolist()
    for uri, idx, label in found:
        shown = Image.open(io.BytesIO(base64.b64decode(uri)))
        assert (
            np.all(np.asarray(shown) == int(idx) % 256)
            and int(label) == pair[0].label[int(idx)]
        )
    assert "polar</bdi>, lost at radius 0</h4>" in text
    assert "<img" not in comparison_page(pair, radii=RADII)
    uri = given_up.data_uri(
        np.zeros((500, 300, 3), np.uint8)
    )  # a large one is made small
    assert Image.open(io.BytesIO(base64.b64decode(uri.split(",")[1]))).size == (38, 64)


def test_tables_over_other_images_are_paired_on_the_common_ones(
    pair: list[Certificates],
) -> None:
    assert "Against" not in comparison_page([pair[0]])
    three = [pair[0].renamed(name) for name in ("a", "b")] + [pair[1]]
    assert build_sheet(three).compared.against == []  # there is no baseline
    every_other = np.arange(600) % 2 == 0
    half, common = pair[1].rows(every_other), pair[0].rows(every_other)
    content = build_sheet([pair[0], half], RADII)
    (one,), (alone,) = (
        content.compared.against,
        metrics.compare([(half, common)], RADII),
    )
    assert one.comparison.images == 300 and one.points == [alone.at(r) for r in RADII]
    text = comparison_page(content.tables)
    assert cells(text, "verdicts")[0][1] == "300"


def test_tables_that_share_no_image_are_refused(pair: list[Certificates]) -> None:
    elsewhere = replace(pair[1], idx=pair[1].idx + 10_000)
    for first in ("gaussian", "nameless"):
        Refusal(WrongTable).check(
            problem_of(partial(comparison_page, [pair[0].renamed(first), elsewhere]))
        )
    (told,) = json.loads(render([pair[0], elsewhere], format="json"))["against"]
    assert told["name"] == "polar" and "share no image" in told["not_compared"]


def test_tables_of_other_labels_are_drawn_and_not_paired(
    pair: list[Certificates],
) -> None:
    turned, other = np.roll(pair[1].label, 1), np.maximum(pair[1].label, 1)
    one = np.where(
        pair[1].idx == pair[1].idx[5], (pair[1].label + 1) % 3, pair[1].label
    )
    for label, why in (
        (turned, "same labels, in another order"),
        (other, "another data set"),
        (one, "idx renumbered"),
    ):
        text = comparison_page([pair[0], replace(pair[1], label=label)])
        assert (
            "polar is not compared with gaussian image by image: image " in text
            and why in text
        )
        assert "has the higher ACR" not in text
        assert (
            'id="radius"' in text and 'id="p_a"' in text and 'id="verdicts"' not in text
        )


def test_tables_that_are_not_sound_are_refused_by_name(log: Make) -> None:
    table = log([0.3, 0.5, 0.9], "log", **LOGGED)
    cases = {
        "log holds no image": table.rows(np.zeros(3, bool)),
        r"log: the radius of image 0 is above 1\.231, .*n=1": replace(
            table, radius=np.array([1.3, 0.5, 1.2])
        ),
        "the radius of images 0, 2 is above": replace(
            table, radius=np.array([1.3, 0.5, 9.9])
        ),
        "images 0, 1, 2, 3, 4 and 15 more": log([2.0] * 20, **LOGGED),
    }
    for named, wrong in cases.items():
        for report in (comparison_page, render):
            assert re.search(named, refusal(partial(report, [wrong])))
    farthest = Gaussian(0.5).largest_radius(1000, 0.001)
    assert (
        float(f"{farthest:.3g}") != farthest
    )  # a radius that a log rounded up is no fault
    comparison_page([log([float(f"{farthest:.3g}"), farthest + 0.004], **LOGGED)])


def test_the_slider_stops_at_true_figures(pair: list[Certificates], log: Make) -> None:

    def stops_of(tables: Sequence[Certificates]) -> dict[str, Any]:
        return accuracy_curves.slider_stops(tables, float(radius_grid(tables)[-1]))

    stops = stops_of(pair)
    for at in range(0, len(stops["radii"]), 7):
        r = stops["radii"][at]
        for row, table in enumerate(pair):
            exact = 1000 * metrics.certified_accuracy(table, r).value
            assert stops["accuracy"][row][at] == pytest.approx(exact, abs=0.5)
        p = stops["p_a"][at]
        if p is not None and r > 0:
            certified = Gaussian(0.5).radius(bounds.q_upper(round(p * 500), 500, 0.001))
            assert certified == pytest.approx(r, abs=0.03)
    known = [p for p in stops["p_a"] if p is not None]
    assert (
        known == sorted(known) and stops["p_a"][-1] is None
    )  # past the farthest certificate
    bare = log([0.5, 1.0], "bare")  # the first table that knows tells p_A
    assert set(stops_of([bare])["p_a"]) == {None} and any(
        stops_of([bare, pair[0]])["p_a"]
    )


def test_in_acrs_place(pair: list[Certificates], log: Make) -> None:
    assert acr_alternatives.area_end([0.0, 0.5, 1.0, 1.5]) == 1.0
    area, quantiles = (
        metrics.accuracy_area(pair[0], 1.0),
        metrics.p_a_quantiles(pair[0], (0.25, 0.5, 0.75)),
    )
    told = [
        f"{e.value:.3f} {e.low:.3f} to {e.high:.3f}"
        for e in (area, *quantiles.values())
    ]
    row = cells(
        comparison_page(pair, radii=[0.0, 0.5, 1.0, 1.5]), "acr-alternatives-title"
    )[0]
    assert row[0] == "gaussian" and [" ".join(cell.split()) for cell in row[1:]] == told
    unknown = acr_alternatives.cells(log([0.5, 1.0]), 1.0)
    assert [figure for figure, _ in unknown[1:]] == ["–"] * 3
    below = acr_alternatives.cells(
        log([-1.0, -1.0, -1.0, 0.5], **LOGGED), 1.0
    )  # which a log does not tell
    assert [figure for figure, _ in below[1:3]] == ["below 0.5"] * 2


def test_json_holds_the_comparison(pair: list[Certificates], log: Make) -> None:
    content = json.loads(render(pair, radii=RADII, format="json"))
    (told,), (one,) = content["against"], compared(pair)
    assert one.curve is not None and one.acr is not None
    assert (told["name"], told["images"], told["limit"]) == ("polar", 600, None)
    assert (told["verdict"]["words"], told["verdict"]["delta"]) == (
        str(one.verdict),
        0.01,
    )
    assert (
        told["acr_difference"] == asdict(one.acr)
        and told["curve"]["low"] == one.curve.low.tolist()
    )
    for at, r in zip(told["certified_accuracy"], RADII, strict=True):
        point = one.at(r)
        assert point is not None
        alone = metrics.mcnemar(point.only_a, point.only_b)
        assert at == {"radius": r, **asdict(point), "p_value_alone": alone}
    assert (
        content["judged_together"]["figures"],
        content["judged_together"]["pairs"],
    ) == (one.scope.figures, 1)
    assert sum(told["waterfall"]["parts"]) == pytest.approx(
        told["acr_difference"]["value"], abs=1e-12
    )
    assert (
        told["given_up"][0]["lost"] == metrics.given_up(pair[1], pair[0]).lost.tolist()
    )
    (told,) = json.loads(
        render([log([0.5], "gaussian"), log([0.7], "b")], format="json")
    )["against"]
    assert told["waterfall"] is None and told["images"] == 1
    assert (
        told["verdict"]["words"] == metrics.NO_DIFFERENCE
        and "the largest radius of gaussian" in told["limit"]
    )


def test_what_a_rule_did_not_answer_is_a_dash(pair: list[Certificates]) -> None:
    few = replace(
        pair[1], header=pair[1].header.model_copy(update={"rule": "radius=0.25"})
    )
    few = replace(few, radius=np.where(few.radius >= 0.25, 0.25, 0.0))
    text = comparison_page([pair[0], few], radii=RADII)
    row = cells(text, "paired-differences")[0]
    assert (row[1], row[2], row[4]) == ("–", "–", "–") and row[3] != "–"
    assert cells(text, "acr-difference")[0][1:] == ["–"] * 3
    assert (
        "[at r = 0.25 only, all that the samples of polar answer]"
        in cells(text, "verdicts")[0][2]
    )
    assert "What ACR hides cannot be said here" in text
    (told,) = json.loads(render([pair[0], few], radii=RADII, format="json"))["against"]
    assert told["acr_difference"] is None and told["certified_accuracy"][0] == {
        "radius": 0.0,
        "difference": None,
    }
