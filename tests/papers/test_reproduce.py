"""`reproduce` from certificates at hand: tables, figures, what is missing; and each method at its best sigma."""

import shlex
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from models.refusing import refusal
from papers.logs import HEAD, log
from randsmooth import certify, models
from randsmooth.cli.printed_commands import command_of
from randsmooth.cli.settings import Settings
from randsmooth.cli.verbs.reproduce import listing, result_lines
from randsmooth.models import Classifier
from randsmooth.papers.cell_comparison import agreement_of, compare_cells, findings
from randsmooth.papers.drawings import FORMULAS, OF_ROWS, notes_on
from randsmooth.papers.find_certificates import certificates_for, scan_folder
from randsmooth.papers.from_models import _history
from randsmooth.papers.objects import OBJECTS, Drawing, find_object
from randsmooth.papers.published_values import Printed
from randsmooth.papers.published_values import cells as published_cells
from randsmooth.papers.reproduction import reproduce
from randsmooth.papers.row_evidence import evidence_of, gather
from randsmooth.papers.rows import PaperRow, rows_of
from randsmooth.papers.runs import SCALES, steps_for
from randsmooth.training import PRESETS


def test_table_2_from_the_published_logs(logs: Path, tmp_path: Path) -> None:
    result = reproduce("acr/table2", source=logs / "cifar10-sigma0.5", out=tmp_path)
    assert result.made is not None
    data = pd.read_csv(tmp_path / "acr-table2.csv").dropna(subset=["here"])
    assert set(data["sigma"]) == {0.5} and len(data) == 7 * 12
    another = data["method"].isin(
        ["gaussian", "smoothadv"]
    )  # the released logs are of other runs
    rest = data[~another]
    assert rest.loc[rest["metric"] == "acr", "difference"].abs().max() < 0.001
    assert rest.loc[rest["metric"] != "acr", "difference"].abs().max() < 0.1
    said = [note for note in result.made.notes if "differs" in note]
    assert [note.split(" at sigma 0.5 differs in ")[0] for note in said] == [
        "gaussian",
        "smoothadv",
    ]
    assert all("the released log is not the run of the table" in note for note in said)
    for suffix in ("txt", "md"):
        assert (
            "not the run of the table"
            in (tmp_path / f"acr-table2.{suffix}").read_text()
        ), suffix
    typeset = (tmp_path / "acr-table2.tex").read_text()
    assert "\\caption{Certified accuracy and ACR on CIFAR-10" in typeset
    assert "\\toprule" in typeset
    assert "not the run of the table" not in typeset
    gaussian = data[(data["method"] == "gaussian") & (data["metric"] == "acr")].iloc[0]
    assert (gaussian["published"], round(gaussian["here"], 3)) == (0.562, 0.571)
    assert result.missing == (16, 21)  # of two there are only logs of other runs
    text = "\n".join(result_lines(result))
    assert "only logs of other runs: gaussian, smoothadv at sigma 0.5" in text
    assert (
        "missing: 16 of 21 models" in text
        and "\n5 of 21 rows; 45 of 45 cells as printed" in text
    )
    assert (
        "  0.5 macer       paper      10,000  0.680 64.7" in text
        and "here       10,000  0.680 64.7" in text
    )  # of 6,465
    assert (
        text.count("randsmooth train") + text.count("randsmooth certify") == 3
        and "and 29 more: --format" in text
    )
    assert "all: sigma, data set and method as the path says" in result.made.notes
    text = "\n".join(command_of(step) for step in result.steps)
    assert (
        "--sigma 0.5 --preset acr/smoothadv" in text
        and "--sigma 0.5 --preset acr/amplify" not in text
    )
    assert {path.name for path in result.files} == {
        f"acr-table2.{suffix}" for suffix in ("txt", "md", "tex", "csv")
    }


def test_figures_from_the_published_logs(logs: Path, tmp_path: Path) -> None:
    for name in ("acr/figure3", "acr/figure6", "acr/budget"):
        result = reproduce(name, source=logs / "cifar10-sigma0.5", out=tmp_path)
        assert result.made is not None, name
        shown = [panel for panel in result.made.panels[""] if "0.5" in panel.title]
        assert {line.name for line in shown[0].lines} >= {
            "gaussian",
            "amplify",
            "cat-rs",
        }, name
        sizes = [
            path.stat().st_size
            for path in result.files
            if path.suffix in (".png", ".pdf", ".html")
        ]
        assert min(sizes) > 5000, name


