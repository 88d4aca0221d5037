"""The field's results: the kept figures are those of the logs, and the page says of them what they hold."""

import csv
import json
import math
import re
from collections import Counter, defaultdict
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from docs.field import page
from docs.field.curves import write_json
from docs.field.findings import coverage_table, headline, sentences, settings_table
from docs.field.judging import Judged, judge, reference_of
from docs.field.logs import Place
from docs.field.make import GUIDES, INDEX, guide_with, judge_folders, main
from docs.field.pairs import LEVELS, USUAL, judged_of, pairs_of
from docs.field.rows import COLUMNS, Row, read_csv, write_csv
from numpy.typing import NDArray

from randsmooth import metrics
from randsmooth.certificates import from_radii, infer, read
from randsmooth.errors import Problem
from values import refused

RELEASED = 2654  # logs that the six repositories released
README = Path(__file__).parents[2] / "README.md"
Bools = NDArray[np.bool_]
COHEN = "data/certify/cifar10/resnet110"


@pytest.fixture(scope="module")
def kept() -> tuple[list[Row], dict[str, Any]]:
    return page.read_kept()


def test_the_documentation_says_what_the_figures_are(
    kept: tuple[list[Row], dict[str, Any]],
) -> None:
    for guide in GUIDES:
        text = guide.read_text()
        assert guide_with(text, *kept) == text
        changed = guide_with(
            text, *kept[:1], {**kept[1], "pairs": kept[1]["pairs"][:40]}
        )
        assert changed != text  # the marked parts are found and written
    said = headline(pairs_of(*kept, USUAL))
    assert said in GUIDES[1].read_text() and said in sentences(*kept)
    text = INDEX.read_text()
    assert all(
        part in text
        for part in (settings_table(*kept), coverage_table(kept[0]), *sentences(*kept))
    )
    often = re.match(r"In (\d+%),", said)
    assert (
        often is not None
        and f"n {often[1]} of the pairs" in README.read_text().replace("\n", " ")
    )


def test_every_released_log_is_judged_or_refused(
    kept: tuple[list[Row], dict[str, Any]],
) -> None:
    rows, curves = kept
    assert (
        len(rows) == len({(row["repository"], row["path"]) for row in rows}) == RELEASED
    )
    assert {row["listed"] for row in rows} == {"yes"} and {
        row["status"] for row in rows
    } == {"judged", "refused"}
    assert {row["reason"] for row in rows if row["status"] == "refused"} == {
        "the table holds no image; a metric needs at least one"
    }
    assert (
        len(curves["end"])
        == sum(row["status"] == "judged" for row in rows)
        == RELEASED - 16
    )
    assert (
        max(map(len, [*curves["p_a"], *curves["accuracy"]])) < 100
    )  # curves, not logs
    assert max(path.stat().st_size for path in (page.CSV, page.JSON)) < 2e6


def test_reversals_are_those_that_a_plain_count_of_the_file_finds(
    kept: tuple[list[Row], dict[str, Any]],
) -> None:
    with page.CSV.open() as file:
        judged = [
            row
            for row in csv.DictReader(file)
            if row["status"] == "judged" and not row["copy_of"] and row["n"]
        ]
    alike = ("dataset", "split", "sigma", "n", "alpha", "image_set")
    usual = {
        "mnist": "lenet",
        "cifar10": "resnet110",
        "cifar100": "resnet110",
        "imagenet": "resnet50",
    }
    settings, counts = defaultdict(list), Counter[str]()
    for row in judged:
        if row["trained_sigma"] in ("", row["sigma"]):
            settings[tuple(row[key] for key in alike)].append(row)
    for a, b in (both for rows in settings.values() for both in combinations(rows, 2)):
        gain = float(a["acr"]) - float(b["acr"])
        networks = {one["arch"] or usual.get(one["dataset"]) for one in (a, b)}
        if a["method"] != b["method"] and len(networks) == 1 and gain:
            apart = "more data" if a["more_data"] or b["more_data"] else "usual"
            kind = "corrupted" if a["dataset"] in ("cifar10c", "mnistc") else apart
            counts[kind] += 1
            counts[f"{kind}, reversed"] += (
                gain * (float(a["p_a_0.75"]) - float(b["p_a_0.75"])) < 0
            )
    said = sentences(*kept)
    assert f"they hold {counts['usual']:,} pairs" in said[0]
    assert (
        f", {100 * counts['usual, reversed'] / counts['usual']:.0f}% and " in said[1]
    )  # at 0.75, of three
    assert (
        f"{counts['corrupted']:,} pairs of corrupted" in said[4]
        and f"{counts['more data']:,} pairs with" in said[4]
    )
    assert all(
        counts[f"{kind}, reversed"] for kind in ("usual", "corrupted", "more data")
    )


