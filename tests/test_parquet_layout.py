"""What Parquet files state is counted before it is made: false ones take no memory."""

import io
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from randsmooth.certificates import from_counts, read, write_parquet
from randsmooth.certificates import parquet_file as tables
from randsmooth.data import parquet_images
from randsmooth.parquet_layout import MOST_FIELDS, Misstated, layout_of, read_layout

ROWS = 7777  # which no other number in a footer is
IMAGE = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
MOST_GROWTH = 200  # MiB, of a process that refuses a file

# Runs both of its arguments, and prints the error of the second and the MiB that it took.
GROWTH = """
import resource, sys

def most():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

exec(sys.argv[1])
before = most()
try:
    exec(sys.argv[2])
except Exception as error:
    print(type(error).__name__, error)
print(most() - before)
"""


def growth(imports: str, does: str) -> tuple[str, float]:
    """The error of code in a process of its own, and the MiB that this grew by."""
    command = [sys.executable, "-c", GROWTH, imports, does]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    said, _, mib = done.stdout.strip().rpartition("\n")
    return said, float(mib)


def varint(value: int) -> bytes:
    content = b""
    while value >= 128:
        content += bytes([value & 127 | 128])
        value >>= 7
    return content + bytes([value])


def number(value: int) -> bytes:
    """A number that is not negative, as Thrift's compact protocol writes it."""
    return varint(2 * value)


def with_footer(content: bytes, change: Callable[[bytes], bytes]) -> bytes:
    length = int.from_bytes(content[-8:-4], "little")
    footer = change(content[-8 - length : -8])
    return content[: -8 - length] + footer + len(footer).to_bytes(4, "little") + b"PAR1"


def stored(**columns: object) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(pa.table(columns), buffer, compression="zstd", use_dictionary=False)
    return buffer.getvalue()


CONTENT = stored(x=np.arange(ROWS), y=[[7, 7]] * ROWS)


def test_it_says_what_pyarrow_says(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    texts = [b"z" * 5000] * 99 + [str(k).encode() for k in range(9901)]
    table = pa.table(
        {"x": np.arange(10_000), "y": [[k, 1, k] for k in range(10_000)], "z": texts}
    )
    for how in (
        {},
        {"row_group_size": 999},
        {"data_page_version": "2.0", "data_page_size": 1000},
        {"use_dictionary": False, "column_encoding": {"z": "DELTA_BYTE_ARRAY"}},
        {"compression": "none", "write_statistics": True, "write_page_checksum": True},
    ):
        pq.write_table(table, path, **how)
        layout, metadata = read_layout(path), pq.read_metadata(path)
        assert (
            layout.rows == 10_000
            and len(layout.chunks) == metadata.num_row_groups * metadata.num_columns
        )
        told = [
            metadata.row_group(k).column(j)
            for k in range(metadata.num_row_groups)
            for j in range(3)
        ]
        assert [chunk.values for chunk in layout.chunks] == [
            each.num_values for each in told
        ]
        for chunk, each in zip(layout.chunks, told, strict=True):
            assert chunk.column == each.path_in_schema.partition(".")[0]
            assert (
                0
                <= each.total_uncompressed_size - chunk.unpacked
                < 200 * len(chunk.pages)
            )  # their headers
        assert all(chunk.repeatable >= 5000 for chunk in layout.of("z")[:1])
        assert read_layout(path, ["x"]).chunks == tuple(layout.of(["x"]))


FALSE: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "more values than its pages": (
        lambda f: f.replace(number(2 * ROWS), number(2**28)),
        "268,435,456 values",
    ),
    "more rows than values": (
        lambda f: f.replace(number(ROWS), number(2**40), 1),
        "1,099,511,627,776 rows",
    ),
    "a number of 70 bits": (
        lambda f: f.replace(number(ROWS), b"\xff" * 11, 1),
        "64 bits",
    ),
    "a list longer than itself": (
        lambda f: b"\x29\xfc" + varint(10**6) + f,
        "a list of 1,000,000",
    ),
    "structs without end": (lambda f: b"\x1c" * 10**4, "deeper than"),
    "facts without end": (
        lambda f: b"\x29\xf3" + varint(2**21) + bytes(2**21),
        f"more than {MOST_FIELDS:,}",
    ),
    "nothing": (lambda f: b"", "cut short"),
    "no group of rows": (lambda f: b"\0", "groups of rows"),
}


