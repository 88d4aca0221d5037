"""Headers beyond all use are refused at the door, at once and by name; what can be asked for can be read."""

import json
import time
import tracemalloc
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from certificates.walks import HEADER, table_of
from randsmooth.certificates import (
    Certificates,
    Header,
    check_budget,
    from_evidence,
    guarantee_of,
    parse_header,
    read,
    write_parquet,
)
from randsmooth.certificates.limits import DEEP, LONG
from randsmooth.certificates.limits import HEADER as MOST_BYTES
from randsmooth.certificates.parquet import DIGESTS, KEY
from randsmooth.errors import InputError, Note
from randsmooth.noise import check_sigma
from randsmooth.rules import make_rule

Make = Callable[..., Certificates]

ABSURD: list[tuple[dict[str, Any], str]] = [
    ({"sigma": 1e9}, r"sigma=1000000000.0 must be .* from 1e-06 to 100 .* divide one for pixels in 0..255 by 255"),
    ({"sigma": 1e-300}, "sigma=1e-300 must be"),
    ({"sigma": -0.5}, "sigma=-0.5 must be"),
    ({"sigma": "0.5"}, "sigma='0.5' is of the wrong type"),
    ({"sigma": True}, "sigma=True is of the wrong type"),
    ({"n": 10**15}, "n=1000000000000000 must be a whole number of samples from 1 to 1,000,000,000"),
    ({"n": 10**15, "rule": "grid"}, "n=1000000000000000 must be"),
    ({"n": 10**9, "rule": "grid"}, "n=1000000000 must be a whole number of samples from 1 to 10,000,000"),
    ({"n": 10**9, "rule": "anytime"}, "n=1000000000 must be"),
    ({"n": 10**7, "rule": "grid=0.01"}, r"a grid of 0.01 has more than 100 radii .* take a step of at least"),
    ({"n": 200.0}, "n=200.0 is of the wrong type"),
    ({"n": "200"}, "n='200' is of the wrong type"),
    ({"n": True}, "n=True is of the wrong type"),
    ({"n": -1}, "n=-1 must be"),
    ({"n0": -1}, "n0=-1 must be"),
    ({"n0": 10**18}, "n0=1000000000000000000 must be"),
    ({"alpha": 0.0}, "alpha=0.0 must lie strictly between 0 and 1"),
    ({"alpha": 1.0}, "alpha=1.0 must"),
    ({"alpha": 1e-300}, "alpha=1e-300 is below 1e-15"),
    ({"seed": 10**30}, "seed=1000000000000000000000000000000 must lie"),
    ({"batch": 0}, "batch=0 must lie"),
    ({"label_aware": 1}, "label_aware=1 is of the wrong type"),
    ({"rule": "tolerance=1e-300"}, "cannot keep tolerance=1e-300"),
    ({"rule": "radius=1e18"}, r"cannot certify radius 1e\+18 .* ask for a radius of at most"),
    ({"rule": "radius=0." + "5" * 500}, "is no number"),
    ({"rule": "radius=0_5"}, "'0_5' is no number"),
    ({"rule": "radius=٠.٥"}, "is no number"),
    ({"rule": "grid=1e-300"}, "more than 1000 radii"),
    ({"rule": "x" * 500}, r"unknown rule .*…"),
    ({"rule": None}, "rule=None is of the wrong type"),
    ({"bound": "optimism"}, "unknown bound 'optimism'"),
    ({"dataset": "x" * (LONG + 1)}, rf"dataset=.* is {LONG + 1:,} characters long"),
    ({"classes": ["x"] * 2 * MOST_BYTES}, f"expected at most {MOST_BYTES:,}"),
    ({"classes": ["zero", "one"]}, "counts 3 classes in row 1, not 2"),
    ({"classes": "abc"}, "classes='abc' is of the wrong type"),
    ({"classes": [0, 1, 2]}, r"classes.0=0 is of the wrong type"),
    ({"versions": {"numpy": 2}}, "versions.numpy=2 is of the wrong type"),
    ({"model": {"lr": 10**31}}, "model holds 1000"),
    ({"model": []}, r"model=\[\] is of the wrong type"),
    ({"model": {"a": json.loads("[" * DEEP + "]" * DEEP)}}, f"model is nested deeper than {DEEP} levels"),
    ({"notes": [["x"]]}, "notes.0="),
    ({"version": True}, "in format True"),
    ({"version": 1.0}, "in format 1.0"),
    ({"colour": 1}, "unknown fact of a header 'colour'"),
    ({"guarantee": "All is well.", "sigma": None}, "needs sigma"),
]


