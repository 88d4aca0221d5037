"""The journal of a running certification survives being killed at any byte."""

import json
import os
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from randsmooth.certificates import Certificates, Header, Journal, JournalRow, journal_header
from randsmooth.certificates.digest import link
from randsmooth.certificates.journal import read_journal, table_of
from randsmooth.certificates.pace import Pace
from randsmooth.errors import InputError, Note

Make = Callable[..., Certificates]


def rows_of(table: Certificates) -> list[JournalRow]:
    counts0, counts = table.evidence()
    paths = table.paths or ()
    return [
        JournalRow(int(table.idx[i]), int(table.label[i]), counts0[i], counts[i], paths[i], float(table.seconds[i]))
        for i in range(len(table))
    ]


def written(table: Certificates, path: Path) -> bytes:
    with Journal.create(path, table.header) as journal:
        for row in rows_of(table):
            journal.append(row)
    return path.read_bytes()


def bare(content: bytes) -> bytes:
    """A journal as it was before there were checksums."""
    older = content.replace(b'{"version":4,', b'{"version":2,', 1)
    return b"".join(line.partition(b"\t")[0] + b"\n" for line in older.splitlines())


def assert_same(a: Certificates, b: Certificates) -> None:
    for name in ("idx", "label", "predict", "radius", "seconds", "counts0", "counts"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)


def test_a_journal_holds_the_table(make: Make, tmp_path: Path) -> None:
    table, path = make(5), tmp_path / "run.journal"
    written(table, path)
    with Journal.resume(path, table.header) as journal:
        assert_same(journal.table(table.idx.tolist()), table)


def test_killed_at_any_byte_it_resumes_to_the_same_table(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)  # a kill leaves what the system was given
    table, path = make(4), tmp_path / "run.journal"
    content = written(table, path)
    for length in range(len(content)):
        path.write_bytes(content[:length])
        with Journal.resume(path, table.header) as journal:
            assert len(journal.rows) == max(0, content[:length].count(b"\n") - 1)
            for row in rows_of(table)[len(journal.rows) :]:
                journal.append(row)
        assert path.read_bytes() == content, f"cut at {length}"
        assert_same(journal.table(table.idx.tolist()), table)


@pytest.mark.parametrize(("field", "value"), [("sigma", 0.25), ("n", 201), ("seed", 8), ("model", {"method": "macer"})])
def test_another_run_is_refused_by_its_field(make: Make, tmp_path: Path, field: str, value: object) -> None:
    path = tmp_path / "run.journal"
    written(make(2), path)
    with pytest.raises(InputError, match=f"{field}: "):
        Journal.resume(path, make(1).header.model_copy(update={field: value}))


def row_json(**changed: object) -> str:
    usual = {"idx": 99, "label": 0, "seconds": 1.0, "counts0": [20, 0, 0], "counts": [200, 0, 0], "path": [200]}
    kept = {key: value for key, value in (usual | changed).items() if value is not ...}
    return json.dumps(kept)


BAD_ROWS = {
    "not json": ("not json", "line 4 is not JSON"),
    "no row": ("[]", "line 4 is no row"),
    "a key gone": (row_json(path=...), "line 4 is no row: expected idx"),
    "a key more": (row_json(colour=1), "line 4 is no row"),
    "a key twice": ('{"idx": 1, "idx": 2}', "line 4.*'idx' is given twice"),
    "nested": ("[" * 100_000, "line 4 is nested deeper"),
    "text for idx": (row_json(idx="99"), "line 4 holds idx='99'"),
    "half an idx": (row_json(idx=99.0), "line 4 holds idx=99.0"),
    "true for a label": (row_json(label=True), "line 4 holds label=True"),
    "idx below 0": (row_json(idx=-1), "line 4 holds idx=-1"),
    "endless idx": (row_json(idx=10**30), "line 4 holds idx=10+;"),
    "half a count": (row_json(counts=[199.5, 0.5, 0]), "line 4 holds counts other than"),
    "counts below 0": (row_json(counts=[201, -1, 0]), "line 4 holds counts other than"),
    "a number for counts": (row_json(counts0=20), "line 4 holds counts0 other than"),
    "counts within counts": (row_json(path=[[200]]), "line 4 holds path other than"),
    "text for seconds": (row_json(seconds="1"), "line 4 holds seconds='1'"),
    "negative seconds": (row_json(seconds=-1), "line 4 holds seconds=-1"),
    "endless seconds": (row_json(seconds=1).replace(": 1,", ": 1e999,"), "line 4 is not JSON.*too large"),
    "two classes of three": (row_json(counts=[200, 0]), "line 4 is damaged.*counts 2 classes, not 3"),
    "two classes that picked": (row_json(counts0=[20, 0]), "line 4 is damaged.*classes, not 3"),
    "an image twice": (row_json(idx=3), "line 4 is damaged .image 3 is there twice"),
    "a count lost": (row_json(counts=[199, 0, 0]), "counts of image 99 sum to 199, not to 200"),
    "no such label": (row_json(label=3), "label 3 of image 99 is not among the 3"),
    "another path": (row_json(path=[150]), "looks of image 99 do not fit"),
}


