"""An unfinished run is read as the table of its finished images, which says how many of how many they are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from certificates.walks import HEADER, table_of
from randsmooth.certificates import Certificates, Header, Journal, JournalRow, check_file, read
from randsmooth.certificates.unfinished import images_planned
from randsmooth.errors import InputError, Note


def begun(table: Certificates, path: Path, rows: list[int]) -> None:
    """The journal of a run that certifies `table` and has finished `rows`, in their order."""
    counts0, counts = table.evidence()
    with Journal.create(path, table.header) as journal:
        for row in rows:
            seconds = float(table.seconds[row])
            looks = (table.paths or ())[row]
            journal.append(
                JournalRow(int(table.idx[row]), int(table.label[row]), counts0[row], counts[row], looks, seconds)
            )


def test_what_is_finished_is_the_table_of_these_images(tmp_path: Path) -> None:
    table, path = table_of(HEADER.having(selection="take 40 of 120"), 40), tmp_path / "mine.parquet.partial"
    begun(table, path, [5, 2, 9])
    content = path.read_bytes()
    with pytest.warns(Note, match=r"not finished, judged are 3 of 40 images\. The command .* --resume"):
        read_ = read(path)
    assert read_.name == "mine (3 of 40)" and path.read_bytes() == content
    assert np.array_equal(read_.idx, table.idx[[2, 5, 9]]) and np.array_equal(read_.radius, table.radius[[2, 5, 9]])
    assert "3 of 40 images" in check_file(path)


def test_a_line_that_is_being_written_does_not_count(tmp_path: Path) -> None:
    table, path = table_of(HEADER, 40), tmp_path / "mine.parquet.partial"
    begun(table, path, [0, 1, 2])
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.warns(Note, match="the first 2 images"):
        assert len(read(path)) == 2


def test_a_rule_that_stops_early_finishes_easy_images_first_and_the_note_says_so(tmp_path: Path) -> None:
    begun(table_of(HEADER.having(rule="grid"), 40), tmp_path / "a.parquet.partial", [0, 1])
    with pytest.warns(Note, match="images that --rule grid decides early come first"):
        read(tmp_path / "a.parquet.partial")


def test_a_run_without_a_finished_image_has_nothing_to_judge(tmp_path: Path) -> None:
    begun(table_of(HEADER, 40), tmp_path / "a.parquet.partial", [])
    with pytest.raises(InputError, match="has not finished any image yet"):
        read(tmp_path / "a.parquet.partial")
    (tmp_path / "a.parquet.partial").write_bytes(b"")
    with pytest.raises(InputError, match="has not finished any image yet"):
        read(tmp_path / "a.parquet.partial")


@pytest.mark.parametrize(
    ("selection", "images"),
    [
        ("take 500 of 10000", 500),
        ("all 360", 360),
        ("one in 20 of 10000", 500),
        ("one in 7 of 360", 52),
        ("every 20th of 10000", 500),
        ("one in 0 of 10", None),
        ("the two best", None),
        (None, None),
    ],
)
def test_the_selection_says_how_many_images_there_will_be(selection: str | None, images: int | None) -> None:
    assert images_planned(Header(selection=selection)) == images