@pytest.mark.parametrize("what", FALSE)
def test_what_cannot_be_is_not_read(what: str) -> None:
    change, told = FALSE[what]
    with pytest.raises(Misstated, match=told):
        layout_of(io.BytesIO(with_footer(CONTENT, change)))


def test_a_page_beyond_its_column_or_its_count() -> None:
    content = stored(x=np.arange(ROWS))
    first = content.index(number(ROWS))  # of the one page, before the footer
    more = content[:first] + number(ROWS + 1) + content[first + len(number(ROWS)) :]
    with pytest.raises(Misstated, match=f"{ROWS + 1:,}"):
        layout_of(io.BytesIO(more))
    assert content[4:6] == b"\x15\0"  # the kind of the first page, a number
    with pytest.raises(Misstated, match="kind of a page"):
        layout_of(io.BytesIO(content[:4] + b"\x19\x03" + content[6:]))
    for length in range(12, len(content), 501):
        with pytest.raises(Misstated):
            layout_of(io.BytesIO(content[:length]))


def zeros(path: Path, values: int) -> None:
    """A certificate table of one image with so many counts, all 0, in a few kB."""
    write_parquet(from_counts([[990, 10]], picked=[0], label=[0], sigma=0.5), path)
    table = pq.read_table(path)
    counts = pa.ListArray.from_arrays(
        pa.array([0, values], pa.int32()), pa.array(np.zeros(values, np.int64))
    )
    pq.write_table(
        table.set_column(table.schema.get_field_index("counts"), "counts", counts),
        path,
        compression="zstd",
    )


def test_a_small_table_of_gigabytes_is_refused_before_they_are_made(
    tmp_path: Path,
) -> None:
    path = tmp_path / "false.parquet"
    zeros(path, 2**25)
    assert path.stat().st_size < 18_000
    said, mib = growth(
        "from randsmooth.certificates import read", f"read({str(path)!r})"
    )
    assert "WrongFile" in said and "false.parquet states" in said and "takes" in said
    assert mib < MOST_GROWTH


def test_equal_counts_of_many_images_are_written_so_that_they_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Packed they would be taken for a false file: they are stored as they are."""
    monkeypatch.setattr(tables, "ALWAYS_ALLOWED_BYTES", 2**16)
    monkeypatch.setattr(tables, "MOST_BYTES_PER_BYTE", 100)
    ones = np.zeros((2000, 50), np.int64)
    ones[:, 3] = 1000
    table = from_counts(ones, picked=[3] * 2000, label=[3] * 2000, sigma=0.5)
    write_parquet(table, tmp_path / "a.parquet")
    assert np.array_equal(np.asarray(read(tmp_path / "a.parquet").counts), ones)
    assert (tmp_path / "a.parquet").stat().st_size > ones.nbytes


def test_fewer_rows_are_read_at_a_time_where_they_may_repeat_a_large_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet_images, "REPEATED_BYTES", 2**20)
    rows = [{"bytes": bytes(2**17), "path": None}] * 100
    table = pa.table({"image": pa.array(rows, IMAGE), "label": [0] * 100})
    file = tmp_path / "train.parquet"
    for how, most in (
        ({"use_dictionary": True}, 7),
        ({"use_dictionary": False}, parquet_images.MOST_ROWS_AT_A_TIME),
        (
            {
                "use_dictionary": False,
                "column_encoding": {"image.bytes": "DELTA_BYTE_ARRAY"},
            },
            7,
        ),
    ):
        pq.write_table(table, file, compression="zstd", **how)
        assert parquet_images.rows_at_a_time(file, ["image", "label"]) == most, how


def test_a_small_data_set_that_unpacks_to_gigabytes_is_refused(tmp_path: Path) -> None:
    batch = pa.record_batch(
        {
            "image": pa.array([{"bytes": bytes(2**25), "path": None}], IMAGE),
            "label": [0],
        }
    )
    with pq.ParquetWriter(
        tmp_path / "train.parquet", batch.schema, compression="zstd"
    ) as writer:
        for _ in range(8):
            writer.write_batch(batch)
    assert (tmp_path / "train.parquet").stat().st_size < 18_000
    said, mib = growth(
        "from randsmooth import data; import randsmooth.data.parquet_images",
        f"data.load({str(tmp_path)!r})",
    )
    assert "WrongData" in said and "train.parquet swells to more than" in said
    assert mib < MOST_GROWTH
