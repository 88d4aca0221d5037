"""The field's results: the kept figures are those of the logs, and the page says of them what they hold."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from typing import Any

import pytest
from docs.field import page
from docs.field.curves import LEVELS, curves_of, write_json
from docs.field.findings import coverage_table, pairs_of, sentences, settings_table
from docs.field.judging import Judged, judge, reference_of
from docs.field.logs import Place
from docs.field.make import INDEX, index_with, judge_folders, main
from docs.field.rows import COLUMNS, Row, read_csv, write_csv

from randsmooth import metrics
from randsmooth.certificates import from_radii, infer, read
from randsmooth.errors import InputError

RELEASED = 2654  # logs that the six repositories released
COHEN = "data/certify/cifar10/resnet110"


@pytest.fixture(scope="module")
def kept() -> tuple[list[Row], dict[str, Any]]:
    return page.read_kept()


def test_the_documentation_says_what_the_figures_are(kept: tuple[list[Row], dict[str, Any]]) -> None:
    text = INDEX.read_text()
    assert index_with(text, *kept) == text
    assert all(part in text for part in (settings_table(*kept), coverage_table(kept[0]), *sentences(*kept)))
    changed = index_with(text, [row | {"listed": "no"} for row in kept[0]], kept[1])
    assert changed != text  # the marked parts are found and written


def test_every_released_log_has_a_row_that_says_whether_it_was_judged(kept: tuple[list[Row], dict[str, Any]]) -> None:
    rows, curves = kept
    listed = [row for row in rows if row["listed"] == "yes"]
    assert len(listed) == len({(row["repository"], row["path"]) for row in listed}) == RELEASED
    assert {row["status"] for row in rows} <= {"judged", "not here", "predictions", "refused"}
    assert len(curves["logs"]) == sum(row["status"] == "judged" for row in rows)
    assert max(map(len, [*curves["p_a"], *curves["accuracy"]])) < 100  # curves, not logs


def test_reversals_are_those_that_a_plain_count_of_the_file_finds(kept: tuple[list[Row], dict[str, Any]]) -> None:
    with page.CSV.open() as file:
        judged = [row for row in csv.DictReader(file) if row["status"] == "judged" and not row["copy_of"]]
    alike = ("dataset", "split", "sigma", "n", "alpha", "image_set")
    pairs = reversals = 0
    for place, a in enumerate(judged):
        for b in judged[:place]:
            if any(a[key] != b[key] for key in alike) or a["method"] == b["method"] or not a["p_a_0.75"]:
                continue
            if any(one["trained_sigma"] not in ("", one["sigma"]) for one in (a, b)):
                continue
            usual = {"mnist": "lenet", "cifar10": "resnet110", "cifar100": "resnet110", "imagenet": "resnet50"}
            if len({one["arch"] or usual.get(one["dataset"]) for one in (a, b)}) > 1:
                continue
            pairs += 1
            gains = [float(a[key]) - float(b[key]) for key in ("acr", "p_a_0.75")]
            reversals += gains[0] * gains[1] < 0
    assert f"they hold {pairs:,} pairs" in sentences(*kept)[0]
    assert f"{reversals:,} of {pairs:,} ({100 * reversals / pairs:.0f}%) at x = 0.75" in sentences(*kept)[1]


def test_the_seven_logs_of_the_acr_paper_show_what_it_says(kept: tuple[list[Row], dict[str, Any]]) -> None:
    (ours,) = [row for row in kept[0] if row["path"] == "data/certify/cifar10/ours/noise_0.5.tsv"]
    assert (ours["method"], ours["paper_table"], ours["paper_says"]) == ("amplify", "acr/table2", "as printed")
    assert ours["gaussian"] == "eth-sri/acr-weakness/data/certify/cifar10/gaussian/noise_0.5.tsv"
    assert ours["outcome"] == "crosses" and round(ours["acr"], 3) == ours["paper_acr"] == 0.76
    mine = [p for p in pairs_of(*kept) if {p.ahead["path"], p.behind["path"]} == {ours["path"], ours["gaussian"][21:]}]
    assert [(pair.ahead["method"], pair.reversed, pair.shown) for pair in mine] == [
        ("amplify", (True, True, False), (True, True, False))  # they cross at r = 0.375, where p_A is 0.77
    ]


@pytest.mark.slow
def test_the_kept_figures_are_those_of_the_logs(
    logs: Path, kept: tuple[list[Row], dict[str, Any]], tmp_path: Path
) -> None:
    rows, curves = judge_folders([logs])
    (tmp_path / "again.csv").write_text(write_csv(rows))
    again = read_csv(tmp_path / "again.csv")
    assert len(again) == len(kept[0])
    for one, other in zip(again, kept[0], strict=True):
        for column in COLUMNS:  # another processor adds up in another order
            same = one[column] == other[column] or math.isclose(one[column], other[column], rel_tol=1e-9)
            assert same, (one["path"], column)
    drawn = json.loads(write_json(curves))
    assert {key: value for key, value in drawn.items() if key != "groups"} == {
        key: value for key, value in kept[1].items() if key != "groups"
    }
    for here, there in zip(drawn["groups"], kept[1]["groups"], strict=True):
        assert here["logs"] == there["logs"] and here["both"] == there["both"]
        assert here["spread"] == pytest.approx(there["spread"], abs=1)


def clone(folder: Path, name: str) -> Path:
    """A folder that says which repository it is a clone of, under a name of its own."""
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "config").write_text(f"url = https://github.com/{name}.git")
    return folder


def put(radii: list[float], path: Path) -> None:
    """A log as they are released: three digits of each radius."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [f"{i}\t0\t{0 if r else -1}\t{r:.3g}\t{int(r > 0)}\t0:00:01" for i, r in enumerate(radii)]
    path.write_text("\n".join(["idx\tlabel\tpredict\tradius\tcorrect\ttime", *lines, ""]))


