"""A table is what was written, or it is refused: every part of the evidence has its digest."""

import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from randsmooth.certificates import Certificates, columns, read, write_parquet
from randsmooth.certificates.digest import damaged, digests
from randsmooth.certificates.parquet import DIGESTS, KEY
from randsmooth.errors import InputError, Note

Make = Callable[..., Certificates]
SAMPLE = 1_000  # of some sixty thousand bits


def everything(table: Certificates) -> tuple[object, ...]:
    """All that is read from a table, to the last bit."""
    arrays = ("idx", "label", "predict", "radius", "seconds", "counts0", "counts")
    paths = tuple(path.tobytes() for path in table.paths or ())
    return (table.header, *(getattr(table, name).tobytes() for name in arrays), paths)


def changed_by_a_flip(path: Path, bits: list[int], read: Callable[[Path], object]) -> list[int]:
    """The bits of the file that change, flipped alone, what is read without its being refused."""
    content = bytearray(path.read_bytes())
    right, found = read(path), []
    for bit in bits:
        content[bit // 8] ^= 1 << bit % 8
        path.write_bytes(content)
        content[bit // 8] ^= 1 << bit % 8
        try:
            if read(path) != right:
                found.append(bit)
        except InputError as error:
            assert str(path) in str(error)
    path.write_bytes(content)
    return found


def flips(make: Make, path: Path, some: int | None) -> None:
    write_parquet(make(25), path)
    bits = np.arange(8 * path.stat().st_size)
    assert len(bits) > 50_000
    chosen = bits if some is None else np.random.default_rng(0).choice(bits, some, replace=False)
    with warnings.catch_warnings(action="ignore", category=Note):  # where the digests' own name is hit
        assert changed_by_a_flip(path, chosen.tolist(), lambda path: everything(read(path))) == []


@pytest.mark.slow
def test_no_flipped_bit_of_a_sample_changes_what_is_read(make: Make, tmp_path: Path) -> None:
    flips(make, tmp_path / "a.parquet", SAMPLE)


@pytest.mark.slow
def test_no_flipped_bit_changes_what_is_read(make: Make, tmp_path: Path) -> None:
    flips(make, tmp_path / "a.parquet", None)


def with_metadata(path: Path, **changed: bytes) -> None:
    """Rewrite a table with other metadata; `key` and `digests` name the two."""
    names = {"key": KEY, "digests": DIGESTS}
    table = pq.read_table(path)
    new = table.schema.metadata | {names[name]: value for name, value in changed.items()}
    pq.write_table(table.replace_schema_metadata(new), path)


@pytest.mark.parametrize("name", ["idx", "label", "counts0", "counts", "path", "seconds"])
def test_a_changed_column_is_named(make: Make, tmp_path: Path, name: str) -> None:
    """Every row has the values of the one before, so that every sum is right."""
    path = tmp_path / "a.parquet"
    table = make(25)
    write_parquet(table, path)
    arrow = pq.read_table(path)
    values = arrow[name].to_pylist()
    column = pa.array([values[-1], *values[:-1]], arrow.schema.field(name).type)
    changed = arrow.set_column(arrow.schema.get_field_index(name), name, column)
    pq.write_table(changed.replace_schema_metadata(arrow.schema.metadata), path)
    with pytest.raises(InputError, match=rf"a.parquet is damaged.* is its {name}\. Take another copy"):
        read(path)


def test_a_changed_header_is_named(make: Make, tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    write_parquet(make(5), path)
    header = pq.read_metadata(path).metadata[KEY]
    with_metadata(path, key=header.replace(b'"seed":7', b'"seed":8'))
    with pytest.raises(InputError, match=r"is its header\."):
        read(path)


@pytest.mark.parametrize("stored", [b"", b"header 00", b"\xff" * 40])
def test_damaged_digests_are_named(make: Make, tmp_path: Path, stored: bytes) -> None:
    path = tmp_path / "a.parquet"
    write_parquet(make(5), path)
    with_metadata(path, digests=stored)
    with pytest.raises(InputError, match=r"is its digests\."):
        read(path)


def test_the_rows_of_another_table_do_not_pass_under_this_header(make: Make, tmp_path: Path) -> None:
    ours, theirs = tmp_path / "ours.parquet", tmp_path / "theirs.parquet"
    write_parquet(make(25, seed=0), ours)
    write_parquet(make(25, seed=1), theirs)
    there = pq.read_table(theirs)
    pq.write_table(there.replace_schema_metadata(pq.read_table(ours).schema.metadata), ours)
    with pytest.raises(InputError, match="is its label, counts0, counts, path, seconds"):
        read(ours)


def test_a_table_without_digests_is_read_with_a_note(make: Make, tmp_path: Path) -> None:
    path, table = tmp_path / "old.parquet", make(25)
    write_parquet(table, path)
    arrow = pq.read_table(path)
    bare = {KEY: arrow.schema.metadata[KEY]}
    pq.write_table(arrow.replace_schema_metadata(bare), path)
    with pytest.raises(InputError, match=r"old\.parquet is damaged: its digests are lost"):
        read(path)
    older = {KEY: bare[KEY].replace(b'{"version":4,', b'{"version":2,')}
    pq.write_table(arrow.replace_schema_metadata(older), path)
    with pytest.warns(Note, match="old.parquet was written before tables carried digests"):
        assert everything(read(path)) == everything(replace(table, header=table.header.having(version=2)))
    write_parquet(table, path)  # written anew, it has them
    with warnings.catch_warnings(action="error"):
        assert everything(read(path)) == everything(table)


@pytest.mark.parametrize("metadata", [{}, {DIGESTS: b"{}"}, {b"randsmootj": b"{}"}])
def test_a_table_that_lost_its_header_is_no_foreign_file(
    make: Make, tmp_path: Path, metadata: dict[bytes, bytes]
) -> None:
    path = tmp_path / "a.parquet"
    write_parquet(make(5), path)
    pq.write_table(pq.read_table(path).replace_schema_metadata(metadata), path)
    with pytest.raises(InputError, match=r"a\.parquet is damaged: its header is lost"):
        read(path)


def test_a_table_with_an_image_twice_is_not_written(make: Make, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds image 3 twice"):
        write_parquet(make(5).rows(np.array([0, 1, 1])), tmp_path / "a.parquet")
    assert not (tmp_path / "a.parquet").exists()


@pytest.mark.parametrize(("limit", "most"), [("MOST_ROWS", 24), ("MOST_VALUES", 74)])
def test_a_table_beyond_all_use_is_neither_written_nor_read(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, most: int
) -> None:
    """25 images in three classes."""
    path = tmp_path / "a.parquet"
    monkeypatch.setattr(columns, limit, most + 1)
    write_parquet(make(25), path)
    assert len(read(path)) == 25
    monkeypatch.setattr(columns, limit, most)
    with pytest.raises(InputError, match=r"a\.parquet says it holds 25 rows of 3 classes"):
        read(path)
    with pytest.raises(InputError, match="25 rows with 75 numbers are more than a table is read with"):
        write_parquet(make(25), path)


def test_a_column_cannot_pass_for_another() -> None:
    a, b = np.arange(6), np.arange(6) + 1
    said = digests(b"{}", {"idx": [a], "label": [b]})
    assert damaged(said, digests(b"{}", {"idx": [a], "label": [b]})) == []
    assert damaged(said, digests(b"{}", {"idx": [b], "label": [a]})) == ["idx", "label"]
    lines = said.split(b"\n")
    exchanged = b"\n".join([lines[0], b"idx" + lines[2][5:], b"label" + lines[1][3:]])
    assert damaged(exchanged, digests(b"{}", {"idx": [b], "label": [a]})) == ["idx", "label"]


@pytest.mark.parametrize(
    "parts",
    [
        [np.arange(6).reshape(3, 2)],
        [np.arange(6).reshape(2, 3)],
        [np.arange(6).astype(np.float64)],
        [np.arange(3), np.arange(3, 6)],
        [np.arange(2), np.arange(2, 6)],
    ],
)
def test_shape_type_and_lengths_are_part_of_a_digest(parts: list[np.ndarray]) -> None:
    plain = digests(b"", {"counts": [np.arange(6)]})
    assert damaged(plain, digests(b"", {"counts": parts})) == ["counts"]