@pytest.mark.slow
def test_the_kept_figures_are_those_of_the_logs(
    logs: Path, kept: tuple[list[Row], dict[str, Any]], tmp_path: Path
) -> None:
    rows, curves = judge_folders([logs])
    again, drawn = reread(rows, curves, tmp_path)
    told = {
        (row["repository"], row["path"]): (place, row)
        for place, row in enumerate(judged_of(kept[0]))
    }
    others = {
        "copy_of",
        "gaussian",
        "outcome",
        "verdict",
    }  # depend on logs that are not here
    judged = judged_of(again)
    assert len(judged) > 100
    for place, row in enumerate(judged):
        before, one = told[row["repository"], row["path"]]
        if row["n"]:  # else it takes them from logs that are not here
            for column in (
                set(COLUMNS) - others
            ):  # another processor adds up in another order
                same = row[column] == one[column] or math.isclose(
                    row[column], one[column], rel_tol=1e-5
                )
                assert same, (row["path"], column)
            assert all(
                drawn[key][place] == kept[1][key][before]
                for key in ("p_a", "end", "accuracy")
            )


def clone(folder: Path, name: str) -> Path:
    """A clone of a repository in `folder`."""
    return folder / name.partition("/")[2]


def put(radii: list[float], path: Path) -> None:
    """A log as they are released: three digits of each radius."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [
        f"{i}\t0\t{0 if r else -1}\t{r:.3g}\t{int(r > 0)}\t0:00:01"
        for i, r in enumerate(radii)
    ]
    path.write_text(
        "\n".join(["idx\tlabel\tpredict\tradius\tcorrect\ttime", *lines, ""])
    )


FAR = [
    1.91,
    1.91,
    0.3,
    0.6,
    0.0,
    1.2,
]  # 1.91 at sigma 0.5 is the most that n 100,000 certify at alpha 0.001


def test_clones_are_judged_wherever_they_lie(tmp_path: Path) -> None:
    mine = clone(tmp_path / "mine", "locuslab/smoothing")
    put(FAR, mine / COHEN / "noise_0.50/test/sigma_0.50")
    put(FAR[::-1], mine / COHEN / "noise_0.25/test/sigma_0.50")
    (mine / "data/predict").mkdir()
    (mine / "data/predict/log").write_text(
        "idx\tlabel\tpredict\tcorrect\ttime\n0\t1\t1\t1\t0:00:01\n"
    )
    (mine / "data/broken.tsv").write_text(
        "idx\tlabel\tpredict\tradius\tcorrect\ttime\n0\t1\t1\tfar\t1\t0:00:01\n"
    )
    rows, curves = judge_folders([mine])
    told = {row["path"]: row for row in rows if row["status"] != "not here"}
    matched, other = (
        told[f"{COHEN}/noise_{sigma}/test/sigma_0.50"] for sigma in ("0.50", "0.25")
    )
    assert {row["repository"] for row in told.values()} == {"locuslab/smoothing"}
    assert (
        matched["listed"],
        matched["n"],
        matched["images"],
        matched["trained_sigma"],
    ) == ("yes", 100_000, 6, 0.5)
    assert matched["verdict"] == "is the Gaussian model" and other["gaussian"].endswith(
        "noise_0.50/test/sigma_0.50"
    )
    assert "data/predict/log" not in told
    assert (
        told["data/broken.tsv"]["status"] == "refused"
        and str(tmp_path) not in told["data/broken.tsv"]["reason"]
    )
    assert (
        sum(row["listed"] == "yes" for row in rows) == RELEASED
    )  # as the last figures list them
    assert not pairs_of(*reread(rows, curves, tmp_path))  # of one method


def test_weak_models_have_the_n_and_alpha_of_the_logs_around_them(
    tmp_path: Path,
) -> None:
    weak = [0.9, 0.4, 0.0, 0.1, 0.2, 0.1]
    mine = clone(tmp_path / "mine", "jh-jeong/smoothmix")
    told = {  # path: radii -> n
        "mnist/cohen/noise_0.50": (weak, 100_000),
        "mnist/macer/noise_0.50": (FAR, 100_000),
        "mnist/stab/lbd_2/noise_0.50": (
            [2.0, *weak[1:]],
            None,
        ),  # more than the others can certify
        "mnist/cohen/noise_0.25": (weak, None),  # of another sigma
        "cifar10/cohen/noise_0.50": (weak, None),
        "cifar10/macer/noise_0.50": (FAR, 100_000),
        "cifar10/stab/lbd_2/noise_0.50": (
            [1.23, 1.23, 0.3],
            1000,
        ),  # so that two disagree
    }
    for path, (radii, _) in told.items():
        put(radii, mine / "data/certify" / path)
    rows, _ = judge_folders([mine])
    found = {
        row["path"].removeprefix("data/certify/"): row
        for row in rows
        if row["status"] != "not here"
    }
    assert {path: row["n"] or None for path, row in found.items()} == {
        path: n for path, (_, n) in told.items()
    }
    assert found["mnist/cohen/noise_0.50"]["p_a_0.75"] == pytest.approx(2 / 6, abs=1e-5)
    assert found["mnist/macer/noise_0.50"]["gaussian"].endswith(
        "mnist/cohen/noise_0.50"
    )
    unknown = found["mnist/cohen/noise_0.25"]
    assert (round(6 * unknown["p_a_0.5"]), unknown["p_a_0.75"]) == (
        5,
        "",
    )  # right and certified: above 1/2, whatever n is


def reread(
    rows: list[Row], curves: dict[str, Any], folder: Path
) -> tuple[list[Row], dict[str, Any]]:
    (folder / "rows.csv").write_text(write_csv(rows))
    return read_csv(folder / "rows.csv"), json.loads(write_json(curves))


def test_pairs_hold_what_the_tables_themselves_show(tmp_path: Path) -> None:
    paths = [
        tmp_path / "cifar10-sigma0.5" / f"{name}.tsv" for name in ("gaussian", "macer")
    ]
    put(FAR, paths[0])
    put([1.91, 1.91, 0.0, 1.8, 0.4, 1.7], paths[1])
    rows, curves = judge_folders([tmp_path])
    tables = [infer(read(path), path) for path in paths]
    (ends,) = curves["pairs"]
    shares = [metrics.p_a(table) for table in tables]
    wanted = [
        metrics.fresh_difference(
            *only(*(each.values >= x for each in shares)), len(FAR)
        )
        for x in LEVELS
    ]
    wanted.append(metrics.acr_difference(*tables))
    assert ends[:2] == [0, 1]
    assert ends[2:] == pytest.approx(
        [1e4 * end for one in wanted for end in (one.low, one.high)], abs=1
    )
    (pair,) = pairs_of(*reread(rows, curves, tmp_path))
    assert (
        pair.ahead["method"] == "macer"
        and not any(pair.reversed)
        and not any(pair.shown)
    )


def only(a: Bools, b: Bools) -> tuple[int, int]:
    return int((a & ~b).sum()), int((b & ~a).sum())


def judged(
    path: str, radii: list[float], repository: str = "jh-jeong/smoothing-consistency"
) -> Judged:
    place = Place(repository, path)
    return judge(
        place, infer(from_radii(radii), place.filed, sigma=0.5, n=1000, alpha=0.001)
    )


def test_the_gaussian_model_is_of_the_same_network_and_the_middle_run() -> None:
    runs = [
        judged(
            f"data/certify/mnist/cohen/noise_0.50_{run}",
            [0.1] * run + [0.0] * (9 - run),
        )
        for run in (2, 9, 5)
    ]
    elsewhere = judged(
        "data/certify/mnist/noise_0.50/test/sigma_0.50", [0.1] * 9, "locuslab/smoothing"
    )
    one = judged(
        "data/certify/mnist/consistency/cohen/num_2/lbd_5.0/eta_0.5/noise_0.50_1",
        [0.2] * 9,
    )
    assert reference_of(one, [one, elsewhere, *runs]) is runs[2]
    assert reference_of(one, [one, elsewhere]) is elsewhere
    small = judged("data/certify/cifar10/cohen/cifar_resnet20/noise_0.50_1", [0.1] * 9)
    other = judged(
        "data/certify/cifar10/consistency/cohen/num_2/lbd_5.0/eta_0.5/cifar_densenet40/noise_0.50",
        [0.1] * 9,
    )
    assert (
        reference_of(other, [other, small]) is None
        and reference_of(small, [other, small]) is small
    )


def test_folders_without_a_log_are_refused_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with refused(Problem):
        judge_folders([tmp_path])
    before = page.CSV.stat().st_mtime_ns
    assert (
        main([str(tmp_path / "nowhere")]) == 2
        and "nowhere is not a folder" in capsys.readouterr().err
    )
    monkeypatch.delenv("RANDSMOOTH_DATA", raising=False)
    assert main([]) == 2 and "make field CLONES=" in capsys.readouterr().err
    assert page.CSV.stat().st_mtime_ns == before
