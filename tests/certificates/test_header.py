"""Headers beyond all use are refused at the door, at once and by name; what can be asked for can be read."""

import json
import time
import tracemalloc
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from certificates.walks import HEADER, evidence_of, refusal, table_of
from randsmooth.certificates import Certificates, from_evidence, guarantee_of, parse_header, read, write_parquet
from randsmooth.certificates.header import Header
from randsmooth.certificates.settings import DEEP, LONG, CertificationSettings, check_budget
from randsmooth.certificates.settings import HEADER as MOST_BYTES
from randsmooth.errors import Note
from randsmooth.noise import check_sigma

Make = Callable[..., Certificates]

ABSURD: list[tuple[dict[str, Any], str]] = [  # facts, and what the refusal names
    ({"sigma": 1e9}, "divide one for pixels in 0..255 by 255"),
    ({"sigma": 1e-300}, "sigma=1e-300"),
    ({"sigma": "0.5"}, "sigma='0.5'"),
    ({"n": 10**15}, "from 1 to 1,000,000,000"),
    ({"n": 10**9, "rule": "grid"}, "from 1 to 10,000,000"),
    ({"n": 200.0}, "n=200.0"),
    ({"n0": -1}, "n0=-1"),
    ({"alpha": 0.0}, "alpha=0.0"),
    ({"alpha": 1e-300}, "1e-15"),
    ({"seed": 10**30}, "seed holds 1000000000000000000000000000000"),
    ({"batch": 0}, "batch=0"),
    ({"rule": "radius=1e18"}, "ask for a radius of at most"),
    ({"rule": "grid=1e-300"}, "1000 radii"),
    ({"rule": "x" * 500}, "…"),
    ({"bound": "optimism"}, "'optimism'"),
    ({"dataset": "x" * (LONG + 1)}, f"{LONG:,} characters"),
    ({"classes": ["x"] * 2 * MOST_BYTES}, f"{MOST_BYTES:,}"),
    ({"classes": [0, 1, 2]}, "classes.0=0"),
    ({"versions": {"numpy": 2}}, "versions.numpy=2"),
    ({"model": {"lr": 10**31}}, "model holds 1000"),
    ({"model": {"a": json.loads("[" * DEEP + "]" * DEEP)}}, f"{DEEP} levels"),
    ({"version": True}, "format True"),
    ({"version": 2}, "reads format 1"),
    ({"colour": 1}, "'colour'"),
    ({"guarantee": "All is well.", "sigma": None}, "sigma"),
]


@pytest.mark.filterwarnings("ignore::randsmooth.errors.Note")
def test_an_absurd_header_is_refused_at_once(make: Make) -> None:
    from scipy import stats  # noqa: F401  not to be counted

    usual = json.loads(make(3).header.model_dump_json())
    for facts, named in ABSURD:
        text = json.dumps(usual | {"guarantee": "x"} | facts, ensure_ascii=False).encode()
        tracemalloc.start()
        began = time.process_time()
        said = refusal(parse_header, text, Path("a.parquet"))
        took, (_, peak) = time.process_time() - began, tracemalloc.get_traced_memory()
        tracemalloc.stop()
        case = str(facts)[:80]
        assert named in said and "a.parquet" in said and len(said) < 1500, (case, said)
        assert took < 1.0 and peak < 2**23 + 3 * len(text), f"{case}: {took:.2f} s, {peak:,} bytes"
    for text, named in ((b"[]", "no mapping"), (b'{"version": 1', "JSON"), (b'{"version": ' + b"[" * 10**5, "nested")):
        assert named in refusal(parse_header, text, Path("a.parquet"))


def test_what_cannot_be_read_cannot_be_made() -> None:
    """A table of a header that is written is read again: so the same limits hold for who makes one."""
    for facts, _ in ABSURD:
        if len(facts) == 1 and {"sigma", "n0", "seed", "batch", "dataset"} & facts.keys():
            refusal(Header, **facts)
    for bad in ({"sigma": 1e9}, {"n": 10**15}, {"alpha": 1e-300}):
        refusal(CertificationSettings, **({"sigma": 0.5, "n": 1000, "alpha": 0.001} | bad))
        refusal(Header().replace, **bad)
    for budget in ((-1, 1000, 0.001), (10, 10**10, 0.001), (10, 1000, 1e-20), (10, 1000.0, 0.001), (True, 1000, 0.001)):
        refusal(check_budget, *budget)
    assert "n >= 10" in refusal(check_budget, 1, 9, 0.001) and check_budget(1, 10, 0.001) is None  # type: ignore[func-returns-value]
    assert "from 1e-06 to 100" in refusal(check_sigma, 127.5)
    assert "keep long lists" in refusal(Header, classes=("x" * LONG,) * (MOST_BYTES // LONG + 1))
    for odd in (float("nan"), {1, 2}, {1: 2}, "\ud800", b"x"):
        refusal(Header, model={"odd": odd})


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
    strange = ("Peer reviewed.", "n 10 thinned to 20, seed 1; and <b>bold</b>")
    told = table.header.replace(notes=(strange[0], *table.header.notes[:2], strange[1], *table.header.notes[2:]))
    write_parquet(from_evidence(told, **evidence_of(table)), tmp_path / "b.parquet")
    with pytest.warns(Note, match="left out 2"):
        assert read(tmp_path / "b.parquet").header == table.header
    sequential = table_of(HEADER.replace(rule="grid", n=1000))
    told = sequential.header.replace(notes=(*sequential.rule.notes, "Trust me."))
    write_parquet(from_evidence(told, **evidence_of(sequential)), tmp_path / "c.parquet")
    with pytest.warns(Note, match="left out 1"):
        assert read(tmp_path / "c.parquet").header.notes == sequential.rule.notes != ()


def test_a_table_judged_otherwise_states_its_own_guarantee(make: Make) -> None:
    table = make(20, guarantee=guarantee_of(make(1).header))
    stated = table.at(alpha=0.02, n=100).header.guarantee
    assert stated is not None and "at most 0.02" in stated and "100 samples" in stated
    assert "at most 0.02" not in str(table.header.guarantee)
    assert make(20).at(alpha=0.02).header.guarantee is None  # where none was stated, none is