def test_a_log_that_tells_no_p_a_is_named_and_missing(tmp_path: Path) -> None:
    log(
        tmp_path / "cifar10-sigma1" / "gaussian.tsv", [1.2] * 3 + [0.3, -0.1]
    )  # n unknown
    log(tmp_path / "cifar10-sigma0.5" / "gaussian.tsv", [1.91, 1.91, -0.5])
    for name in ("acr/figure3", "acr/budget"):
        result = reproduce(name, source=tmp_path, out=tmp_path / "out")
        assert result.made is not None and result.missing == (20, 21), name
        notes = [note for note in result.made.notes if "not drawn" in note]
        assert notes == [
            "gaussian at sigma 1 is not drawn: a published log does not say its n, alpha"
        ], name
        assert [
            row.sigma for row in result.lacking["certificates that do not tell p_A"]
        ] == [1.0], name
        assert any(
            "* images here, 10,000 in the paper" in note for note in result.made.notes
        ), name


def test_every_object_has_rows_that_presets_train() -> None:
    assert len({thing.name for thing in OBJECTS}) == len(OBJECTS) >= 45
    known, listed = {preset.name for preset in PRESETS}, "\n".join(listing())
    for thing in OBJECTS:
        assert {row.preset for row in thing.rows()} <= known, thing.name
        assert (thing.drawing in FORMULAS) == (not thing.rows()), thing.name
        assert thing.name in listed
    assert {*FORMULAS, *OF_ROWS} == {thing.drawing for thing in OBJECTS} == {*Drawing}


def test_what_is_missing_is_told_as_commands_that_parse() -> None:
    from randsmooth.cli.verbs.certify import Certify
    from randsmooth.cli.verbs.train import Train

    settings: dict[str, type[Settings]] = {"train": Train, "certify": Certify}
    for thing in OBJECTS:
        for row in thing.rows():
            for scale in SCALES.values():
                for step in steps_for(row, scale, Path("runs")):
                    words = shlex.split(command_of(step))
                    assert (
                        words[:2] == ["randsmooth", step.verb]
                        and words[-1] == "--resume"
                    )
                    flags = {
                        word[2:].replace("-", "_")
                        for word in words
                        if word.startswith("--")
                    }
                    assert flags <= {*settings[step.verb].model_fields}


def test_rows_of_the_released_code_get_a_teacher_first() -> None:
    row = next(
        row
        for row in rows_of("acr", "table2")
        if row.method == "cat-rs" and row.sigma == 1.0
    )
    first, second, third = (
        command_of(step) for step in steps_for(row, SCALES["paper"], Path("runs"))
    )
    assert "--sigma 0.25 --preset acr/gaussian" in first
    assert "--set teacher=runs/cifar10-acr-gaussian-0.25" in second
    assert third.startswith("randsmooth certify runs/cifar10-acr-cat-rs-1 ")


def with_accuracies(
    path: Path, shares: dict[float, float], images: int, top: float
) -> Path:
    """A log of `images` images, of which so many percent hold each radius; the last of them hold `top`."""
    radii: list[float] = []
    for (r, share), after in zip(shares.items(), [*[*shares][1:], top], strict=True):
        kept = round(images * shares.get(after, 0.0) / 100.0)
        radii += [max(r, 0.001) if after != top else top] * (
            round(images * share / 100.0) - kept
        )
    return log(
        path, {20 * i: r for i, r in enumerate(radii + [-0.3] * (images - len(radii)))}
    )


def row_of(paper: str, name: str, method: str, sigma: float) -> PaperRow:
    (row,) = (
        row
        for row in rows_of(paper, name)
        if (row.method, row.sigma) == (method, sigma)
    )
    return row


def percents(row: PaperRow) -> dict[float, float]:
    """What the row prints above 0: radius -> certified accuracy in percent."""
    return {
        float(m.removeprefix("accuracy@")): v
        for m, v in row.figures.items()
        if m != "acr" and v > 0.0
    }


def without_acr(row: PaperRow) -> PaperRow:
    return replace(row, figures={m: v for m, v in row.figures.items() if m != "acr"})


