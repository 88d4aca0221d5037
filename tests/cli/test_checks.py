"""The checks at the command line: evaluate and compare print them first."""

import json
from pathlib import Path

import numpy as np
import pytest

from cli.processes import Run
from randsmooth.cli.true_labels import labels_at_hand
from randsmooth.report import headings
from randsmooth.report.checks import HEADING


@pytest.fixture
def folder(logs: Path) -> Path:
    return logs / "cifar10-sigma0.5"


def inflated(log: Path, out: Path) -> Path:
    """Write a copy of a log whose radii are larger by 2%."""
    head, *rows = log.read_text().splitlines()
    place = head.split("\t").index("radius")
    lines = [head]
    for row in rows:
        cells = row.split("\t")
        cells[place] = f"{float(cells[place]) * 1.02:.3g}"
        lines.append("\t".join(cells))
    out.write_text("\n".join(lines) + "\n")
    return out


def test_an_inflated_log_gets_a_cross_and_no_verdict(
    folder: Path, tmp_path: Path, cli: Run
) -> None:
    doctored = inflated(folder / "ours.tsv", tmp_path / "doctored.tsv")
    words = [
        "evaluate",
        str(folder / "catrs.tsv"),
        str(doctored),
        *("--sigma", "0.5", "--radii", "0.5", "--format", "json"),
    ]

    def answer(*more: str) -> dict[str, list[dict[str, object]]]:
        found: dict[str, list[dict[str, object]]] = json.loads(cli(*words, *more).out)
        return found

    off = answer()
    failed = [check["kind"] for check in off["checks"] if check["state"] == "failed"]
    assert failed == ["radii", "scaled_released"]
    assert "not_compared" in off["against"][0]
    on = answer("--anyway")
    assert on["checks"] == off["checks"]
    assert "verdict" in on["against"][0]


@pytest.mark.parametrize("columns", [60, 80])
def test_compare_has_three_blocks_at_the_terminal_and_on_the_page(
    columns: int,
    folder: Path,
    tmp_path: Path,
    cli: Run,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    page = tmp_path / "page.html"
    logs = [str(folder / "gaussian.tsv"), str(folder / "ours.tsv")]
    lines = cli("compare", *logs, "--out", str(page)).out.splitlines()
    blocks = [HEADING, headings.ANSWER_HEADING, headings.EVIDENCE_HEADING]
    # The heading of the answer says in brackets what its intervals hold for.
    begun = [line.partition(" (")[0].removesuffix(":") for line in lines]
    assert [name for name in begun if name in blocks] == blocks
    assert max(map(len, lines[:-1])) <= columns  # the path of the page may be longer
    text = page.read_text()
    places = [text.index(f'id="{name}"') for name in ("checks", "answer", "evidence")]
    assert places == sorted(places)


def test_labels_of_another_copy_or_none_are_not_read(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    from randsmooth.certificates import infer, read

    path = folder / "ours.tsv"
    log = infer(read(path), path)
    monkeypatch.setenv("RANDSMOOTH_DATA", str(tmp_path))
    assert labels_at_hand([log]) == {}
    (tmp_path / "cifar10").mkdir()
    assert labels_at_hand([log]) == {}

    table = pa.table({"img": ["x"] * len(log), "label": log.label})
    parquet.write_table(table, tmp_path / "cifar10" / "test-00000.parquet")
    found = labels_at_hand([log])
    assert list(found) == ["cifar10 test"]
    assert np.array_equal(found["cifar10 test"], log.label)


def test_verify_asks_whether_the_radii_of_a_log_are_possible(
    folder: Path, tmp_path: Path, cli: Run
) -> None:
    doctored = inflated(folder / "ours.tsv", tmp_path / "doctored.tsv")
    budget = ("--sigma", 0.5, "--n", 100_000, "--alpha", 0.001)

    def state(path: Path, *options: object) -> str:
        (found,) = json.loads(cli("verify", path, *options, "--format", "json").out)
        return str(found["state"])

    assert state(folder / "ours.tsv", *budget) == "read"
    assert state(doctored, *budget) == "refused"

    # Without a budget nothing can be told, and nothing is claimed.
    assert state(doctored) == "read"
    assert "not checked" in cli("verify", doctored).out
    assert "not checked" not in cli("verify", folder / "ours.tsv", *budget).out
