"""The journal of a running certification survives being killed at any byte, and is read while it is unfinished."""

import json
import os
import random
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from certificates.walks import HEADER, RULES, rows_of, same, table_of
from models.refusing import problem_of, refusal
from randsmooth.certificates import (
    Certificates,
    Header,
    Journal,
    JournalRow,
    Machine,
    check_file,
    journal_header,
    read,
)
from randsmooth.certificates.journal import _link
from randsmooth.certificates.journal_rows import table_of as table_of_rows
from randsmooth.errors import OVERWRITE, RESUME, WrongFile
from values import Refusal, noted, refused

Make = Callable[..., Certificates]


def written(table: Certificates, path: Path, rows: list[int] | None = None) -> bytes:
    """A journal of this table, of which these rows are finished, in this order."""
    made = rows_of(table)
    with Journal.create(path, table.header) as journal:
        for row in range(len(made)) if rows is None else rows:
            journal.append(made[row])
    return path.read_bytes()


def test_a_journal_holds_the_table(make: Make, tmp_path: Path) -> None:
    for number, table in enumerate(
        [make(5), *(table_of(HEADER.replace(rule=rule)) for rule in RULES)]
    ):
        written(table, tmp_path / f"{number}.journal")
        with Journal.resume(tmp_path / f"{number}.journal", table.header) as journal:
            assert same(journal.table(table.idx.tolist()), table), table
            assert same(journal.judge(), table) and len(journal.judge()) == 0


def test_killed_at_any_byte_it_resumes_to_the_same_table(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        os, "fsync", lambda descriptor: None
    )  # a kill leaves what the system was given
    table, path = make(4), tmp_path / "run.journal"
    content = written(table, path)
    for length in range(len(content)):
        path.write_bytes(content[:length])
        with Journal.resume(path, table.header) as journal:
            assert len(journal.rows) == max(0, content[:length].count(b"\n") - 1)
            for row in rows_of(table)[len(journal.rows) :]:
                journal.append(row)
        assert path.read_bytes() == content, f"cut at {length}"
        assert same(journal.table(table.idx.tolist()), table)


def row_json(**changed: object) -> str:
    usual = {
        "idx": 99,
        "label": 0,
        "seconds": 1.0,
        "counts0": [20, 0, 0],
        "counts": [200, 0, 0],
        "path": [200],
    }
    return json.dumps(
        {key: value for key, value in (usual | changed).items() if value is not ...}
    )


BAD_ROWS = [  # a line, and what its refusal names
    ("not json", "line 4 is not JSON"),
    (row_json(path=...), "line 4 is not a row"),
    (row_json(colour=1), "colour"),
    ('{"idx": 1, "idx": 2}', "idx"),
    ("[" * 100_000, "line 4 is nested deeper"),
    (row_json(idx="99"), "'99'"),
    (row_json(idx=10**30), "1000000"),
    (row_json(idx=-5), "idx holds -5"),
    (row_json(counts=[199.5, 0.5, 0]), "199.5"),
    (row_json(counts=[201, -1, 0]), "-1"),
    (row_json(seconds=-1), "-1"),
    (row_json(seconds=1).replace(": 1,", ": 1e999,"), "line 4 is no"),
    (row_json(counts=[200, 0]), "2 classes, not 3"),
    (row_json(idx=3), "image 3 twice"),
    (row_json(counts=[199, 0, 0]), "image 99 has counts [199, 0, 0]"),
    (row_json(machine={"hosts": "a"}), "'hosts'"),
    (row_json(machine={"host": 7}), "host=7"),
    (row_json(image="ab"), "1 bytes of image hashes"),
]


def test_a_finished_line_that_makes_no_sense_is_refused(
    make: Make, tmp_path: Path
) -> None:
    """Although the checksum is right: what was written was no row then."""
    path = tmp_path / "run.journal"
    content = written(make(2), path)
    last = content.rstrip(b"\n").rpartition(b"\t")[2].decode()
    for line, named in BAD_ROWS:
        path.write_bytes(content + f"{line}\t{_link(last, line.encode())}\n".encode())
        said = refusal(Journal.resume, path, make(1).header)
        assert named in said and str(path) in said, (line[:99], said)