def bent(path: Path, facts: dict[str, Any]) -> Path:
    """The table at `path` with other facts in its header, of a format without digests, which would show it."""
    arrow = pq.read_table(path)
    header = json.dumps(json.loads(arrow.schema.metadata[KEY]) | {"version": 2} | facts, ensure_ascii=False).encode()
    kept = {key: value for key, value in arrow.schema.metadata.items() if key not in (DIGESTS, KEY)}
    other = path.with_name("bent.parquet")
    pq.write_table(arrow.replace_schema_metadata(kept | {KEY: header}), other)
    return other


@pytest.mark.filterwarnings("ignore::randsmooth.errors.Note")
@pytest.mark.parametrize(("facts", "named"), ABSURD, ids=lambda value: str(value)[:40])
def test_an_absurd_header_is_refused_at_once(make: Make, tmp_path: Path, facts: dict[str, Any], named: str) -> None:
    write_parquet(make(3, bound=None), tmp_path / "a.parquet")
    path = bent(tmp_path / "a.parquet", facts)
    from scipy import stats  # noqa: F401  not to be counted

    tracemalloc.start()
    began = time.process_time()
    with pytest.raises(InputError, match=named) as told:
        read(path)
    took, (_, peak) = time.process_time() - began, tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert took < 1.0 and peak < 2**23 + 3 * path.stat().st_size, f"{took:.2f} s, {peak:,} bytes"
    assert str(path) in str(told.value) and len(str(told.value)) < 1500


