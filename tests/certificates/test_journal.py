"""The journal of a running certification survives being killed at any byte."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from randsmooth.certificates import Certificates, Journal, Row
from randsmooth.errors import InputError

Make = Callable[..., Certificates]


def rows_of(table: Certificates) -> list[Row]:
    counts0, counts = table.evidence()
    paths = table.paths or ()
    return [
        Row(int(table.idx[i]), int(table.label[i]), counts0[i], counts[i], paths[i], float(table.seconds[i]))
        for i in range(len(table))
    ]


def written(table: Certificates, path: Path) -> bytes:
    journal = Journal.create(path, table.header)
    for row in rows_of(table):
        journal.append(row)
    return path.read_bytes()


def assert_same(a: Certificates, b: Certificates) -> None:
    for name in ("idx", "label", "predict", "radius", "seconds", "counts0", "counts"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)


def test_a_journal_holds_the_table(make: Make, tmp_path: Path) -> None:
    table, path = make(5), tmp_path / "run.journal"
    written(table, path)
    assert_same(Journal.resume(path, table.header).table(table.idx.tolist()), table)


def test_killed_at_any_byte_it_resumes_to_the_same_table(make: Make, tmp_path: Path) -> None:
    table, path = make(4), tmp_path / "run.journal"
    content = written(table, path)
    for length in range(len(content)):
        path.write_bytes(content[:length])
        journal = Journal.resume(path, table.header)
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


@pytest.mark.parametrize("garbage", ["not json\n", '{"idx": 1}\n', "[]\n"])
def test_a_damaged_line_inside_is_refused(make: Make, tmp_path: Path, garbage: str) -> None:
    path = tmp_path / "run.journal"
    written(make(2), path)
    with path.open("a") as file:
        file.write(garbage)
    with pytest.raises(InputError, match="line 4"):
        Journal.resume(path, make(1).header)