def test_whole_percents_are_judged_as_whole_percents(tmp_path: Path) -> None:
    row = row_of("macer", "table1", "smoothadv", 0.5)
    shares = percents(row)
    near = {r: v + (0.4 if i % 2 else -0.4) for i, (r, v) in enumerate(shares.items())}
    path = with_accuracies(
        tmp_path / "cifar10-sigma0.5" / "smoothadv.tsv", near, 500, 1.91
    )
    (found,) = scan_folder(tmp_path).found
    printed_as = without_acr(row)
    off = agreement_of(printed_as, found).differences
    assert findings(compare_cells([printed_as], [found])) == []
    assert max(abs(d) for d in off.values()) == pytest.approx(0.4)
    with_accuracies(path, near | {0.25: shares[0.25] + 0.6}, 500, 1.91)
    (finding,) = findings(compare_cells([printed_as], scan_folder(tmp_path).found))
    assert finding == "smoothadv at sigma 0.5 differs in 1 of 8 cells (0.25 +0.6)"


def test_zeros_beyond_the_largest_radius_count_for_nothing(tmp_path: Path) -> None:
    log(tmp_path / "cifar10-sigma0.5" / "gaussian.tsv", [1.91] * 4 + [-0.1] * 6)
    (found,) = scan_folder(tmp_path).found
    zeros = {
        f"accuracy@{r}": 0.0 for r in (2.0, 2.25, 2.5, 2.75)
    }  # out of reach: 1.906 is the most
    figures = {"accuracy@0": 40.0, "accuracy@0.5": 39.0, "accuracy@1": 41.0} | zeros
    row = PaperRow(
        paper="acr",
        dataset="cifar10",
        sigma=0.5,
        method="gaussian",
        setting="",
        preset="acr/gaussian",
        figures=figures,
        decimals=dict.fromkeys(figures, 1),
        images=10,
    )
    (finding,) = findings(compare_cells([row], [found]))
    assert (
        "differs in 2 of 3 cells: the released log is not the run of the table"
        in finding
    )  # 2 of 7 told nothing
    wide_apart = replace(
        row,
        figures=figures | {"accuracy@2": 3.0},
        decimals=row.decimals | {"accuracy@2": 1},
    )
    assert (
        "3 of 4 cells" in findings(compare_cells([wide_apart], [found]))[0]
    )  # the paper says otherwise: that is told


def test_other_images_are_counted_and_marked(tmp_path: Path) -> None:
    row = row_of("acr", "table2", "gaussian", 0.5)
    near = {r: v + 2.0 for r, v in percents(row).items()}
    with_accuracies(tmp_path / "cifar10-sigma0.5" / "gaussian.tsv", near, 500, 1.91)
    result = reproduce("acr/table2", source=tmp_path, out=tmp_path / "out")
    assert result.made is not None
    table = result.made.tables[""]
    lines = table[table["sigma"].eq("0.5") & table["method"].eq("gaussian")].index[0]
    assert table["images"].iloc[lines : lines + 2].tolist() == ["10,000", "500*"]
    (note,) = (note for note in result.made.notes if "images here" in note)
    assert note.startswith(
        "gaussian at sigma 0.5: 500* images here, 10,000 in the paper"
    )
    assert not any(
        "not the run of the table" in note for note in result.made.notes
    )  # other images, not another run
    assert result.missing == (20, 21)
    data = pd.read_csv(tmp_path / "out" / "acr-table2.csv").dropna(subset=["here"])
    assert set(data["published_images"]) == {10_000} and set(data["images"]) == {500}


def test_chance_is_taken_into_account_where_the_images_are_others(
    tmp_path: Path,
) -> None:
    """500 images' 99% interval is up to 5.8 points to each side: 8 points are too many, whichever table is smaller."""
    for paper, object, images in (("acr", "table2", 500), ("macer", "table1", 10_000)):
        row = row_of(paper, object, "gaussian", 0.5)
        folder = tmp_path / paper
        far = {r: v + 8.0 for r, v in percents(row).items()}
        with_accuracies(
            folder / "logs" / "cifar10-sigma0.5" / "gaussian.tsv", far, images, 1.91
        )
        result = reproduce(
            f"{paper}/{object}", source=folder / "logs", out=folder / "out"
        )
        assert (
            result.made is not None and result.missing[0] == result.missing[1]
        )  # shown, and missing still
        assert (
            "by more than rounding and chance: the released log is not the run of the table"
            in result.made.notes[0]
        )
        assert f"--sigma 0.5 --preset {paper}/gaussian" in "\n".join(
            command_of(step) for step in result.steps
        )


