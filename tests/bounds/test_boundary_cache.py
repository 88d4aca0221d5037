"""The cache of boundaries: made once, checked when made and when read, and never trusted by its name."""

import hashlib
import json
import multiprocessing
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from randsmooth.bounds import boundary_cache
from randsmooth.bounds.boundaries import Boundary, boundary, crossing_probability
from randsmooth.bounds.boundary_cache import cached_boundary
from randsmooth.bounds.schedule import LATE, looks
from randsmooth.errors import InputError, Note

LOOKS = looks(2_000)
ASKED = (0.16, LOOKS, 0.05)
OTHER = replace(LATE, beta=0.02)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("RANDSMOOTH_CACHE", str(tmp_path))
    boundary_cache._remembered.cache_clear()
    yield tmp_path / "boundaries"
    boundary_cache._remembered.cache_clear()


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The q0 of every table that was computed."""
    calls: list[float] = []

    def counted(q0: float, *rest: object) -> Boundary:
        calls.append(q0)
        return boundary(q0, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(boundary_cache, "boundary", counted)
    return calls


def again() -> Boundary:
    """What a new process would be told."""
    boundary_cache._remembered.cache_clear()
    return cached_boundary(*ASKED)


def same(one: Boundary, other: Boundary) -> bool:
    counts = [(one.looks, other.looks), (one.claim, other.claim), (one.give_up, other.give_up)]
    return one.q0 == other.q0 and one.alpha == other.alpha and all(np.array_equal(a, b) for a, b in counts)


def test_a_table_is_computed_once_and_read_afterwards(folder: Path, made: list[float]) -> None:
    first = cached_boundary(*ASKED)
    assert same(first, boundary(*ASKED))
    assert cached_boundary(*ASKED) is first  # from memory
    read = again()
    assert read is not first and same(read, first)  # from disk
    assert made == [0.16] and len(list(folder.iterdir())) == 1
    assert not any(counts.flags.writeable for counts in (read.looks, read.claim, read.give_up))


def test_whatever_is_asked_differently_has_its_own_file(folder: Path) -> None:
    q0, n, alpha = ASKED
    cached_boundary(q0, n, alpha)
    cached_boundary(float(np.nextafter(q0, 1.0)), n, alpha)
    cached_boundary(q0, n[1:], alpha)
    cached_boundary(q0, n, float(np.nextafter(alpha, 1.0)))
    cached_boundary(q0, n, alpha, OTHER)
    assert len(list(folder.iterdir())) == 5
    cached_boundary(q0, n.tolist(), alpha)  # asked for above, in other words
    assert len(list(folder.iterdir())) == 5


def file_of(folder: Path, *asked: object) -> Path:
    """The file that a question's answer is kept in."""
    before = set(folder.iterdir()) if folder.is_dir() else set()
    cached_boundary(*asked)  # type: ignore[arg-type]
    (path,) = set(folder.iterdir()) - before
    return path


def rewritten(path: Path, **changed: object) -> None:
    """Another answer in a file that is whole in itself."""
    stored = json.loads(path.read_bytes().partition(b"\n")[2])
    body = json.dumps(stored | changed).encode()
    path.write_bytes(hashlib.sha256(body).hexdigest().encode() + b"\n" + body)


def test_a_damaged_file_is_made_anew(folder: Path, made: list[float]) -> None:
    right = cached_boundary(*ASKED)
    (path,) = folder.iterdir()
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    damages = [b"", b"\n", b"garbage", bytes(range(256)), b"PK\x03\x04" + whole, whole + b" "]
    for place in [0, 64, 65, len(whole) - 1, *rng.integers(0, len(whole), 30).tolist()]:
        flipped = bytearray(whole)
        flipped[place] ^= 1 << int(rng.integers(8))
        damages += [bytes(flipped), whole[:place]]
    for damaged in damages:
        path.write_bytes(damaged)
        with pytest.warns(Note, match=r"damaged\), so it is made anew"):
            assert same(again(), right)
        assert path.read_bytes() == whole  # written again
    assert len(made) == 1 + len(damages)


def test_a_file_copied_over_another_is_made_anew(folder: Path, made: list[float]) -> None:
    """The table of radius 0 is the most generous one: under the name of another it would claim what is false."""
    zero, other = file_of(folder, 0.5, LOOKS, 0.05), file_of(folder, *ASKED)
    right = boundary(*ASKED)
    copied = cached_boundary(0.5, LOOKS, 0.05).claim
    assert crossing_probability(copied, LOOKS, ASKED[0]) > 0.99
    other.write_bytes(zero.read_bytes())
    with pytest.warns(Note, match=r"made for another q0\)"):
        assert same(again(), right)
    assert made == [0.5, 0.16, 0.16]
    assert same(again(), right) and len(made) == 3  # and kept


@pytest.mark.parametrize(
    ("asked", "named"),
    [
        ((0.16, LOOKS, 0.04), "alpha"),
        ((0.16, LOOKS[1:], 0.05), "looks"),
        ((0.16, LOOKS, 0.05, OTHER), "spending"),
    ],
)
def test_a_file_of_another_question_is_made_anew(folder: Path, asked: tuple[object, ...], named: str) -> None:
    path, other = file_of(folder, *ASKED), file_of(folder, *asked)
    path.write_bytes(other.read_bytes())
    with pytest.warns(Note, match=rf"made for another {named}\)"):
        assert same(again(), boundary(*ASKED))


def test_a_file_by_another_spending_or_format_is_made_anew(folder: Path) -> None:
    path = file_of(folder, *ASKED)
    for changed in ({"spending": [(0.05).hex()] * len(LOOKS)}, {"format": 1}):
        rewritten(path, **changed)
        with pytest.warns(Note, match=f"made for another {next(iter(changed))}"):
            assert same(again(), boundary(*ASKED))