@pytest.mark.parametrize("what", BAD_ROWS)
@pytest.mark.parametrize("checksums", [True, False])
def test_a_finished_line_that_makes_no_sense_is_refused(make: Make, tmp_path: Path, what: str, checksums: bool) -> None:
    """Also where the checksum is right: what was written was no row then."""
    path, (line, named) = tmp_path / "run.journal", BAD_ROWS[what]
    content = written(make(2), path)
    last = content.rstrip(b"\n").rpartition(b"\t")[2].decode()
    end = f"{line}\t{link(last, line.encode())}\n" if checksums else f"{line}\n"
    path.write_bytes((content if checksums else bare(content)) + end.encode())
    with pytest.raises(InputError, match=named) as raised:
        Journal.resume(path, make(1).header)
    assert str(path) in str(raised.value)


def taken(path: Path) -> list[str]:
    """The rows that a resumed run would take from the journal, and its header."""
    content = read_journal(path)
    return [] if content is None else [content.header.model_dump_json(), *(row.to_json() for row in content.rows)]


@pytest.mark.parametrize("some", [700, pytest.param(None, marks=pytest.mark.slow)])
def test_every_flipped_bit_is_refused_but_those_of_the_last_line_break(
    make: Make, tmp_path: Path, some: int | None
) -> None:
    """There the last line counts as unfinished, and its image is certified anew. All bits, or a sample."""
    path = tmp_path / "run.journal"
    content = bytearray(written(make(2), path))
    right, bits = taken(path), range(8 * len(content))
    assert len(right) == 3 and len(bits) > 5_000
    chosen = bits if some is None else [*random.Random(0).sample(bits, some), *bits[-8:]]
    for bit in chosen:
        content[bit // 8] ^= 1 << bit % 8
        path.write_bytes(content)
        content[bit // 8] ^= 1 << bit % 8
        if bit // 8 == len(content) - 1:
            assert taken(path) == right[:-1]
        else:
            with pytest.raises(InputError, match=r"run\.journal"):
                read_journal(path)


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (lambda lines: [lines[0], *lines[2:]], 2),
        (lambda lines: [*lines[:2], *lines[1:]], 3),
        (lambda lines: [lines[0], lines[2], lines[1], *lines[3:]], 2),
        (lambda lines: lines[1:], 1),
        (lambda lines: [*lines[:3], b"", *lines[3:]], 4),
        (lambda lines: [*lines[:2], bytes(len(lines[2])), *lines[3:]], 3),  # a block that never reached the disk
        (lambda lines: [*lines[:2], bare(lines[2])[:-1], *lines[3:]], 3),
    ],
)
def test_a_line_lost_doubled_swapped_or_emptied_is_refused(
    make: Make, tmp_path: Path, change: Callable[[list[bytes]], list[bytes]], line: int
) -> None:
    path = tmp_path / "run.journal"
    lines = written(make(4), path).splitlines()
    path.write_bytes(b"\n".join(change(lines)) + b"\n")
    way = rf"delete all from this line on to --resume with the {line - 2} images" if line > 2 else "use --overwrite"
    with pytest.raises(InputError, match=rf"line {line} is damaged .*{way}"):
        Journal.resume(path, make(1).header)


def test_the_way_out_of_a_damaged_line_leads_out(make: Make, tmp_path: Path) -> None:
    table, path = make(4), tmp_path / "run.journal"
    lines = written(table, path).splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:3]))
    with Journal.resume(path, table.header) as journal:
        assert [row.idx for row in journal.rows] == table.idx[:2].tolist()


def test_a_line_of_another_journal_is_refused(make: Make, tmp_path: Path) -> None:
    ours, theirs = tmp_path / "run.journal", tmp_path / "other.journal"
    content, other = written(make(3), ours), written(make(3, seed=1, sigma=0.25), theirs)
    ours.write_bytes(b"".join([*content.splitlines(keepends=True)[:3], other.splitlines(keepends=True)[3]]))
    with pytest.raises(InputError, match="line 4 is damaged"):
        Journal.resume(ours, make(1).header)


@pytest.mark.parametrize("known", [0, 1, 3, 4])
def test_a_journal_without_checksums_goes_on_with_them(make: Make, tmp_path: Path, known: int) -> None:
    """What was written without is covered by the first line that has one."""
    table, path = make(4), tmp_path / "run.journal"
    old = bare(b"".join(written(table, path).splitlines(keepends=True)[: known + 1]))
    path.write_bytes(old)
    with pytest.warns(Note, match=f"before journals carried checksums: {known + 1} lines"):
        journal = Journal.resume(path, table.header)
    with journal:
        for row in rows_of(table)[known:]:
            journal.append(row)
    content = path.read_bytes()
    assert content.startswith(old) and content.count(b"\t") == 4 - known
    with pytest.warns(Note), Journal.resume(path, table.header) as journal:
        assert_same(journal.table(table.idx.tolist()), table)
    if known < 4:
        path.write_bytes(content.replace(b'"label": ', b'"label":  ', 1))
        with pytest.raises(InputError, match=f"line {known + 2} is damaged|line 2 is damaged"):
            Journal.resume(path, table.header)