def test_a_log_of_another_run_is_not_shown_over_one_that_agrees(tmp_path: Path) -> None:
    row = row_of("acr", "table2", "smoothadv", 0.5)
    shares = percents(row)
    more = {r: v + 2 for r, v in shares.items()}
    with_accuracies(tmp_path / "cifar10-sigma0.5" / "smoothadv.tsv", more, 10_000, 1.91)
    with_accuracies(
        tmp_path / "a" / "cifar10" / "salman" / "noise_0.5.tsv", shares, 500, 1.91
    )
    own = with_accuracies(
        tmp_path / "b" / "cifar10" / "salman" / "noise_0.5.tsv", shares, 10_000, 1.91
    )
    printed_as, scanned = without_acr(row), scan_folder(tmp_path).found
    paper = SCALES["paper"]
    thing = find_object("acr/table2")
    (evidence,) = evidence_of(thing, [printed_as], scanned, paper, tmp_path / "runs")
    assert len(scanned) == 3 and len(evidence.others) == 2
    assert evidence.found is not None and evidence.found.path == own
    assert not evidence.lack
    (note,) = (note for note in notes_on([evidence]) if "files that fit" in note)
    assert "smoothadv.tsv" in note
    # These show the runs of the table.
    for name in ("acr/figure3", "acr/figure6", "acr/section7", "acr/budget"):
        rows = [
            row
            for row in find_object(name).rows()
            if (row.method, row.sigma) == ("smoothadv", 0.5)
        ]
        (same,) = evidence_of(
            find_object(name), rows, scanned, paper, tmp_path / "runs"
        )
        assert same.found is not None and same.found.path == own, name
    filed = [
        found
        for found in scanned
        if found.place is not None and found.place.filed_by_user
    ]
    (only,) = evidence_of(thing, [printed_as], filed, paper, tmp_path)
    assert only.found is not None and only.lack


def test_500_images_are_where_every_share_is_a_multiple_of_a_fifth() -> None:
    texts = pd.DataFrame(published_cells(), columns=list(Printed._fields))
    cells = texts.query(
        "metric.str.startswith('accuracy') and value.str.contains('.', regex=False)"
    )
    fifths = (
        cells.assign(even=cells["value"].str[-1].astype(int) % 2 == 0)
        .groupby(["paper", "object"])["even"]
        .all()
    )
    of_500 = {
        key
        for key, all_even in fifths.items()
        if all_even and key != ("cat-rs", "section4.2")
    }
    assert of_500 == {("cat-rs", f"table{i}") for i in (3, 5, 6, 7)}
    assert {key for key in fifths.index if rows_of(*key)[0].images == 500} == of_500


def test_a_scan_names_what_it_cannot_read_and_goes_on(tmp_path: Path) -> None:
    log(tmp_path / "cifar10-sigma0.5" / "gaussian.tsv", [1.91, 1.91, -0.5])
    log(tmp_path / "cifar10-sigma0.5" / "macer.tsv", [0.5] * 3)
    damaged = tmp_path / "cifar10-sigma0.5" / "cat-rs.tsv"
    damaged.write_text(HEAD + "0\t1\t1\tfar\t1\t0:00:01\n")
    (tmp_path / "predictions").write_text(
        "idx\tlabel\tpredict\tcorrect\ttime\n0\t1\t1\t1\t0:00:01\n"
    )
    for i in range(5):
        log(tmp_path / "cohen" / f"{i}.tsv", [0.5])
    result = reproduce("acr/table2", source=tmp_path, out=tmp_path / "out")
    assert result.missing == (19, 21)
    said = "\n".join(result.skipped)
    assert f"skipped: {damaged}, line 2: radius='far'" in said
    assert (
        f"skipped as logs of predictions, which certify nothing: {tmp_path / 'predictions'}"
        in said
    )
    assert "and 2 more: nothing says the data set and sigma" in said


