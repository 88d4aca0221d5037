"""The command line, run in this process: what it prints, its exit codes, its configuration files."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml

from cli.processes import Run
from randsmooth import read
from randsmooth.certificates import write_parquet


def test_train_certify_evaluate_compare(cli: Run, tmp_path: Path) -> None:
    table, page = tmp_path / "gaussian.parquet", tmp_path / "report.html"
    words = (
        "--sigma",
        0.25,
        "--epochs",
        3,
        "--take",
        200,
        "--set",
        "lr=1e-2",
        "--set",
        "m=2",
    )
    trained = cli.done("train", "digits", *words, "--out", "m")
    assert (
        "lr 0.01" in trained.err
        and "certify it with: randsmooth certify m" in trained.err
    )
    assert yaml.safe_load((tmp_path / "m" / "run.yaml").read_text())["set"] == {
        "lr": 0.01,
        "m": 2,
    }
    cli.done("train", "--config", tmp_path / "m" / "run.yaml", "--out", "again")
    assert (tmp_path / "m" / "model.safetensors").read_bytes() == (
        tmp_path / "again/model.safetensors"
    ).read_bytes()
    cli.done(
        "certify",
        "m",
        "--take",
        10,
        "--n",
        200,
        "--out",
        table,
        "--save-config",
        "run.yaml",
    )
    cli.done("certify", "--config", "run.yaml", "--out", "b.parquet")
    a, b = read(table), read(tmp_path / "b.parquet")
    assert (
        len(a) == 10
        and a.header == b.header
        and np.array_equal(a.evidence()[1], b.evidence()[1])
    )
    assert json.loads(
        cli("evaluate", table, "--radii", "0,0.1", "--format", "json").out
    )
    cli.done(
        "compare",
        table,
        table,
        "--out",
        page,
        "--figures",
        "png,pdf",
        "--tables",
        "md,latex,csv",
    )
    curves = {
        f"report-{curve}.{kind}"
        for curve in ("radius", "p_A")
        for kind in ("png", "pdf")
    }
    tables = {"report.html", "report-table.md", "report-table.tex", "report-table.csv"}
    assert {path.name for path in tmp_path.glob("report*")} == tables | curves


def test_compare_shows_lost_images_where_the_data_is_at_hand(
    cli: Run, made: Path, tmp_path: Path
) -> None:
    full, page = read(made / "a.parquet"), tmp_path / "report.html"
    weaker = full.at(alpha=1e-15)  # certifies less
    write_parquet(weaker.renamed("weaker"), tmp_path / "weaker.parquet")
    shown = cli(
        "compare",
        made / "a.parquet",
        tmp_path / "weaker.parquet",
        "--baseline",
        "a",
        "--pictures",
        "--out",
        page,
    )
    assert shown.code == 0 and "no pictures" not in shown.err
    lost = [
        int(idx)
        for idx in re.findall(
            r'<img src="data:image/png;base64,[^"]*" alt="image (\d+),',
            page.read_text(),
        )
    ]
    gone = full.correct & ~weaker.correct
    assert len(lost) == min(12, gone.sum()) and set(lost) <= set(full.idx[gone])


def test_compare_does_without_pictures(
    cli: Run, made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RANDSMOOTH_DATA", str(tmp_path))
    table = read(made / "a.parquet")
    reasons: list[tuple[dict[str, object], str]] = [
        ({"dataset": None}, "no table says which data set"),
        ({"dataset": "cifar10"}, "set RANDSMOOTH_DATA"),
        ({"split": "train"}, "their labels differ"),
    ]
    for facts, reason in reasons:
        write_parquet(
            replace(table, header=table.header.replace(**facts)),
            Path("table.parquet"),
        )
        told = cli("compare", "table.parquet", "--pictures", "--overwrite")
        assert (
            told.code == 0 and "note: no pictures: " in told.err and reason in told.err
        ), reason
        assert "<img" not in Path("report.html").read_text()


def log(path: Path, rows: list[str]) -> Path:
    lines = [
        "idx\tlabel\tpredict\tradius\tcorrect\ttime",
        *(f"{row}\t0:00:01.5" for row in rows),
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_evaluate_judges_at_another_budget_and_export_rounds_down(
    cli: Run, made: Path
) -> None:
    def acr(*words: object) -> float:
        table = json.loads(
            cli("evaluate", made / "a.parquet", "--format", "json", *words).out
        )["tables"][0]
        return float(table["acr"]["value"])

    assert acr("--alpha", 1e-6) < acr() < acr("--alpha", 0.1) and acr("--n", 50) < acr()
    told = cli("export", made / "a.parquet", "--out", "a.tsv")
    assert told.code == 0 and told.out.strip() == "a.tsv"
    assert "--sigma 0.25 --n 500 --alpha 0.001" in told.err  # what the log does not say
    assert "has no counts: keep its own n and alpha" in cli.refused(
        "export", "a.tsv", "--n", 50, "--out", "c"
    )
    log, table = read("a.tsv"), read(made / "a.parquet")
    assert (log.radius <= table.radius).all() and abs(
        log.radius - table.radius
    ).max() < 1e-6
    for options in (
        ["--rule", "radius=0.1"],
        ["--bound", "two-sided"],
        ["--label-aware"],
    ):
        what = (
            "--take",
            "3",
            "--n",
            "500",
            *options,
            "--out",
            "b.parquet",
            "--overwrite",
        )
        cli.done("certify", made / "model", *what)
        error = cli.refused("export", "b.parquet")  # which a log cannot say
        assert (
            "keep the Parquet file, or certify by the rule fixed" in error
            and not Path("b.tsv").exists()
        ), options


BAD = {
    "train": "DATASET",
    "train digit --sigma 0.5": "digits",
    "certify {model} --alpha 2": "--alpha 2",
    "certify m --precision 31": "--precision: unknown precision '31': did you mean '32'",
    "completion tcsh": "SHELL: unknown shell 'tcsh'",
    "certify {tmp}/nothing": "nothing",
    "certify {model} --dataset mnits": "mnist",
    "certify {model} --out {table}": "--overwrite",
    "predict {model} {tmp}/nothing.png": "nothing.png",
    "evaluate {tmp}/nothing.parquet": "nothing.parquet",
    "evaluate": "FILES",
    "evaluate {table} --radii 0,much": "'much' must be a valid number",
    "evaluate {table} --sigma 0.3": "certified at sigma 0.25",
    "certify {model} --out {tmp}/a.tsv": ".parquet",
    "compare {table} --out {table}": "--overwrite",
    "export {log}": "--overwrite",
    "train digits --sgima 1": "--sigma",
    "train --config {tmp}/none.yaml": "none.yaml",
}


def test_bad_input_is_named_and_exits_with_2(
    cli: Run, made: Path, tmp_path: Path
) -> None:
    log(tmp_path / "log.tsv", ["0\t3\t3\t0.5\t1"])
    places = {
        "model": made / "model",
        "table": made / "a.parquet",
        "tmp": tmp_path,
        "log": tmp_path / "log.tsv",
    }
    cli.refuses({words.format(**places): named for words, named in BAD.items()})


YAML: list[tuple[str, str]] = [
    ("dataset: digits\nsigma: 0.5\nepoch: 3\n", "epochs"),
    ("verb: certify\nmodel: x\n", "randsmooth certify"),
    ("dataset: digits\nsigma: [1]\n", "--sigma"),
    (
        "dataset: digits\nsigma: 1\naccept-changes: true\naccept_changes: false\n",
        "with - and with _",
    ),
    ('dataset: digits\nsigma: 1\nout: "a\\0b"\n', "--out must not hold the character"),
    (
        "dataset: digits\nsigma: 0.5\nepochs: " + "9" * 60,
        "must be less than or equal to 1000000",
    ),
    (f"dataset: {'d' * 5000}\nsigma: 0.5\n", "cannot be read"),
    ("dataset: digits\nsigma: 0.5\nset: 2\n", "--set: 2 must be `key: value` pairs"),
    ("#" * 2**16 + "\n", "is 65,537 bytes long; expected at most 65,536"),
]


def test_a_configuration_that_cannot_be_is_named_and_exits_with_2(
    cli: Run, tmp_path: Path
) -> None:
    for text, named in YAML:
        (tmp_path / "run.yaml").write_text(text)
        error = cli.refused("train", "--config", tmp_path / "run.yaml")
        assert named in error and len(error) < 1000, text[:60]


def test_a_damaged_model_is_named_and_a_failure_exits_with_1(
    cli: Run, trained: Path
) -> None:
    weights = trained / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:1000])
    assert "model.safetensors" in cli.refused("certify", trained)
    told = cli(
        "train",
        "digits",
        "--sigma",
        0.5,
        "--epochs",
        1,
        "--set",
        "lr=1e30",
        "--out",
        "m",
    )
    assert told.code == 1 and "not finite" in told.err and "Traceback" not in told.err
    assert "--overwrite" in told.err