def test_a_file_that_lies_about_its_question_fails_the_check_of_its_level(folder: Path) -> None:
    path, right = file_of(folder, *ASKED), boundary(*ASKED)
    for claim in (boundary(0.5, LOOKS, 0.05).claim, boundary(0.16, LOOKS, 0.06).claim, right.claim - 1):
        rewritten(path, claim=claim.tolist(), give_up=[-1] * len(LOOKS))
        with pytest.warns(Note, match=r"it claims falsely with probability \S+, more than alpha=0\.05"):
            assert same(again(), right)


COUNTS = LOOKS.tolist()
STRANGE = [
    ({"claim": None}, "claim is no list"),
    ({"claim": COUNTS[1:]}, "claim is no list of"),
    ({"claim": [COUNTS]}, "claim is no list of"),
    ({"give_up": [float(n) for n in COUNTS]}, "give_up is no list of .* whole numbers"),
    ({"claim": [str(n) for n in COUNTS]}, "claim is no list"),
    ({"claim": [True] * len(COUNTS)}, "claim is no list"),
    ({"claim": [n + 2 for n in COUNTS]}, "claim is out of range"),
    ({"give_up": [-2] * len(COUNTS)}, "give_up is out of range"),
    ({"claim": [10**30] * len(COUNTS)}, "claim is out of range"),
    ({"give_up": COUNTS}, "gives up where it claims"),
]


@pytest.mark.parametrize(("changed", "named"), STRANGE)
def test_a_file_of_strange_counts_is_made_anew(folder: Path, changed: dict[str, object], named: str) -> None:
    path = file_of(folder, *ASKED)
    rewritten(path, **changed)
    with pytest.warns(Note, match=named):
        assert same(again(), boundary(*ASKED))


def test_a_file_of_something_else_is_made_anew(folder: Path) -> None:
    path = file_of(folder, *ASKED)
    body = b"[1, 2]"
    path.write_bytes(hashlib.sha256(body).hexdigest().encode() + b"\n" + body)
    with pytest.warns(Note, match="made for another format"):
        assert same(again(), boundary(*ASKED))


@pytest.mark.parametrize(
    ("body", "named"),
    [
        (b"[" * 100_000, "nested deeper than"),
        (b'{"claim": [' + b"1," * 10**6 + b"1]}", "made for another format"),
        (b'{"format": 3, "format": 3}', "is given twice"),
        (b'{"claim": [' + b"9" * 5000 + b"]}", "is not JSON"),
        (b"\xff", "is not JSON"),
        (b" " * 2**24, r"16,777,281 bytes long; expected at most 16,777,216"),
    ],
    ids=["deep", "long", "twice", "digits", "no text", "large"],
)
def test_a_file_of_absurd_content_is_made_anew(folder: Path, body: bytes, named: str) -> None:
    path = file_of(folder, *ASKED)
    path.write_bytes(hashlib.sha256(body).hexdigest().encode() + b"\n" + body)
    with pytest.warns(Note, match=named):
        assert same(again(), boundary(*ASKED))


def test_a_pipe_is_not_waited_for(folder: Path) -> None:
    path = file_of(folder, *ASKED)
    path.unlink()
    os.mkfifo(path)
    assert same(again(), boundary(*ASKED))


def test_a_folder_that_cannot_be_written_costs_memory_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made: list[float]
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("RANDSMOOTH_CACHE", str(tmp_path / "file"))
    first = cached_boundary(*ASKED)
    assert same(first, boundary(*ASKED)) and cached_boundary(*ASKED) is first
    assert made == [0.16]


def test_a_file_that_cannot_be_read_or_replaced_costs_memory_only(folder: Path, made: list[float]) -> None:
    path = file_of(folder, *ASKED)
    path.unlink()
    path.mkdir()  # which not even root reads, or replaces by a file
    assert same(again(), boundary(*ASKED)) and cached_boundary(*ASKED) is not None
    assert made == [0.16, 0.16] and path.is_dir()


def test_a_table_that_fails_its_check_is_refused_and_not_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def eager(*asked: object) -> Boundary:
        table = boundary(*asked)  # type: ignore[arg-type]
        return Boundary(table.q0, table.alpha, table.looks, table.claim - 1, table.give_up)

    monkeypatch.setattr(boundary_cache, "boundary", eager)
    with pytest.raises(RuntimeError, match=r"q0=0\.16, alpha=0\.05"):
        cached_boundary(*ASKED)
    assert not folder.exists()


@pytest.mark.slow
def test_processes_may_ask_at_the_same_time(folder: Path) -> None:
    context = multiprocessing.get_context("spawn")
    with context.Pool(2) as pool:
        tables = pool.starmap(cached_boundary, [ASKED] * 6)
    assert all(same(table, boundary(*ASKED)) for table in tables)
    assert [path.suffix for path in folder.iterdir()] == [".json"]


def test_bad_input_is_named() -> None:
    for call, named in [
        (lambda: cached_boundary(0.0, LOOKS, 0.05), "q0=0.0"),
        (lambda: cached_boundary(0.5, [3, 2], 0.05), "looks must"),
        (lambda: cached_boundary(0.5, LOOKS, 2.0), "alpha=2.0"),
        (lambda: cached_boundary(0.5, LOOKS, 0.05, replace(LATE, beta=-1.0)), "beta=-1.0"),
    ]:
        with pytest.raises(InputError, match=named):
            call()  # type: ignore[no-untyped-call]