def test_of_released_logs_only_those_of_a_rows_settings_are_drawn(
    tmp_path: Path,
) -> None:
    mnist = tmp_path / "mnist" / "consistency" / "cohen"
    for place in (
        "lbd_5.0/eta_0.5/noise_0.50_1",
        "lbd_5.0/eta_0.5/noise_0.50_2",
        "lbd_10.0/noise_0.50_0",
    ):
        log(mnist / "num_2" / place, [1.91] * 3)
    for place in (
        "cohen/cifar_resnet20/noise_0.50_7",
        "cohen/noise_0.25/test/sigma_0.50",
        "cohen/train/sigma_0.50",
    ):
        log(tmp_path / "cifar10" / place, [1.91] * 3)
    found = scan_folder(tmp_path).found
    assert len(found) == 6
    fit = certificates_for(
        found, row_of("cat-rs", "table1", "consistency", 0.5), "mnist"
    )
    assert sorted(f.path.name for f in fit) == ["noise_0.50_1", "noise_0.50_2"]
    assert (
        certificates_for(found, row_of("cat-rs", "table2", "gaussian", 0.5), "cifar10")
        == []
    )
    result = reproduce("cat-rs/table1", source=tmp_path, out=tmp_path / "out")
    assert result.made is not None
    assert any(
        "is shown of 2 files that fit; the others: noise_0.50_" in note
        for note in result.made.notes
    )


def test_another_alpha_is_told_beside_the_figures(tmp_path: Path) -> None:
    rows = [3.91] * 5 + [3.82, 2.5, 0.00214, -0.1]
    log(tmp_path / "imagenet-sigma1" / "gaussian.tsv", rows)
    result = reproduce("acr/imagenet", source=tmp_path, out=tmp_path / "out")
    assert result.made is not None
    (note,) = (note for note in result.made.notes if "re-bound" in note)
    assert note.startswith(
        "gaussian at sigma 1: made at alpha 0.01, re-bound at 0.001: ACR 2."
    )
    here = (
        pd.read_csv(tmp_path / "out" / "acr-imagenet.csv")
        .query("metric == 'acr'")["here"]
        .dropna()
        .iloc[0]
    )
    assert (
        f"ACR {here:.3f}, as logged {sum(r for r in rows if r > 0) / len(rows):.3f}"
        in note
    )


OF_FORMULAS = [thing.name for thing in OBJECTS if not thing.rows()]