def taken(path: Path) -> list[str]:
    """The rows that a resumed run would take from the journal, and its header."""
    content = Journal.read(path)
    return (
        []
        if content is None
        else [
            content.header.model_dump_json(),
            *(row.to_json() for row in content.rows),
        ]
    )


def test_a_flipped_bit_is_refused_but_those_of_the_last_line_break(
    make: Make, tmp_path: Path
) -> None:
    """There the last line counts as unfinished, and its image is certified anew."""
    path = tmp_path / "run.journal"
    content = bytearray(written(make(2), path))
    right, bits = taken(path), range(8 * len(content))
    assert len(right) == 3 and len(bits) > 5_000
    for bit in [*random.Random(0).sample(bits, 700), *bits[-8:]]:
        content[bit // 8] ^= 1 << bit % 8
        path.write_bytes(content)
        content[bit // 8] ^= 1 << bit % 8
        if bit // 8 == len(content) - 1:
            assert taken(path) == right[:-1]
        else:
            Refusal(WrongFile, "run.journal").check(problem_of(Journal.read, path))


def test_a_line_lost_doubled_swapped_emptied_or_of_another_file_is_refused(
    make: Make, tmp_path: Path
) -> None:
    path, table = tmp_path / "run.journal", make(4)
    other = written(make(4, seed=1, sigma=0.25), path).splitlines()
    lines = written(table, path).splitlines()
    changes: list[tuple[str, list[bytes], int]] = [
        ("lost", [lines[0], *lines[2:]], 2),
        ("doubled", [*lines[:2], *lines[1:]], 3),
        ("swapped", [lines[0], lines[2], lines[1], *lines[3:]], 2),
        ("no header", lines[1:], 1),
        ("empty", [*lines[:3], b"", *lines[3:]], 4),
        (
            "a block that never reached the disk",
            [*lines[:2], bytes(len(lines[2])), *lines[3:]],
            3,
        ),
        ("no checksum", [*lines[:2], lines[2].partition(b"\t")[0], *lines[3:]], 3),
        ("no checksums at all", [line.partition(b"\t")[0] for line in lines], 1),
        ("another journal's", [*lines[:3], other[3]], 4),
    ]
    for what, changed, line in changes:
        path.write_bytes(b"\n".join(changed) + b"\n")
        with refused(WrongFile, "line", value=line, file=path) as caught:
            Journal.resume(path, table.header)
        ways = [OVERWRITE]
        if line > 2:
            ways = [RESUME, OVERWRITE]
        assert list(caught.problem.settings_in_fix) == ways, what
    path.write_bytes(b"\n".join(lines[:3]) + b"\n")  # the way out leads out
    assert journal_header(path) == table.header
    with Journal.resume(path, table.header) as journal:
        assert [row.idx for row in journal.rows] == table.idx[:2].tolist()


def test_syncs_take_at_most_half_a_hundredth_of_a_run(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All but the last one, whatever a sync and a row take."""
    now, syncs, table = [0.0], list[float](), make(100)
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    for takes, row_takes, expected in ((1e-5, 0.5, 101), (0.1, 0.5, 4), (3.0, 5.0, 2)):
        path = tmp_path / f"{takes}-{row_takes}.journal"
        Journal.create(path, table.header).close()
        syncs.clear()

        def fsync(descriptor: int, takes: float = takes) -> None:
            syncs.append(takes)
            now[0] += takes

        with (
            monkeypatch.context() as patch,
            Journal(path, table.header).opened() as journal,
        ):
            patch.setattr(os, "fsync", fsync)
            began, reported = now[0], 0
            for row in rows_of(table):
                now[0] += row_takes
                journal.append(row)
                reported += journal.settle()
                assert reported == journal.safe <= len(journal.rows)
            assert sum(syncs[1:]) <= (now[0] - began) / 200, (takes, row_takes)
            assert (
                reported + journal.sync() == len(table) == journal.safe
                and len(syncs) == expected
            ), takes


def test_rows_in_hand_are_synced_on_every_way_out(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, path, synced = make(3), tmp_path / "run.journal", list[int]()
    with (
        pytest.raises(KeyboardInterrupt),
        Journal.create(path, table.header) as journal,
    ):
        monkeypatch.setattr(
            os, "fsync", lambda descriptor: synced.append(os.fstat(descriptor).st_size)
        )
        for row in rows_of(table):
            journal.append(row)
        raise KeyboardInterrupt
    assert synced == [path.stat().st_size] and journal.safe == 3


def test_a_journal_that_was_removed_is_not_written_on_in_silence(
    make: Make, tmp_path: Path
) -> None:
    table, path = make(3), tmp_path / "run.journal"
    with (
        refused(WrongFile, file=path),
        Journal.create(path, table.header) as journal,
    ):
        path.unlink()
        journal.append(rows_of(table)[0])
        journal.sync()


def test_rows_that_are_kept_take_little_memory_and_say_the_same() -> None:
    many = np.array([100_000, 0, 7] + 997 * [0])
    row = JournalRow(3, 0, np.minimum(many, 100), many, many[:1], seconds=1.0)
    slim = row.slim()
    assert (
        slim.counts.nbytes + slim.counts0.nbytes == 5 * 1000
        and slim.to_json() == row.to_json()
    )
    table = table_of_rows(Header(sigma=0.5, n0=107, n=100_007, alpha=0.001), [slim])
    assert (
        table.counts is not None
        and table.counts.dtype == np.int64
        and table.counts[0].tolist() == many.tolist()
    )


@pytest.mark.parametrize("name", ["counts0", "counts"])
def test_a_row_of_other_classes_is_refused_by_the_counts_that_differ(
    make: Make, name: str
) -> None:
    table = make(3)
    rows = rows_of(table)
    changed: dict[str, Any] = {name: np.zeros(7, np.int64)}
    rows[2] = replace(rows[2], **changed)
    with refused(WrongFile, name, value=7):
        table_of_rows(table.header, rows)


def test_each_row_is_of_its_machine(make: Make, tmp_path: Path) -> None:
    nodes = [Machine(host=host, device="cpu") for host in ("node7", "node8")]
    table, path = make(5), tmp_path / "run.partial"
    images = np.arange(5 * 32, dtype=np.uint8).reshape(5, 32)
    made = [None, nodes[1], nodes[0], nodes[1], nodes[1]]
    with Journal.create(path, table.header) as journal:
        for row, machine, image in zip(rows_of(table), made, images, strict=True):
            journal.append(replace(row, machine=machine, image=image.tobytes()))
    with Journal.resume(path, table.header.replace(device="another")) as journal:
        again = journal.table(table.idx.tolist())
        assert (
            again.machine is not None
            and again.image is not None
            and np.array_equal(again.image, images)
        )
        assert [
            again.header.machines[n] if n >= 0 else None for n in again.machine
        ] == made


def test_what_is_finished_is_read_as_the_table_of_these_images(tmp_path: Path) -> None:
    table, path = (
        table_of(HEADER.replace(selection="take 40 of 120"), 40),
        tmp_path / "mine.parquet.partial",
    )
    content = written(table, path, [5, 2, 9])
    with noted("unfinished", known="3 of 40"):
        there = read(path)
    assert there.name == "mine (3 of 40)" and path.read_bytes() == content
    assert np.array_equal(there.idx, table.idx[[2, 5, 9]]) and np.array_equal(
        there.radius, table.radius[[2, 5, 9]]
    )
    assert "3 of 40 images" in check_file(path)
    path.write_bytes(content[:-5])  # a line that is being written does not count
    with noted("unfinished", known="2 of 40"):
        assert len(read(path)) == 2
    written(table_of(HEADER.replace(rule="grid"), 40), path, [0, 1])
    with noted("unfinished_easy_first", known="the first 2", rule="grid"):
        read(path)
    for content in (written(table, path, []), b""):
        path.write_bytes(content)
        Refusal(WrongFile).check(problem_of(read, path))
