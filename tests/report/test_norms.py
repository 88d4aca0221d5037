"""Radii are printed with their norm in every format, and norms are never mixed."""

import csv
import io
import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from certificates.test_in_norm import certified
from models.refusing import check_refusals
from randsmooth import metrics, report
from randsmooth.certificates import Certificates, Header, from_evidence
from randsmooth.errors import NotComparable
from randsmooth.noise import (
    NORMS,
    Deviations,
    GaussianPerCoordinate,
    Noise,
    Splitting,
    noise_from,
)
from randsmooth.report.curves import radius_title
from randsmooth.report.page.panels import (
    acr_alternatives,
    against_baseline,
    budget_curve,
)
from values import Refusal

TITLES = {
    "gaussian": "L2 radius (pixels in [0, 1])",
    "uniform": "L1 radius (pixels in [0, 1])",
    "laplace": "L1 radius (pixels in [0, 1])",
    "ablation": "L0 radius (pixels that may change)",
    "std": "radius in standard deviations of the noise",
    "features": "radius in standard deviations of each feature",
}


def exact(images: int = 40) -> Certificates:
    """All 255 copies of each image were counted."""
    header = Header(
        n0=0,
        n=255,
        alpha=0.0,
        rule="exact",
        seed=0,
        noise=Splitting(0.5),
    )
    n_a = np.random.default_rng(0).integers(100, 256, images)
    counts, idx = np.stack([n_a, 255 - n_a], 1), np.arange(images)
    counts0 = np.eye(2, dtype=np.int64)[counts.argmax(axis=1)]
    label, seconds = np.zeros(images, np.int64), np.zeros(images)
    return from_evidence(
        header,
        idx=idx,
        label=label,
        counts0=counts0,
        counts=counts,
        seconds=seconds,
        name="exact",
    )


def test_every_format_says_the_norm() -> None:
    for noise, title in TITLES.items():
        table = certified(noise)
        for form in ("text", "md", "latex"):
            said = (
                report.render([table], format=form)
                .replace("\n", " ")
                .replace("{[}", "[")
            )
            # LaTeX has it once above the radii, where a unit has no room.
            expected = f"at each {title}"
            if form == "latex":
                expected = f"at {NORMS[table.norm].radius}"
            assert expected in said, (noise, form)
        (line,) = csv.DictReader(io.StringIO(report.render([table], format="csv")))
        told = json.loads(report.render([table], format="json"))
        norms = (
            line["norm"],
            line["proved_in"],
            told["norm"],
            told["tables"][0]["proved_in"],
        )
        assert norms == (table.norm,) * 4, noise
        assert (
            f"certified {title}"
            == radius_title([table])
            == report.page_content([table]).radius_chart.x
        ), noise
        assert title.partition(" (")[0] in report.comparison_page([table]), noise


def test_radii_in_other_units_are_not_compared() -> None:
    """Deviations of the noise are another unit for each noise; those of the features are the same one."""

    def table(noise: Noise, name: str) -> Certificates:
        return replace(
            certified("std", name=name),
            header=certified("std", noise=noise).header,
        )

    wide, narrow = (
        Deviations(times).noise_for(np.linspace(1.0, 9.0, 16).reshape(1, 4, 4))
        for times in (0.5, 0.3)
    )
    metrics.require_one_norm([table(wide, "a"), table(narrow, "b")])
    others = [
        table(GaussianPerCoordinate(noise.std), name)
        for noise, name in ((wide, "a"), (narrow, "b"))
    ]
    metrics.require_one_norm([others[0], others[0]])
    metrics.require_one_norm([other.in_norm("l2") for other in others])
    check_refusals([(partial(report.render, others), Refusal(NotComparable))])


def test_radii_that_follow_are_said_to() -> None:
    tables = [
        certified("gaussian").in_norm("l1"),
        certified("uniform"),
        certified("laplace"),
    ]
    said = "gaussian: L1 radii that follow from L2"
    # LaTeX leaves remarks out: the command notes them on the terminal.
    for form in ("text", "md", "json"):
        assert said in report.render(tables, format=form).replace("\\", ""), form
    assert [
        line["proved_in"]
        for line in csv.DictReader(io.StringIO(report.render(tables, format="csv")))
    ] == [
        "l2",
        "l1",
        "l1",
    ]
    assert said in report.comparison_page(tables)
    apart = [
        certified("uniform").in_norm("linf", shape=(4, 4)),
        certified("gaussian").in_norm("linf", shape=(4, 4)),
    ]
    assert "uniform: L-infinity radii by a proof of their own" in report.render(apart)
    assert [
        one["proved_in"]
        for one in json.loads(report.render(apart, format="json"))["tables"]
    ] == ["linf", "l2"]
    for noise in ("sigma 0.5", "uniform 0.6", "laplace 0.5"):
        assert f"({noise})" in report.render(tables), noise


def test_norms_are_not_mixed(tmp_path: Path) -> None:
    tables = [certified("gaussian"), certified("uniform")]
    drawn = partial(report.draw_radius_accuracy, path=tmp_path / "radius.png")
    ways: list[Callable[..., object]] = [
        report.render,
        report.comparison_page,
        drawn,
        radius_title,
    ]
    check_refusals(
        [
            (
                partial(way, tables),
                Refusal(NotComparable, "gaussian", "uniform", "L2", "L1"),
            )
            for way in ways
        ]
    )
    report.draw_p_a_curves(tables, tmp_path / "p_a.png")  # p_A has no norm
    assert (tmp_path / "p_a.png").stat().st_size > 5000


