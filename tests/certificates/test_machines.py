"""Which machine made a row: through journals, tables, files and frames, at little cost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from certificates.test_journal import rows_of
from randsmooth.certificates import (
    Certificates,
    Journal,
    JournalRow,
    Machine,
    from_evidence,
    read_parquet,
    write_parquet,
)
from randsmooth.errors import InputError

Make = Callable[..., Certificates]

NODES = tuple(
    Machine(host=host, device="cpu", instructions="AVX2", versions={"torch": "2.10.0"}) for host in ("node7", "node8")
)
NUMBERS = [-1, 1, 0, 1, 1]  # of the rows; the third one's machine comes up first in none of the lists below
IMAGES = np.arange(5 * 32, dtype=np.uint8).reshape(5, 32)


def shared(make: Make) -> Certificates:
    """Five rows, of which three machines made some."""
    table = make(5)
    return replace(table, header=table.header.having(machines=NODES), machine=np.array(NUMBERS, np.int64), image=IMAGES)


def makers(table: Certificates) -> list[str | None]:
    """The host that made each row; None for the machine of the header."""
    assert table.machine is not None
    return [None if number < 0 else table.header.machines[number].host for number in table.machine]


HOSTS = [None, "node8", "node7", "node8", "node8"]


def test_a_file_says_which_machine_made_each_row(make: Make, tmp_path: Path) -> None:
    table = shared(make)
    write_parquet(table, tmp_path / "run.parquet")
    read = read_parquet(tmp_path / "run.parquet")
    assert makers(read) == HOSTS and read.header == table.header
    assert read.image is not None
    np.testing.assert_array_equal(read.image, IMAGES)
    assert makers(read.rows(np.array([3, 2]))) == ["node8", "node7"]
    assert makers(read.at(n=50)) == HOSTS


def test_a_table_of_one_machine_is_stored_as_it_was(make: Make, tmp_path: Path) -> None:
    write_parquet(make(5), tmp_path / "run.parquet")
    read = read_parquet(tmp_path / "run.parquet")
    assert read.machine is None and read.image is None and read.header.machines == ()


def test_a_journal_writes_each_machine_once(make: Make, tmp_path: Path) -> None:
    table, path = make(5), tmp_path / "run.partial"
    made = [None if number < 0 else NODES[number] for number in NUMBERS]
    rows = [
        replace(row, machine=machine, image=image.tobytes())
        for row, machine, image in zip(rows_of(table), made, IMAGES, strict=True)
    ]
    with Journal.create(path, table.header) as journal:
        for row in rows[:3]:
            journal.append(row)
    with Journal.resume(path, table.header) as journal:
        for row in rows[3:]:
            journal.append(row)
        assert makers(journal.table(table.idx.tolist())) == HOSTS
    lines = path.read_bytes()
    assert [lines.count(f'"{machine.host}"'.encode()) for machine in NODES] == [1, 1]
    with Journal.resume(path, table.header) as journal:
        again = journal.table(table.idx.tolist())
        assert makers(again) == HOSTS and journal.judge().machine is None
    assert again.image is not None
    np.testing.assert_array_equal(again.image, IMAGES)


def test_a_frame_keeps_the_machines(make: Make) -> None:
    frame = shared(make).to_pandas()
    assert makers(Certificates.from_pandas(frame[frame.machine >= 0])) == HOSTS[1:]
    frame.loc[2, "machine"] = 2
    with pytest.raises(InputError, match="row 2 is of machine 2, and the header tells 2"):
        Certificates.from_pandas(frame)


def test_machines_of_50_000_rows_take_little_room(make: Make, tmp_path: Path) -> None:
    table = make(50_000)
    write_parquet(table, tmp_path / "one.parquet")
    of_a_node = np.random.default_rng(0).integers(0, 2, 50_000)
    several = replace(table, header=table.header.having(machines=NODES), machine=of_a_node)
    write_parquet(several, tmp_path / "two.parquet")
    one, two = ((tmp_path / name).stat().st_size for name in ("one.parquet", "two.parquet"))
    assert two - one < 10_000  # a bit each, and the header's description


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"machine": np.array([0, 0, 0, 0, 2])}, "row 4 is of machine 2, and the header tells 2"),
        ({"machine": np.array([0, 0, -2, 0, 0])}, "row 2 is of machine -2"),
        ({"machine": np.zeros(4, np.int64)}, r"machine must be an array of whole numbers of shape \(5,\)"),
        ({"image": np.zeros((5, 31), np.uint8)}, r"image must be an array of whole numbers of shape \(5, 32\)"),
    ],
)
def test_what_no_row_can_say(make: Make, wrong: dict[str, Any], named: str) -> None:
    table = shared(make)
    counts0, counts = table.evidence()
    about: dict[str, Any] = {"idx": table.idx, "label": table.label, "seconds": table.seconds}
    with pytest.raises(InputError, match=named):
        from_evidence(table.header, **about, counts0=counts0, counts=counts, **wrong)


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ('"machine": 0', "machine=0; expected one that this or an earlier line describes"),
        ('"machine": {"hosts": "a"}', "'hosts'"),
        ('"machine": {"host": 7}', "host=7 is of the wrong type"),
        ('"image": "ab"', "image='ab'; expected 64 hexadecimal digits"),
    ],
)
def test_a_line_that_no_journal_wrote(make: Make, line: str, named: str) -> None:
    row = rows_of(make(1))[0].to_json()
    with pytest.raises(InputError, match=named.replace("(", r"\(")):
        JournalRow.from_json(row[:-1] + ", " + line + "}")
