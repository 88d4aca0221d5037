"""`randsmooth from-counts`, and `evaluate` of what an unfinished run has certified so far."""

import json
from pathlib import Path

import numpy as np

from cli.processes import Run
from randsmooth.certificates import from_counts, read

COUNTS = "idx,label,counts_0,counts_1,counts0_0,counts0_1\n0,0,990,10,99,1\n20,1,100,900,5,95\n40,1,600,400,60,40\n"


def test_a_file_of_counts_becomes_a_table_that_every_verb_reads(
    cli: Run, tmp_path: Path
) -> None:
    (tmp_path / "mine.csv").write_text(COUNTS)
    made = cli(
        "from-counts",
        "mine.csv",
        "--sigma",
        0.5,
        "--dataset",
        "mnist",
        "--split",
        "test",
    )
    assert (
        made.code == 0
        and "certificates in mine.parquet" in made.out
        and "another program's" in made.out
    )
    table = read(tmp_path / "mine.parquet")
    rows = np.array([[990, 10], [100, 900], [600, 400]])
    same = from_counts(
        rows,
        counts0=[[99, 1], [5, 95], [60, 40]],
        label=[0, 1, 1],
        idx=[0, 20, 40],
        sigma=0.5,
    )
    assert np.array_equal(table.radius, same.radius) and np.array_equal(
        table.idx, [0, 20, 40]
    )
    assert (table.header.dataset, table.header.source, table.header.seed) == (
        "mnist",
        "mine.csv",
        None,
    )
    verified = cli("verify", "mine.parquet", "--format", "json")
    (found,) = json.loads(verified.out)
    assert (
        found["state"] == "verified"
        and "not known are seed, model, images" in found["finding"]
    )
    cli.done("evaluate", "mine.parquet", "--alpha", 0.01)
    page = cli("compare", "mine.parquet", "--out", "page.html")
    assert (
        page.code == 0
        and "another program (mine.csv)" in (tmp_path / "page.html").read_text()
    )
    cli.done("export", "mine.parquet")


def test_what_cannot_be_is_refused_and_leaves_no_file(cli: Run, tmp_path: Path) -> None:
    cases: list[tuple[str | None, str, str]] = [
        (None, "--sigma 0.5", "no file at a.csv"),
        (COUNTS, "--sigma 0.5 --rule gird", "unknown rule 'gird'"),
        (COUNTS, "--sigma 0.5 --n 7", "from 7 to 1,000 samples"),
        (COUNTS, "--sigma 0.5 --out a.tsv", "must end in .parquet"),
        (COUNTS.partition("\n")[0] + "\n", "--sigma 0.5", "counts has shape (0, 2)"),
    ]
    for text, words, message in cases:
        if text is not None:
            Path("a.csv").write_text(text)
        assert message in cli.refused("from-counts", "a.csv", *words.split()), words
        assert {path.name for path in tmp_path.iterdir()} <= {"a.csv"}
    Path("a.csv").write_text(COUNTS)
    cli.done("from-counts", "a.csv", "--sigma", 0.5)
    assert "a.parquet exists" in cli("from-counts", "a.csv", "--sigma", 0.25).err
    cli.done("from-counts", "a.csv", "--sigma", 0.25, "--overwrite")
    assert read("a.parquet").header.sigma == 0.25


def test_an_unfinished_run_is_judged_and_says_how_far_it_is(
    cli: Run, tmp_path: Path
) -> None:
    from certificates.test_journal import written
    from certificates.walks import HEADER, table_of

    written(
        table_of(HEADER.replace(selection="take 40 of 120"), 40),
        tmp_path / "a.parquet.partial",
        [0, 1, 2, 3],
    )
    judged = cli("evaluate", "a.parquet.partial")
    assert judged.code == 0 and "a (4 of 40)" in judged.out
    assert (
        "note: a.parquet.partial: the run is not finished, judged are 4 of 40 images"
        in judged.err
    )
    # The verb has no such option: it is one of the run that the note is about.
    assert "with --resume" in judged.err
    three = cli.done("evaluate", *["a.parquet.partial"] * 3).out
    assert "name it (--baseline)" in three
    compared = cli("compare", "a.parquet.partial", "--out", "page.html")
    assert compared.code == 0 and "a (4 of 40)" in (tmp_path / "page.html").read_text()
