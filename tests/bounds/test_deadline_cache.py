"""Boundaries of many thresholds in one file: made once, and never trusted by its name."""

import json
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

from randsmooth.bounds import cached_claims, claims_by_deadline, deadline_cache
from randsmooth.bounds.binomial import Ints
from randsmooth.errors import InputError, Note

LOOKS = [32, 64, 96, 128]
Q0, DEADLINES = [0.5, 0.3, 0.1], [64, 96, 128]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("RANDSMOOTH_CACHE", str(tmp_path))
    yield tmp_path / "boundaries"


def asked() -> Ints:
    return cached_claims(Q0, LOOKS, 0.05, DEADLINES)


def test_tables_are_made_once_and_read_afterwards(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = asked()
    alone = [claims_by_deadline(q, LOOKS, 0.05, deadline) for q, deadline in zip(Q0, DEADLINES, strict=True)]
    assert np.array_equal(first, alone)
    monkeypatch.setattr(deadline_cache, "claims_by_deadline", None)
    assert np.array_equal(asked(), first) and len([*folder.iterdir()]) == 1
    with pytest.raises(TypeError):
        cached_claims(Q0, LOOKS, 0.05, [64, 96, 96])  # another question


def test_a_file_that_is_damaged_or_answers_something_else_is_made_anew(folder: Path) -> None:
    first = asked()
    (path,) = folder.iterdir()
    body = path.read_bytes().partition(b"\n")[2]
    other = json.dumps(json.loads(body) | {"alpha": (0.5).hex()}).encode()
    short = json.dumps(json.loads(body) | {"claim": [[1, 2, 3, 4]]}).encode()
    for content in (
        body,
        path.read_bytes()[:-9],
        *(sha256(x).hexdigest().encode() + b"\n" + x for x in (other, short)),
    ):
        path.write_bytes(content)
        with pytest.warns(Note, match="so it is made anew"):
            assert np.array_equal(asked(), first)
        assert deadline_cache.check(path).startswith("boundaries of 3 thresholds and 4 looks")


def test_a_signed_file_that_claims_too_much_is_found_by_the_check(folder: Path) -> None:
    asked()
    (path,) = folder.iterdir()
    said = json.loads(path.read_bytes().partition(b"\n")[2])
    said["claim"][1][3] -= 4
    body = json.dumps(said).encode()
    path.write_bytes(sha256(body).hexdigest().encode() + b"\n" + body)
    with pytest.raises(InputError, match="claims falsely with probability"):
        deadline_cache.check(path)


def test_control_a_wrong_table_is_never_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deadline_cache, "claims_by_deadline", lambda *question: claims_by_deadline(*question) - 3)
    with pytest.raises(RuntimeError, match=r"claims falsely with probability .* please report"):
        asked()
    assert not folder.exists()


def test_where_nothing_can_be_written_tables_are_made_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("RANDSMOOTH_CACHE", str(tmp_path / "file"))
    assert asked().shape == (3, 4)
