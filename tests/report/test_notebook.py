"""What a notebook shows: well-formed, without scripts, and with names as text."""

from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

from randsmooth import metrics
from randsmooth.report.notebook import POINTS, RIGHT, WIDTH, html_of
from report.conftest import Make

NAME = '<script>alert("1")</script> & </div>'


def shown(value: object) -> ElementTree.Element:
    """The HTML of a value; it fails where that is not well-formed."""
    html = value._repr_html_()  # type: ignore[attr-defined]
    assert html == html_of(value)
    block = ElementTree.fromstring(html)
    assert not [one for one in block.iter() if one.tag.endswith("script")]
    assert not [name for one in block.iter() for name in one.attrib if name[:2] == "on"]
    return block


def words_of(block: ElementTree.Element) -> str:
    return " ".join(block.itertext())


def curves_of(block: ElementTree.Element) -> list[ElementTree.Element]:
    return [one for one in block.iter() if one.tag.endswith("svg")]


@pytest.mark.parametrize("name", ["macer", NAME])
def test_certificates_show_the_answer_and_a_curve(
    name: str, make: Make, log: Make
) -> None:
    table = make(name)
    block = shown(table)
    assert name in words_of(block)
    accuracy = metrics.certified_accuracy(table, 0.5).value
    assert f"{100 * accuracy:.1f}% at 0.5" in words_of(block)
    assert len(curves_of(block)) == 1

    logged = log([0.3, 0.5, -1.0], name, sigma=0.5, n=1000, alpha=0.001)
    assert "✓" in words_of(shown(logged))


def test_a_failed_check_is_shown(log: Make) -> None:
    table = log([0.3, 0.5], "twice", sigma=0.5, n=1000, alpha=0.001)
    twice = table.rows(np.array([0, 1, 1]))
    assert "✗" in words_of(shown(twice))


def test_tables_without_labels_images_or_right_images_have_no_curve(
    make: Make, log: Make
) -> None:
    table = make("empty")
    assert not curves_of(shown(table.rows(np.zeros(len(table), bool))))
    assert not curves_of(shown(log([-1.0, -1.0], "wrong")))


def test_comparisons_and_estimates_show_themselves(make: Make) -> None:
    tables = make(NAME), make("gaussian", seed=1)
    (comparison,) = metrics.compare([tables])
    block = shown(comparison)
    assert NAME in words_of(block) and str(comparison) in words_of(block)
    assert len(curves_of(block)) == 1


def test_a_curve_of_differences_goes_to_its_last_radius_and_names_a_narrow_band(
    make: Make,
) -> None:
    radii = np.linspace(0.0, 1.0, 2 * POINTS)
    value = np.zeros(len(radii))
    counts = np.zeros(len(radii), np.int64)
    curve = metrics.Difference(
        radii, value, value - 0.001, value + 0.001, counts, counts, whole=True
    )
    (comparison,) = metrics.compare([(make(NAME), make("gaussian", seed=1))])
    (drawing,) = curves_of(shown(replace(comparison, curve=curve)))
    *_, line = [one for one in drawing.iter() if one.tag.endswith("polyline")]
    last = line.attrib["points"].split()[-1]
    assert float(last.partition(",")[0]) == WIDTH - RIGHT
    limits = {float(text) for text in words_of(drawing).split() if text[0] in "+-"}
    assert limits == {-0.1, 0.1}


def test_an_estimate_shows_its_interval_if_it_is_a_share(make: Make) -> None:
    share = metrics.certified_accuracy(make(NAME), 0.5)
    assert str(share) in words_of(shown(share))
    assert len(curves_of(shown(share))) == 1
    assert not curves_of(shown(metrics.Estimate(1.5, 1.2, 1.9, 10)))