def test_formulas_need_nothing_and_write_their_numbers(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    for name in OF_FORMULAS:
        result = reproduce(name, source=tmp_path / "logs", out=tmp_path)
        assert result.made is not None and (
            result.missing,
            result.steps,
            result.skipped,
        ) == ((0, 0), (), ()), name
        told = [pd.read_csv(path) for path in result.files if path.suffix == ".csv"]
        drawn = [
            line for panel in result.made.panels.get("", []) for line in panel.lines
        ]
        for frame in result.made.tables.values():
            assert any(
                len(csv) == len(frame) and [*csv.columns] == [*frame.columns]
                for csv in told
            ), name
        if drawn:
            (csv,) = (csv for csv in told if "line" in csv.columns)
            for axis in ("x", "y"):
                points = np.concatenate(
                    [np.asarray(getattr(line, axis)) for line in drawn]
                )
                assert csv[axis].tolist() == pytest.approx(
                    points.tolist(), rel=1e-12
                ), name
        assert told, name


def test_what_training_took_stands_beside_the_paper_s(tmp_path: Path) -> None:
    """Of a row whose model is at hand: of table 8, the one of 150 epochs at sigma 0.25."""
    row = next(row for row in rows_of("macer", "table8") if row.setting == "150-epochs")
    model_folder = tmp_path / "tiny" / SCALES["tiny"].model_folder_name(row)
    provenance = {
        "dataset": "digits",
        "sigma": row.sigma,
        "method": "macer",
        "preset": row.preset,
    }
    model = Classifier(
        arch="small-cnn",
        classes=list("0123456789"),
        shape=[1, 8, 8],
        provenance=provenance,
    ).eval()
    models.save(model, model_folder)
    pd.DataFrame({"epoch": [1, 2], "seconds": [1000.0, 800.0]}).to_csv(
        model_folder / "history.csv", index=False
    )
    certify(
        model,
        "digits",
        sigma=row.sigma,
        take=4,
        n0=10,
        n=100,
        out=model_folder.with_suffix(".25.parquet"),
    )
    result = reproduce("macer/table8", out=tmp_path, scale="tiny")
    told = pd.read_csv(tmp_path / "macer-table8.csv").dropna(subset=["here"])
    told = told[told["metric"].isin(["epochs", "hours"])].set_index("metric")
    assert told["here"].to_dict() == {"epochs": 2.0, "hours": 0.5}
    assert told["published"].to_dict() == {"epochs": 150.0, "hours": 21.0}
    assert (
        result.made is not None
        and "times are of the machine that trained" in result.made.notes
    )
    here = result.made.tables[""].query("sigma == '' and hours == '0.50'")
    assert here["epochs"].tolist() == ["2"]


def test_a_run_cut_short_before_its_certificates_has_them_left_to_make(
    tmp_path: Path,
) -> None:
    # It needs a model, and can be drawn without certificates.
    thing = find_object("acr/figure5")
    nothing = gather(thing, None, tmp_path, "tiny")
    assert nothing.missing == nothing.unfinished == [*nothing.rows]
    model = tmp_path / "tiny" / SCALES["tiny"].model_folder_name(thing.rows()[0])
    model.mkdir(parents=True)
    (model / "config.json").touch()
    uncertified = gather(thing, None, tmp_path, "tiny")
    assert uncertified.missing == []
    assert uncertified.unfinished == [*uncertified.rows]


@pytest.mark.slow
def test_an_object_is_made_whole_and_not_made_again(tmp_path: Path) -> None:
    first = reproduce("acr/c1", out=tmp_path, scale="tiny", run_missing=True)
    logs = {path: path.read_bytes() for path in tmp_path.glob("tiny/*.log")}
    assert first.missing == (0, 3) and len(logs) == 6
    again = reproduce("acr/c1", out=tmp_path, scale="tiny", run_missing=True)
    assert again.missing == (0, 3) and all(
        path.read_bytes() == said for path, said in logs.items()
    )
    data = pd.read_csv(tmp_path / "acr-c1.csv")
    assert data["here (%)"].between(0, 100).all()


@pytest.mark.slow
def test_every_object_at_the_smallest_scale(tmp_path: Path) -> None:
    for thing in OBJECTS:
        result = reproduce(thing.name, out=tmp_path, scale="tiny", run_missing=True)
        assert result.missing[0] == 0 and result.made is not None, thing.name
        assert result.files and all(path.stat().st_size > 0 for path in result.files), (
            thing.name
        )
        for panels in result.made.panels.values():
            assert panels and all(panel.lines for panel in panels), thing.name
        for frame in result.made.tables.values():
            rows = find_object(
                thing.name
            ).rows()  # section 7 has a line a method, whatever its sigma
            lines = (
                {row.method for row in rows} if thing.name == "acr/section7" else rows
            )
            assert len(frame) >= len(lines), thing.name


def test_a_history_that_is_none_is_named(tmp_path: Path) -> None:
    header = b"epoch,seconds\n"
    bad = (
        None,
        b"",
        b"\xff\xfe\xfd",
        b'epoch,seconds\n"0,1',
        b"epoch,loss\n0,1\n",
        header,
        header + b"0,long\n",
    )
    for content in bad:
        if content is not None:
            (tmp_path / "history.csv").write_bytes(content)
        assert "history.csv" in refusal(lambda: _history(tmp_path))


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    tmp_path = tmp_path_factory.mktemp("section7")
    log(
        tmp_path / "logs" / "cifar10-sigma0.25" / "macer.tsv",
        {0: 0.7, 1: 0.7, 2: 0.3, 3: -0.1, 4: 0.9},
    )
    log(
        tmp_path / "logs" / "cifar10-sigma1" / "macer.tsv",
        {0: 2.6, 1: 1.1, 2: -0.5, 3: -0.5},
    )
    log(tmp_path / "logs" / "cifar10-sigma0.5" / "gaussian.tsv", {0: 1.2, 1: -0.2})
    log(tmp_path / "logs" / "cifar10-sigma1" / "gaussian.tsv", {2: 1.2, 3: -0.2})
    result = reproduce("acr/section7", source=tmp_path / "logs", out=tmp_path / "out")
    assert result.made is not None
    notes = result.made.notes
    assert "no one classifier's certified accuracy" in notes[0]
    assert "macer: over the 4 images that its tables share" in notes
    assert "macer: here without sigma 0.5" in notes
    assert (
        "gaussian at sigma 1: the released log is not the run of the paper's table 2"
        not in notes
    )  # 2 images
    assert any(
        note.startswith("gaussian is left out:") and "share no image" in note
        for note in notes
    )
    assert all(path.stat().st_size > 0 for path in result.files)
    drawn = pd.read_csv(tmp_path / "out" / "acr-section7-figure.csv")
    assert {"staircase", "points, behind"} == set(drawn["drawn"])
    assert "38.9 (0.5)" in (tmp_path / "out" / "acr-section7.txt").read_text()
    for suffix in ("txt", "md"):
        sheet = (
            (tmp_path / "out" / f"acr-section7.{suffix}").read_text().replace("\\", "")
        )  # escapes
        assert (
            "no one classifier's certified accuracy" in sheet
            and "macer: here without sigma 0.5" in sheet
        )
        assert "10,000" in sheet and "4*" in sheet  # images: the paper's, and ours
    return pd.read_csv(tmp_path / "out" / "acr-section7.csv").set_index(
        ["method", "radius"]
    )


@pytest.mark.slow
def test_here_it_is_the_best_of_the_tables(told: pd.DataFrame) -> None:
    macer = told.loc["macer"]
    assert macer["here"].tolist() == [
        75.0,
        75.0,
        50.0,
        50.0,
        50.0,
        25.0,
        25.0,
        25.0,
        25.0,
        25.0,
        25.0,
    ]
    assert macer["here sigma"].tolist() == [0.25, 0.25, 0.25, 1, 1, 1, 1, 1, 1, 1, 1]
    assert set(macer["images"]) == {4}
    assert told.loc["gaussian", "here"].isna().all()


def test_of_the_paper_it_is_the_best_of_table_2(told: pd.DataFrame) -> None:
    """Cells of table 2 read off again."""
    for key, accuracy, sigma in (
        (("gaussian", 0.0), 81.3, 0.25),
        (("gaussian", 0.75), 34.0, 0.5),
        (("amplify", 1.0), 38.9, 0.5),
        (("amplify", 1.75), 23.1, 1.0),
        (("cat-rs", 2.5), 14.2, 1.0),
    ):
        assert told.loc[key, ["published", "published sigma"]].tolist() == [
            accuracy,
            sigma,
        ]


def test_beyond_what_the_sigmas_at_hand_certify_nothing_is_said(tmp_path: Path) -> None:
    """n 100,000 at alpha .001 and sigma 0.5 certify up to 1.906: at 2 nothing was measured."""
    log(
        tmp_path / "logs" / "cifar10-sigma0.5" / "macer.tsv",
        {0: 1.91, 1: 1.91, 2: 0.3, 3: -0.1},
    )
    log(
        tmp_path / "logs" / "cifar10-sigma0.5" / "gaussian.tsv",
        {0: 1.2, 1: 0.3, 2: -1.91, 3: -0.1},
    )
    result = reproduce("acr/section7", source=tmp_path / "logs", out=tmp_path / "out")
    assert result.made is not None
    assert "gaussian: here without sigma 0.25, 1" in result.made.notes
    data = pd.read_csv(tmp_path / "out" / "acr-section7.csv").set_index(
        ["method", "radius"]
    )["here"]
    assert data["macer"].loc[1.75] == 50.0 and data["macer"].loc[2.0:].isna().all()
    assert data["gaussian"].loc[1.75] == 0.0 and data["gaussian"].loc[2.0:].isna().all()
    table = result.made.tables[""]
    ours = table[table[""] == "here"].set_index(
        "method" if "method" in table else table.columns[0]
    )
    assert (ours[["2", "2.25", "2.5"]] == "-").all(axis=None) and ours.loc[
        "gaussian", "1.75"
    ] == "0.0"
    lines = {
        line.name: line for line in result.made.panels[""][0].lines if not line.dashed
    }
    assert (
        lines["macer"].y[-1] == 50.0 and lines["gaussian"].y[-1] == 0.0
    )  # one goes on, the other is measured 0