def test_each_kind_of_noise_has_an_envelope() -> None:
    def under(name: str, field: str, width: float) -> Certificates:
        table = certified("uniform", noise=noise_from({"name": name, field: width}))
        return table.renamed(f"{name}-{width}")

    tables = [
        under("uniform", "lam", 0.3),
        under("uniform", "lam", 1.2),
        under("laplace", "b", 0.2),
    ]
    tables.append(certified("gaussian").in_norm("l1"))
    groups = report.group_by_method(tables)
    assert {name: len(group) for name, group in groups.items()} == {
        "uniform": 2,
        "laplace": 1,
        "gaussian": 1,
    }
    shares, widths = report.envelope_axes(groups)
    assert shares.x == f"certified {TITLES['uniform']}" and "width" in widths.title
    assert {width for line in widths.lines for width in np.asarray(line.y)} <= {
        0.3,
        1.2,
        0.2,
        0.5,
    }
    assert 'id="envelopes"' in report.comparison_page(tables)
    assert 'id="envelopes"' not in report.comparison_page(tables[:1])


def test_the_leaderboard_keeps_norms_apart(tmp_path: Path) -> None:
    tables = [
        certified(noise) for noise in ("ablation", "uniform", "gaussian", "laplace")
    ]
    tables.append(certified("gaussian", name="followed").in_norm("l1"))
    entries = [report.measure(table, f"{table.name}.parquet") for table in tables]
    report.write_leaderboard(entries, tmp_path / "board.html")
    page, records = (
        (tmp_path / "board.html").read_text(),
        json.loads((tmp_path / "board.json").read_text()),
    )
    for norm in ("L2", "L1", "L0"):
        assert f"certified accuracy (%) at {norm} radius" in page, norm
    settings = {record["name"]: record["setting"] for record in records}
    assert len(set(settings.values())) == len(tables)
    assert (
        "uniform 0.6 (L1)" in settings["uniform"]
        and "ablation 3 (L0)" in settings["ablation"]
    )
    assert "L1 radii that follow from L2" in settings["followed"]
    told = {
        record["name"]: (record["norm"], record["proved_in"], record["noise"])
        for record in records
    }
    assert told["gaussian"] == ("l2", "l2", "sigma 0.5") and told["followed"] == (
        "l1",
        "l2",
        "sigma 0.5",
    )
    for record in records:
        whole = [at["radius"] % 1.0 for at in record["certified_accuracy"]]
        assert whole and (record["norm"] != "l0" or not any(whole)), record["name"]


def test_certain_certificates_are_printed_without_alpha(tmp_path: Path) -> None:
    table = exact()
    for form in ("text", "md", "latex"):
        printed = report.render([table], format=form)
        assert "certain" in printed and "alpha 0" not in printed, form
    page = report.comparison_page([table])
    assert (
        "which is certain" in page
        and "wrong with probability at most alpha" not in page
    )
    both = report.render([table, certified("splitting")])
    assert (
        "n 255, certain" in both
        and "n 500, alpha 0.001" in both
        and "differ in" not in both
    )
    report.write_leaderboard(
        [report.measure(table, "exact.parquet")], tmp_path / "board.html"
    )
    (record,) = json.loads((tmp_path / "board.json").read_text())
    assert record["setting"].endswith("n 255, certain")
    assert metrics.p_a(table).known_from == 0.0 and metrics.farthest(table) == 127 / 255


def test_an_average_radius_has_the_decimals_of_its_norm_in_answer_and_evidence() -> (
    None
):
    for norm in ("l2", "linf"):
        table = certified("gaussian").in_norm(norm, shape=(4, 4))
        sheet = report.sheet.build_sheet([table])
        (cells,) = sheet.answer.cells
        assert cells[-1] == sheet.acr.figures[0], norm


def test_differences_and_areas_of_small_radii_have_the_decimals_of_their_norm() -> None:
    wide = [certified("gaussian"), certified("gaussian", n=400, name="fewer")]
    small = [table.in_norm("linf", shape=(16, 16, 3)) for table in wide]
    for tables, decimals in ((wide, 3), (small, 5)):
        content = report.page_content(tables)
        difference = against_baseline.view(content)
        budget = budget_curve.view(content)
        assert difference is not None and budget is not None
        assert difference.content["acr_decimals"] == decimals
        assert all(
            f".{decimals}f" in line.hover for line in budget.charts["budget"].lines
        )
        ((figure, _), *quartiles) = acr_alternatives.cells(tables[0], 0.01)
        assert len(figure.partition(".")[2]) == decimals
        assert {len(p_a.partition(".")[2]) for p_a, _ in quartiles} == {3}


def test_an_area_above_one_is_printed_as_it_is() -> None:
    table = certified("ablation")
    area = metrics.accuracy_area(table, 6.0).value
    assert area > 1.0
    (figure, _), *_ = acr_alternatives.cells(table, 6.0)
    assert float(figure) == pytest.approx(area, abs=0.0006)