def test_what_cannot_be_read_cannot_be_made() -> None:
    """A table of a header that is written is read again: so the same limits hold for who makes one."""
    for facts, _ in ABSURD:
        if len(facts) == 1 and {"sigma", "n0", "seed", "batch", "dataset"} & facts.keys():
            with pytest.raises(InputError):
                Header(**facts)
    for bad in ({"sigma": 1e9}, {"n": 10**15}, {"alpha": 1e-300}):
        with pytest.raises(InputError):
            make_rule("fixed", **({"sigma": 0.5, "n": 1000, "alpha": 0.001} | bad))
        with pytest.raises(InputError):
            Header().having(**bad)
    for budget in ((-1, 1000, 0.001), (10, 10**10, 0.001), (10, 1000, 1e-20), (10, 1000.0, 0.001), (True, 1000, 0.001)):
        with pytest.raises(InputError):
            check_budget(*budget)
    with pytest.raises(InputError, match="from 1e-06 to 100"):
        check_sigma(127.5)
    with pytest.raises(InputError, match="keep long lists"):
        Header(classes=("x" * LONG,) * (MOST_BYTES // LONG + 1))
    for odd in (float("nan"), {1, 2}, {1: 2}, "\ud800", b"x"):
        with pytest.raises(InputError):
            Header(model={"odd": odd})


def test_numpy_numbers_are_taken_as_what_they_are() -> None:
    facts: dict[str, Any] = {"n": np.int64(1000), "label_aware": np.bool_(True), "classes": ["a", "b"]}
    header = Header(sigma=np.float64(0.5), **facts)
    assert header == Header(sigma=0.5, n=1000, label_aware=True, classes=("a", "b"))
    assert parse_header(header.model_dump_json(), Path("a")) == header


def test_a_guarantee_is_the_rules_own_whatever_the_file_says(make: Make, tmp_path: Path) -> None:
    write_parquet(make(3, guarantee="Certified for ever."), tmp_path / "a.parquet")
    table = read(tmp_path / "a.parquet")
    assert table.header.guarantee == guarantee_of(table.header) != "Certified for ever."
    write_parquet(make(3), tmp_path / "b.parquet")
    assert read(tmp_path / "b.parquet").header.guarantee is None  # nothing was said


def test_notes_of_our_own_are_read_and_a_strangers_are_not(make: Make, tmp_path: Path) -> None:
    table = make(5).at(n=100).at(alpha=0.02).at(n=50, alpha=0.05, seed=3)
    assert len(table.header.notes) == 4
    write_parquet(table, tmp_path / "a.parquet")
    with warnings.catch_warnings(action="error"):
        assert read(tmp_path / "a.parquet").header == table.header
    strange = ("Peer reviewed.", "n 10 thinned to 20, seed 1; and <b>bold</b>", "n 9 thinned to 70, seed 1")
    told = table.header.having(notes=(strange[0], *table.header.notes[:2], *strange[1:], *table.header.notes[2:]))
    write_parquet(from_evidence(told, **arrays(table)), tmp_path / "b.parquet")
    with pytest.warns(Note, match="left out 3 of the header's notes"):
        assert read(tmp_path / "b.parquet").header == table.header


def test_the_notes_of_a_rule_are_kept(tmp_path: Path) -> None:
    table = table_of(HEADER.having(rule="grid", n=1000))
    table = from_evidence(table.header.having(notes=(*table.rule.notes, "Trust me.")), **arrays(table))
    write_parquet(table, tmp_path / "a.parquet")
    with pytest.warns(Note, match="left out 1 of"):
        assert read(tmp_path / "a.parquet").header.notes == table.rule.notes != ()


def arrays(table: Certificates) -> dict[str, Any]:
    return {name: getattr(table, name) for name in ("idx", "label", "counts0", "counts", "seconds", "paths")}


HUGE = 2**62
BENT: dict[str, tuple[dict[str, Any], str]] = {
    "no array": ({"idx": [0, 1, 2]}, "idx must be an array .* got list"),
    "a number": ({"idx": np.int64(3)}, "idx must be an array"),
    "another length": ({"label": np.zeros(2, np.int64)}, r"label must be .* of shape \(3,\); got int64 \(2,\)"),
    "fractions": ({"label": np.zeros(3)}, "label must be an array of whole numbers"),
    "one axis": ({"counts": np.zeros(3, np.int64)}, "counts"),
    "no class": ({"counts": np.zeros((3, 0), np.int64)}, "counts0|counts"),
    "other classes": ({"counts0": np.zeros((3, 2), np.int64)}, r"counts0 must be .* of shape \(3, 3\)"),
    "an image below 0": ({"idx": np.array([0, -1, 2])}, "image -1 is not a position"),
    "an image twice": ({"idx": np.array([5, 1, 5])}, "holds image 5 twice"),
    "classes of another number": (
        {"counts0": np.zeros((3, 4), np.int64), "counts": np.zeros((3, 4), np.int64)},
        "names 3",
    ),
    "no time": ({"seconds": np.array([1.0, np.nan, 1.0])}, "image 3 took nan seconds"),
    "a time below 0": ({"seconds": np.array([1.0, 1.0, -1.0])}, "took -1.0 seconds"),
    "too few paths": ({"paths": (np.array([1]),)}, "looks of 1 images"),
    "a path of texts": ({"paths": (np.array(["1"]),) * 3}, "a path must be an array of whole numbers"),
    "a deep path": ({"paths": (np.zeros((1, 1), np.int64),) * 3}, "a path must be"),
}


@pytest.mark.parametrize("what", BENT)
def test_arrays_that_are_no_table_are_named(make: Make, what: str) -> None:
    other, named = BENT[what]
    table = make(3)
    with pytest.raises(InputError, match=named):
        from_evidence(table.header, **(arrays(table) | other))


def test_counts_whose_sum_wraps_round_are_refused(make: Make) -> None:
    """Four times 2^62 and 200 add up to 200 in 64 bits."""
    facts = {"classes": None}
    table = make(1, **facts)
    counts = np.array([[HUGE, HUGE, HUGE, HUGE, 200]])
    counts0 = np.array([[20, 0, 0, 0, 0]])
    assert counts.sum() == 200
    with pytest.raises(InputError, match="sum to 18446744073709551816, not to 200"):
        from_evidence(table.header, **(arrays(table) | {"counts": counts, "counts0": counts0, "paths": None}))


def test_a_table_of_ten_million_samples_is_compared_in_seconds(make: Make) -> None:
    """Its expected radii need the counts that can come out, not all ten million."""
    from randsmooth import metrics

    counts = np.array([[9_000_000, 1_000_000, 0], [5_100_000, 0, 4_900_000], [10**7, 0, 0]])
    header = make(0).header.having(n=10**7)
    table = from_evidence(
        header,
        idx=np.arange(3),
        label=np.zeros(3, np.int64),
        counts0=np.tile([20, 0, 0], (3, 1)),
        counts=counts,
        seconds=np.ones(3),
    )
    began = time.process_time()
    assert metrics.expected_radius(table) == pytest.approx(table.radius, rel=1e-12)
    assert metrics.chance_certified(table, 0.1).tolist() == (table.radius >= 0.1).tolist()
    assert time.process_time() - began < 1.0
