"""`randsmooth verify`: every kind of file is known, and a damaged one refused by its name, beside the others."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from cli.run import Run
from randsmooth import models, read
from randsmooth.bounds.boundary_cache import cached_boundary
from randsmooth.caches import FOLDER
from randsmooth.certificates import Journal, JournalRow, write_parquet, write_tsv
from randsmooth.errors import Note

VERIFIED = {"model", "model/checkpoint.pt", "a.parquet", "b.parquet.partial", "boundaries", "taught"}
READ = {"model/run.yaml", "a.tsv", "net.onnx", "config.yaml"}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a file of every kind."""
    from randsmooth.cli.certification import Certify
    from randsmooth.cli.verbs.certify import run as certify
    from randsmooth.progress import silent
    from randsmooth.training import train
    from randsmooth.training.predictions import write_answers

    folder = tmp_path_factory.mktemp("kinds")
    train("digits", sigma=0.25, epochs=1, take=100, out=folder / "model")
    table = certify(Certify(model=str(folder / "model"), take=4, n=100, out=folder / "a.parquet"), silent)
    write_tsv(read(folder / "a.parquet"), folder / "a.tsv")
    counts0, counts = table.evidence()
    with Journal.create(folder / "b.parquet.partial", table.header) as journal:
        for row, path in enumerate(table.paths or ()):
            journal.append(JournalRow(int(table.idx[row]), int(table.label[row]), counts0[row], counts[row], path, 0.5))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(FOLDER, str(folder))
        cached_boundary(0.161, [100, 200, 300], 0.05)
    model = models.load(folder / "model")
    torch.onnx.export(model, (torch.rand(2, 1, 8, 8),), folder / "net.onnx", verbose=False, external_data=False)
    (folder / "config.yaml").write_text("verb: evaluate\nfiles: [a.parquet]\nradii: [0, 0.5]\n")
    write_answers(folder / "taught" / "teacher.safetensors", torch.full((5, 2), 4), 5, {"n": "8"})
    (folder / "notes.md").write_text("# not ours\n")
    return folder


@pytest.fixture
def files(made: Path, tmp_path: Path) -> Path:
    """A copy to be damaged."""
    return Path(shutil.copytree(made, tmp_path / "files"))


def place(file: str, folder: Path) -> str:
    return (
        "boundaries" if "boundaries" in file else "taught" if "taught" in file else str(Path(file).relative_to(folder))
    )


def found(cli: Run, *paths: Path) -> tuple[int, list[dict[str, str]]]:
    result = cli("verify", *paths, "--format", "json")
    assert result.err == ""
    return result.code, json.loads(result.out)


def states(cli: Run, folder: Path) -> tuple[int, dict[str, str]]:
    code, answers = found(cli, folder)
    return code, {place(one["file"], folder): one["state"] for one in answers}


def test_every_kind_is_known_and_verified_where_it_has_digests(cli: Run, made: Path) -> None:
    code, told = states(cli, made)
    assert code == 0
    assert told == dict.fromkeys(VERIFIED, "verified") | dict.fromkeys(READ, "read")
    _, answers = found(cli, made)
    assert {one["kind"] for one in answers} == {
        *("model folder", "certificate table", "journal", "checkpoint", "teacher", "boundary"),
        *("configuration", "ONNX file", "log"),
    }


def test_the_text_is_a_line_a_file_and_their_number(cli: Run, made: Path) -> None:
    result = cli("verify", made / "a.parquet", made / "a.tsv", made / "notes.md")
    assert result.code == 1  # who names a file wants to rely on it
    lines = result.out.splitlines()
    assert lines[0].startswith(f"verified  {made / 'a.parquet'}: certificate table: 4 images of digits, rule fixed")
    assert "header and evidence are as they were written" in lines[0] and "follow from the counts" in lines[0]
    assert lines[1].startswith(f"read      {made / 'a.tsv'}: log: 4 images; it has no digest")
    assert lines[2:] == [
        f"unknown   {made / 'notes.md'}: of no kind that is checked here",
        "3 files: 1 verified, 1 read, 1 unknown",
    ]
    assert cli("verify", made / "a.parquet").out.count("\n") == 1


def inside(path: Path) -> Path:
    """The file to damage: of a folder its weights, or its only file."""
    if not path.is_dir():
        return path
    return path / "model.safetensors" if (path / "model.safetensors").exists() else next(path.iterdir())


