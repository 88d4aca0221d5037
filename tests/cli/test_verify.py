"""`randsmooth verify`: every kind of file is known, and a damaged one refused by its name, beside the others."""

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from cli.processes import Run
from models.graphs import linear
from randsmooth import read
from randsmooth.certificates import Journal, JournalRow, write_parquet, write_tsv
from randsmooth.notes import Note
from values import noted

VERIFIED = {"model", "model/checkpoint.pt", "a.parquet", "b.parquet.partial", "taught"}
READ = {"model/run.yaml", "a.tsv", "net.onnx", "config.yaml"}


@pytest.fixture(scope="module")
def kinds(made: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a file of every kind."""
    from randsmooth.training.checkpoint import write_signed

    folder = Path(shutil.copytree(made, tmp_path_factory.mktemp("kinds") / "kinds"))
    table = read(folder / "a.parquet")
    write_tsv(table, folder / "a.tsv")
    counts0, counts = table.evidence()
    with Journal.create(folder / "b.parquet.partial", table.header) as journal:
        for row, path in enumerate(table.paths or ()):
            journal.append(
                JournalRow(
                    int(table.idx[row]),
                    int(table.label[row]),
                    counts0[row],
                    counts[row],
                    path,
                    0.5,
                )
            )
    linear(folder / "net.onnx")
    (folder / "config.yaml").write_text(
        "verb: evaluate\nfiles: [a.parquet]\nradii: [0, 0.5]\n"
    )
    write_signed(
        folder / "taught" / "teacher.pt",
        {"counts": torch.full((5, 2), 4), "done": 5, "about": {"n": "8"}},
    )
    (folder / "notes.md").write_text("# not ours\n")
    return folder


@pytest.fixture
def files(kinds: Path, tmp_path: Path) -> Path:
    """A copy to be damaged."""
    return Path(shutil.copytree(kinds, tmp_path / "files"))


def found(cli: Run, *paths: Path) -> tuple[int, list[dict[str, str]]]:
    result = cli("verify", *paths, "--format", "json")
    assert result.err == ""
    return result.code, json.loads(result.out)


def states(cli: Run, folder: Path) -> tuple[int, dict[str, str]]:
    """The exit code, and the state of each file by its place, where a folder holds one file by its folder's."""
    code, answers = found(cli, folder)
    places = {one["file"]: Path(one["file"]).relative_to(folder) for one in answers}
    return code, {
        "taught"
        if (place := places[one["file"]]).parts[0] == "taught"
        else str(place): one["state"]
        for one in answers
    }


def test_every_kind_is_known_and_verified_where_it_has_digests(
    cli: Run, kinds: Path
) -> None:
    assert states(cli, kinds) == (
        0,
        dict.fromkeys(VERIFIED, "verified") | dict.fromkeys(READ, "read"),
    )
    _, answers = found(cli, kinds)
    assert {one["kind"] for one in answers} == {
        *("model folder", "certificate table", "journal", "checkpoint", "teacher"),
        *("configuration", "ONNX file", "log"),
    }
    _, answers = found(
        cli, kinds / "model" / "config.json", kinds / "model" / "model.safetensors"
    )
    assert [one["file"] for one in answers] == [str(kinds / "model")]


def test_the_text_is_a_line_a_file_and_their_number(
    cli: Run, kinds: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # So wide that no line is broken.
    monkeypatch.setenv("COLUMNS", "1000")
    result = cli("verify", kinds / "a.parquet", kinds / "a.tsv", kinds / "notes.md")
    assert result.code == 1  # who names a file wants to rely on it
    lines = result.out.splitlines()
    assert lines[0].startswith(
        f"verified  {kinds / 'a.parquet'}: certificate table: 20 images of digits, rule fixed"
    )
    assert lines[1].startswith(
        f"read      {kinds / 'a.tsv'}: log: 20 images; it has no digest"
    )
    assert lines[2].startswith(f"unknown   {kinds / 'notes.md'}: ")
    assert lines[3] == "3 files: 1 verified, 1 read, 1 unknown"
    assert cli("verify", kinds / "a.parquet").out.count("\n") == 1


def test_a_flipped_bit_is_refused_by_name_and_the_others_are_told(
    cli: Run, files: Path
) -> None:
    for what in sorted(VERIFIED):
        path = files / what
        if path.is_dir():
            path = (
                path / "model.safetensors" if what == "model" else next(path.iterdir())
            )
        whole = path.read_bytes()
        content = bytearray(whole)
        content[len(content) // 2 if what != "a.parquet" else 40] ^= 4
        path.write_bytes(content)
        code, told = states(cli, files)
        assert code == 1 and told.keys() == VERIFIED | READ, what
        assert {name for name, state in told.items() if state == "refused"} == {what}
        path.write_bytes(whole)


def test_all_that_is_refused_is_named(cli: Run, files: Path) -> None:
    cut = {"a.parquet", "a.tsv", "net.onnx"}
    for name in cut:
        (files / name).write_bytes((files / name).read_bytes()[:-7])
    code, told = states(cli, files)
    assert (
        code == 1
        and {name for name, state in told.items() if state == "refused"} == cut
    )
    (files / "config.yaml").write_text("verb: evaluate\ncolour: red\n")
    result = cli("verify", files / "config.yaml", files / "none.parquet")
    assert (
        result.code == 1
        and "colour" in result.out
        and str(files / "none.parquet") in result.out
    )


def test_a_column_for_the_eye_that_is_false_is_refused(cli: Run, files: Path) -> None:
    """It is not evidence, so that readers of the file go by the counts."""
    path = files / "a.parquet"
    right, arrow = read(path), pq.read_table(path)
    for column, value in {
        "radius": 9.0,
        "predict": 3,
        "correct": None,
        "p_lower": 0.9999,
        "n_A": 1,
    }.items():
        values = arrow[column].to_pylist()
        values[1] = (not values[1]) if value is None else value
        place = arrow.schema.get_field_index(column)
        pq.write_table(
            arrow.set_column(place, column, pa.array(values, arrow[column].type)), path
        )
        assert (read(path).radius == right.radius).all(), column
        result = cli("verify", path)
        assert (
            result.code == 1
            and f"holds {column}=" in result.out
            and f"image {right.idx[1]}" in result.out
        )


def test_what_is_not_ours_is_said_to_be_unknown(cli: Run, tmp_path: Path) -> None:
    pq.write_table(
        pa.table({"image": [1, 2], "label": [0, 1]}), tmp_path / "train.parquet"
    )
    (tmp_path / "empty").mkdir()
    (tmp_path / "x.bin").write_bytes(bytes(100))
    named = [tmp_path / "train.parquet", tmp_path / "empty", tmp_path / "x.bin"]
    code, answers = found(cli, *named)
    assert code == 1 and [one["state"] for one in answers] == ["unknown"] * 3
    (tmp_path / "empty" / "train.parquet").write_bytes(named[0].read_bytes())
    assert found(cli, tmp_path / "empty")[0] == 0  # it was not named
    if os.name == "posix":
        os.mkfifo(tmp_path / "b.parquet")
        code, (one,) = found(cli, tmp_path / "b.parquet")
        assert (code, one["state"]) == (1, "refused") and "is a pipe" in one["finding"]


@pytest.mark.skipif(os.name != "posix", reason="there are no pipes")
def test_a_folder_may_hold_pipes_and_links_to_nothing(cli: Run, files: Path) -> None:
    """None is waited for, none ends the work; what is called as ours is refused."""
    for name in ("config.yaml", "notes", "x.tsv"):
        os.mkfifo(files / f"pipe-{name}")
        (files / f"link-{name}").symlink_to(files / "nothing")
    (files / ".#config.yaml").symlink_to("me@there.12")  # a lock of an editor
    (files / "loop.yaml").symlink_to("loop.yaml")
    code, told = states(cli, files)
    odd = {
        name: state
        for name, state in told.items()
        if name.startswith(("pipe", "link", "loop"))
    }
    assert code == 1 and told.keys() - odd.keys() == VERIFIED | READ
    assert odd == {
        **dict.fromkeys(
            (
                "pipe-config.yaml",
                "link-config.yaml",
                "pipe-x.tsv",
                "link-x.tsv",
                "loop.yaml",
            ),
            "refused",
        ),
        **dict.fromkeys(("pipe-notes", "link-notes"), "unknown"),
    }
    for name in ("pipe-notes", "link-notes"):
        code, (one,) = found(cli, files / name)
        assert code == 1 and name in one["finding"]


def test_notes_are_told_in_the_answer_and_not_beside_it(
    cli: Run, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # So wide that no line is broken.
    monkeypatch.setenv("COLUMNS", "1000")
    table = read(files / "a.parquet")
    write_parquet(
        replace(table, header=table.header.replace(notes=(Note("unnumbered"),))),
        files / "a.parquet",
    )
    with noted("foreign_notes", number=1) as notes:
        read(files / "a.parquet")
    result = cli("verify", files / "a.parquet")
    assert result.err == "" and str(notes[0]) in result.out