FAR = [1.91, 1.91, 0.3, 0.6, 0.0, 1.2]  # 1.91 at sigma 0.5 is the most that n 100,000 certify at alpha 0.001


def test_clones_are_judged_wherever_they_lie(tmp_path: Path) -> None:
    mine = clone(tmp_path / "mine", "locuslab/smoothing")
    put(FAR, mine / COHEN / "noise_0.50/test/sigma_0.50")
    put(FAR[::-1], mine / COHEN / "noise_0.25/test/sigma_0.50")
    (mine / "data/predict").mkdir()
    (mine / "data/predict/log").write_text("idx\tlabel\tpredict\tcorrect\ttime\n0\t1\t1\t1\t0:00:01\n")
    (mine / "data/broken.tsv").write_text("idx\tlabel\tpredict\tradius\tcorrect\ttime\n0\t1\t1\tfar\t1\t0:00:01\n")
    rows, curves = judge_folders([mine])
    told = {row["path"]: row for row in rows if row["status"] != "not here"}
    matched, other = (told[f"{COHEN}/noise_{sigma}/test/sigma_0.50"] for sigma in ("0.50", "0.25"))
    assert {row["repository"] for row in told.values()} == {"locuslab/smoothing"}
    assert (matched["listed"], matched["n"], matched["images"], matched["trained_sigma"]) == ("yes", 100_000, 6, 0.5)
    assert matched["verdict"] == "is the Gaussian model" and other["gaussian"].endswith("noise_0.50/test/sigma_0.50")
    assert told["data/predict/log"]["status"] == "predictions"
    assert told["data/broken.tsv"]["status"] == "refused" and str(tmp_path) not in told["data/broken.tsv"]["reason"]
    assert sum(row["listed"] == "yes" for row in rows) == RELEASED  # as the last figures list them
    assert len(curves["groups"]) == 1 and not pairs_of(*reread(rows, curves, tmp_path))  # of one method


def reread(rows: list[Row], curves: dict[str, Any], folder: Path) -> tuple[list[Row], dict[str, Any]]:
    (folder / "rows.csv").write_text(write_csv(rows))
    return read_csv(folder / "rows.csv"), json.loads(write_json(curves))


def test_pairs_hold_what_the_tables_themselves_show(tmp_path: Path) -> None:
    paths = [tmp_path / "cifar10-sigma0.5" / f"{name}.tsv" for name in ("gaussian", "macer")]
    put(FAR, paths[0])
    put([1.91, 1.91, 0.0, 1.8, 0.4, 1.7], paths[1])
    rows, curves = judge_folders([tmp_path])
    tables = [infer(read(path), path) for path in paths]
    (group,) = curves["groups"]
    shares = [metrics.p_a(table) for table in tables]
    assert group["both"] == [[int((shares[0].at_least(x) & shares[1].at_least(x)).sum())] for x in LEVELS]
    gain = tables[0].radius - tables[1].radius
    assert group["spread"] == pytest.approx([1e4 * gain.std()], abs=1)
    (pair,) = pairs_of(*reread(rows, curves, tmp_path))
    assert pair.ahead["method"] == "macer" and not any(pair.reversed) and not any(pair.shown)


def judged(path: str, radii: list[float], repository: str = "jh-jeong/smoothing-consistency") -> Judged:
    place = Place(repository, path)
    return judge(place, infer(from_radii(radii), place.filed, sigma=0.5, n=1000, alpha=0.001))


def test_the_gaussian_model_is_of_the_same_network_and_the_middle_run() -> None:
    runs = [judged(f"data/certify/mnist/cohen/noise_0.50_{run}", [0.1] * run + [0.0] * (9 - run)) for run in (2, 9, 5)]
    elsewhere = judged("data/certify/mnist/noise_0.50/test/sigma_0.50", [0.1] * 9, "locuslab/smoothing")
    one = judged("data/certify/mnist/consistency/cohen/num_2/lbd_5.0/eta_0.5/noise_0.50_1", [0.2] * 9)
    assert reference_of(one, [one, elsewhere, *runs]) is runs[2]
    assert reference_of(one, [one, elsewhere]) is elsewhere
    small = judged("data/certify/cifar10/cohen/cifar_resnet20/noise_0.50_1", [0.1] * 9)
    other = judged(
        "data/certify/cifar10/consistency/cohen/num_2/lbd_5.0/eta_0.5/cifar_densenet40/noise_0.50", [0.1] * 9
    )
    assert reference_of(other, [other, small]) is None and reference_of(small, [other, small]) is small


def test_folders_without_a_log_are_refused_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(InputError, match="no log below"):
        judge_folders([tmp_path])
    before = page.CSV.stat().st_mtime_ns
    assert main([str(tmp_path / "nowhere")]) == 2 and "nowhere is no folder" in capsys.readouterr().err
    monkeypatch.delenv("RANDSMOOTH_DATA", raising=False)
    assert main([]) == 2 and "make field CLONES=" in capsys.readouterr().err
    assert page.CSV.stat().st_mtime_ns == before


def test_curves_of_one_log_read_off_its_quantiles() -> None:
    one = judged("data/certify/mnist/cohen/noise_0.50_1", [0.05 * i for i in range(1, 21)])
    (known,) = curves_of([one])["p_a"]
    assert len(known) == 99
    assert known[49] / 1e4 == pytest.approx(metrics.p_a_quantiles(one.table, [0.5])[0.5].value, abs=5e-5)