@pytest.mark.parametrize("what", sorted(VERIFIED))
def test_a_flipped_bit_is_refused_by_name_and_the_others_are_told(cli: Run, files: Path, what: str) -> None:
    path = inside(files / what)
    content = bytearray(path.read_bytes())
    content[len(content) // 2 if what != "a.parquet" else 40] ^= 4
    path.write_bytes(content)
    code, told = states(cli, files)
    assert code == 1
    assert {name for name, state in told.items() if state == "refused"} == {what}
    assert told.keys() == VERIFIED | READ
    text = cli("verify", files)
    assert text.code == 1 and sum(line.startswith("refused ") for line in text.out.splitlines()) == 1


def test_all_that_is_refused_is_named(cli: Run, files: Path) -> None:
    for name in ("a.parquet", "a.tsv", "net.onnx", "config.yaml", "taught/teacher.safetensors"):
        path = files / name
        path.write_bytes(path.read_bytes()[:-7])
    code, told = states(cli, files)
    refused = {name for name, state in told.items() if state == "refused"}
    assert code == 1 and refused >= {"a.parquet", "a.tsv", "net.onnx"}
    (files / "config.yaml").write_text("verb: evaluate\ncolour: red\n")
    result = cli("verify", files / "config.yaml", files / "none.parquet")
    assert result.code == 1
    assert "colour" in result.out and f"no file at {files / 'none.parquet'}" in result.out


@pytest.mark.parametrize(
    ("column", "value"), [("radius", 9.0), ("predict", 3), ("correct", None), ("p_lower", 0.9999), ("n_A", 1)]
)
def test_a_column_for_the_eye_that_is_false_is_refused(cli: Run, files: Path, column: str, value: object) -> None:
    """It is not evidence, so that readers of the file go by the counts."""
    path = files / "a.parquet"
    right, arrow = read(path), pq.read_table(path)
    values = arrow[column].to_pylist()
    values[1] = (not values[1]) if value is None else value
    changed = arrow.set_column(arrow.schema.get_field_index(column), column, pa.array(values, arrow[column].type))
    pq.write_table(changed, path)
    assert (read(path).radius == right.radius).all()
    result = cli("verify", path)
    assert result.code == 1
    assert f"holds {column}=" in result.out and f"for image {right.idx[1]}, whose counts give" in result.out


def test_a_torn_journal_and_one_of_nothing_are_told(cli: Run, files: Path) -> None:
    path = files / "b.parquet.partial"
    content = path.read_bytes()
    path.write_bytes(content[:-5])
    assert "journal of a run under way: 3 of 4 images of digits; every line is" in (out := cli("verify", path).out)
    assert "the unfinished one behind them does not count" in out
    assert path.read_bytes() == content[:-5]
    path.write_bytes(content[:9])
    assert "stopped before its first line" in cli("verify", path).out


def test_a_model_is_known_by_its_files_and_named_once(cli: Run, made: Path) -> None:
    _, answers = found(cli, made / "model" / "config.json", made / "model" / "model.safetensors")
    assert [one["file"] for one in answers] == [str(made / "model")]


def test_an_unfinished_run_is_no_model(cli: Run, files: Path) -> None:
    """Its checkpoint is told, without a word against it."""
    for name in ("config.json", "model.safetensors", "README.md"):
        (files / "model" / name).unlink()
    code, answers = found(cli, files / "model")
    assert code == 0
    assert {Path(one["file"]).name: one["state"] for one in answers} == {
        "checkpoint.pt": "verified",
        "run.yaml": "read",
    }


def test_what_is_not_ours_is_said_to_be_unknown(cli: Run, tmp_path: Path) -> None:
    pq.write_table(pa.table({"image": [1, 2], "label": [0, 1]}), tmp_path / "train.parquet")
    (tmp_path / "empty").mkdir()
    (tmp_path / "x.bin").write_bytes(bytes(100))
    named = [tmp_path / "train.parquet", tmp_path / "empty", tmp_path / "x.bin"]
    code, answers = found(cli, *named)
    assert code == 1
    assert [one["state"] for one in answers] == ["unknown"] * 3
    (tmp_path / "empty" / "train.parquet").write_bytes(named[0].read_bytes())
    assert found(cli, tmp_path / "empty")[0] == 0  # it was not named


def test_a_pipe_is_refused_and_not_waited_for(cli: Run, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.parquet")
    code, (one,) = found(cli, tmp_path / "a.parquet")
    assert (code, one["state"]) == (1, "refused") and "is a pipe" in one["finding"]


def test_two_folders_are_told_apart(cli: Run, made: Path, tmp_path: Path) -> None:
    for name in ("model", "a"):
        shutil.copytree(made / "model", tmp_path / name)
    lines = cli("verify", tmp_path / "model", tmp_path / "a").out.splitlines()
    assert all(any(f" {tmp_path / name}: model folder" in line for line in lines) for name in ("model", "a"))


def test_a_table_made_by_hand_is_signed_like_any_other(cli: Run, made: Path, tmp_path: Path) -> None:
    from randsmooth.certificates import from_evidence

    table = read(made / "a.parquet")
    counts0, counts = table.evidence()
    made_by_hand = from_evidence(
        table.header, idx=table.idx, label=table.label, counts0=counts0, counts=counts, seconds=table.seconds
    )
    write_parquet(made_by_hand, tmp_path / "hand.parquet")
    code, (one,) = found(cli, tmp_path / "hand.parquet")
    assert (code, one["state"]) == (0, "verified")


def test_another_format_is_refused(cli: Run, made: Path) -> None:
    result = cli("verify", made, "--format", "xml")
    assert result.code == 2 and "text" in result.err


def test_notes_are_told_in_the_answer_and_not_beside_it(cli: Run, files: Path) -> None:
    table = read(files / "a.parquet")
    write_parquet(replace(table, header=table.header.replace(notes=("Peer reviewed.",))), files / "a.parquet")
    with pytest.warns(Note):
        read(files / "a.parquet")
    result = cli("verify", files / "a.parquet")
    assert result.err == "" and "left out 1 of the header's notes" in result.out