def test_the_header_is_read_alone(make: Make, tmp_path: Path) -> None:
    path, table = tmp_path / "run.journal", make(2)
    content = written(table, path)
    assert journal_header(path) == table.header
    path.write_bytes(bare(content))
    assert journal_header(path) == table.header.having(version=2)
    path.write_bytes(content.replace(b'"seed":7', b'"seed":8'))
    with pytest.raises(InputError, match="line 1 is damaged"):
        journal_header(path)
    path.write_bytes(content[:40])
    assert journal_header(path) is None


class Disk:
    """A clock, and syncs that take `takes` seconds of it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, takes: float) -> None:
        self.now, self.takes, self.syncs = 0.0, takes, 0
        monkeypatch.setattr(os, "fsync", self.fsync)

    def fsync(self, descriptor: int) -> None:
        assert os.fstat(descriptor).st_size > 0
        self.syncs += 1
        self.now += self.takes


@pytest.mark.parametrize("takes", [0.0, 1e-6, 0.002, 0.1, 3.0])
@pytest.mark.parametrize("row_takes", [0.0005, 0.01, 5.0])
def test_syncs_take_at_most_half_a_hundredth_of_a_run(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, takes: float, row_takes: float
) -> None:
    """All but the last one, whatever a sync and a row take; and none is put off longer than that needs."""
    table, path = make(300), tmp_path / "run.journal"
    Journal.create(path, table.header).close()
    disk = Disk(monkeypatch, takes)
    pace, reported, waited = Pace(lambda: disk.now), 0, [0.0]
    with Journal(path, table.header, [], "", pace) as journal:
        for row in rows_of(table):
            disk.now += row_takes
            journal.append(row)
            before = disk.now
            safe = journal.settle()
            if safe:
                waited.append(before)
            reported += safe
            assert reported == journal.safe <= len(journal.rows)
        spent = (disk.syncs - 1) * takes
        assert spent <= disk.now / 200
        assert max(np.diff(waited)) <= 201 * takes + row_takes + 1e-9
        reported += journal.sync()
    assert reported == len(table) == journal.safe


def test_a_slow_disk_is_asked_seldom_and_a_fast_one_after_every_row(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, syncs = make(100), {}
    for takes in (1e-5, 0.1):
        path = tmp_path / f"{takes}.journal"
        Journal.create(path, table.header).close()
        disk = Disk(monkeypatch, takes)
        with Journal(path, table.header, [], "", Pace(lambda disk=disk: disk.now)) as journal:  # type: ignore[misc]
            for row in rows_of(table):
                disk.now += 0.5
                journal.append(row)
                journal.settle()
        syncs[takes] = disk.syncs
    assert syncs == {1e-5: 100, 0.1: 4}  # at once, every 20.1 s of 50, and on the way out


def test_rows_in_hand_are_synced_on_every_way_out(make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table, path = make(3), tmp_path / "run.journal"
    with pytest.raises(KeyboardInterrupt), Journal.create(path, table.header) as journal:
        synced: list[int] = []
        monkeypatch.setattr(os, "fsync", lambda descriptor: synced.append(os.fstat(descriptor).st_size))
        for row in rows_of(table):
            journal.append(row)
        raise KeyboardInterrupt
    assert synced == [path.stat().st_size]
    assert journal.safe == 3 and journal.file.closed


def test_a_new_journal_and_its_name_are_synced(make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[Path] = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: synced.append(Path(f"/proc/self/fd/{descriptor}").readlink()))
    Journal.create(tmp_path / "deep" / "run.journal", make(1).header).close()
    assert synced == [tmp_path / "deep" / "run.journal", tmp_path / "deep"]


def test_a_journal_that_was_removed_is_not_written_on_in_silence(make: Make, tmp_path: Path) -> None:
    table, path = make(3), tmp_path / "run.journal"
    with pytest.raises(InputError, match="was removed while its run"), Journal.create(path, table.header) as journal:
        path.unlink()
        journal.append(rows_of(table)[0])
        journal.sync()
    assert journal.file.closed


def test_rows_that_are_kept_take_little_memory_and_say_the_same() -> None:
    many = np.array([100_000, 0, 7] + 997 * [0])
    row = JournalRow(3, 0, np.minimum(many, 100), many, many[:1], seconds=1.0)
    slim = row.slim()
    assert slim.counts.nbytes + slim.counts0.nbytes == 5 * 1000
    assert slim.to_json() == row.to_json()
    table = table_of(Header(sigma=0.5, n0=107, n=100_007, alpha=0.001), [slim])
    assert table.counts is not None and table.counts.dtype == np.int64
    assert table.counts[0].tolist() == many.tolist()
