"""The cache of boundaries: made once, checked when made, and never trusted when damaged."""

import multiprocessing
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from randsmooth.bounds import boundary_cache
from randsmooth.bounds.boundary import Boundary, boundary
from randsmooth.bounds.boundary_cache import cached_boundary
from randsmooth.bounds.looks import looks
from randsmooth.errors import InputError

LOOKS = looks(2_000)
ASKED = (0.16, LOOKS, 0.05)


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
    cached_boundary(q0, n, alpha, beta=0.02)
    assert len(list(folder.iterdir())) == 5
    cached_boundary(q0, n.tolist(), alpha, beta=0.01)  # asked for above, in other words
    assert len(list(folder.iterdir())) == 5


def test_a_damaged_file_is_made_anew(folder: Path, made: list[float]) -> None:
    right = cached_boundary(*ASKED)
    (path,) = folder.iterdir()
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    for place in [0, *rng.integers(0, len(whole), 60).tolist()]:
        flipped = bytearray(whole)
        flipped[place] ^= 1 << int(rng.integers(8))
        for damaged in (bytes(flipped), whole[:place]):
            path.write_bytes(damaged)
            assert same(again(), right)
    assert len(made) > 61  # every shortened file, at least
    path.write_bytes(whole[:-1])
    again()
    assert same(again(), right) and path.stat().st_size == len(whole)  # written again, whole


@pytest.mark.parametrize(
    "arrays",
    [
        {"looks": LOOKS},
        {"looks": LOOKS, "claim": LOOKS[1:], "give_up": LOOKS},
        {"looks": LOOKS + 1, "claim": LOOKS, "give_up": LOOKS},
        {"looks": LOOKS, "claim": LOOKS.astype(float), "give_up": LOOKS},
        {"looks": LOOKS, "claim": LOOKS.astype(object), "give_up": LOOKS},  # a pickle
    ],
)
def test_a_file_of_something_else_is_made_anew(folder: Path, made: list[float], arrays: dict[str, np.ndarray]) -> None:
    right = cached_boundary(*ASKED)
    (path,) = folder.iterdir()
    np.savez(path, **arrays)  # type: ignore[arg-type]
    assert same(again(), right) and len(made) == 2


def test_a_folder_that_cannot_be_written_costs_memory_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made: list[float]
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("RANDSMOOTH_CACHE", str(tmp_path / "file"))
    first = cached_boundary(*ASKED)
    assert same(first, boundary(*ASKED)) and cached_boundary(*ASKED) is first
    assert made == [0.16]


def test_a_table_that_fails_its_check_is_refused_and_not_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def eager(*asked: object) -> Boundary:
        table = boundary(*asked)  # type: ignore[arg-type]
        return Boundary(table.q0, table.alpha, table.looks, table.claim - 1, table.give_up)

    monkeypatch.setattr(boundary_cache, "boundary", eager)
    with pytest.raises(RuntimeError, match=r"q0=0\.16, alpha=0\.05"):
        cached_boundary(*ASKED)
    assert not folder.exists()


def test_processes_may_ask_at_the_same_time(folder: Path) -> None:
    context = multiprocessing.get_context("spawn")
    with context.Pool(2) as pool:
        tables = pool.starmap(cached_boundary, [ASKED] * 6)
    assert all(same(table, boundary(*ASKED)) for table in tables)
    assert [path.suffix for path in folder.iterdir()] == [".npz"]


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: cached_boundary(0.0, LOOKS, 0.05), "q0=0.0"),
        (lambda: cached_boundary(0.5, [3, 2], 0.05), "looks must"),
        (lambda: cached_boundary(0.5, LOOKS, 2.0), "alpha=2.0"),
        (lambda: cached_boundary(0.5, LOOKS, 0.05, beta=-1.0), "beta=-1.0"),
    ],
)
def test_bad_input_is_named(call, named: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InputError, match=named):
        call()
