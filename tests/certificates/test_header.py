"""Headers beyond all use are refused at the door, at once and by name; what can be asked for can be read.

And what a refused resume says: all that differs, whether it is the classifier, and what would go on.
"""

import json
import time
import tracemalloc
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from certificates.walks import HEADER, evidence_of, table_of
from models.refusing import problem_of, refusal
from randsmooth.certificates import (
    ANOTHER_ARITHMETIC,
    ANOTHER_MODEL,
    BATCH_MATTERS,
    Certificates,
    Header,
    from_evidence,
    guarantee_of,
    notes_of_rule,
    parse_header,
    read,
    write_parquet,
)
from randsmooth.certificates.facts import DEEPEST_NESTING, LONGEST_TEXT
from randsmooth.certificates.facts import MOST_HEADER_BYTES as MOST_BYTES
from randsmooth.certificates.sameness import (
    check_same_run,
    classifier_difference,
    evidence_difference,
)
from randsmooth.certificates.settings import CertificationSettings, check_budget
from randsmooth.errors import BadValue, Problem, TooLarge, WrongFile
from randsmooth.noise import Gaussian, Uniform, check_sigma
from randsmooth.notes import Note
from values import Refusal, noted

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
    ({"dataset": "x" * (LONGEST_TEXT + 1)}, f"{LONGEST_TEXT:,} characters"),
    ({"classes": ["x"] * 2 * MOST_BYTES}, f"{MOST_BYTES:,}"),
    ({"classes": [0, 1, 2]}, "classes.0=0"),
    ({"versions": {"numpy": 2}}, "versions.numpy=2"),
    ({"model": {"lr": 10**31}}, "model holds 1000"),
    (
        {"model": {"a": json.loads("[" * DEEPEST_NESTING + "]" * DEEPEST_NESTING)}},
        f"{DEEPEST_NESTING} levels",
    ),
    ({"version": True}, "format True"),
    ({"version": 2}, "reads format 1"),
    ({"colour": 1}, "'colour'"),
    ({"guarantee": "All is well.", "sigma": None}, "sigma"),
]


@pytest.mark.filterwarnings("ignore::randsmooth.notes.Note")
def test_an_absurd_header_is_refused_at_once(make: Make) -> None:
    from scipy import stats  # noqa: F401  not to be counted

    usual = json.loads(make(3).header.model_dump_json())
    for facts, named in ABSURD:
        text = json.dumps(
            usual | {"guarantee": "x"} | facts, ensure_ascii=False
        ).encode()
        tracemalloc.start()
        began = time.process_time()
        said = refusal(parse_header, text, Path("a.parquet"))
        took, (_, peak) = time.process_time() - began, tracemalloc.get_traced_memory()
        tracemalloc.stop()
        case = str(facts)[:80]
        assert named in said and "a.parquet" in said and len(said) < 1500, (case, said)
        assert took < 1.0 and peak < 2**23 + 3 * len(text), (
            f"{case}: {took:.2f} s, {peak:,} bytes"
        )
    for text in (b"[]", b'{"version": 1', b'{"version": ' + b"[" * 10**5):
        Refusal(WrongFile, "a.parquet").check(
            problem_of(parse_header, text, Path("a.parquet"))
        )


def test_what_cannot_be_read_cannot_be_made() -> None:
    """A table of a header that is written is read again: so the same limits hold for who makes one."""
    for facts, _ in ABSURD:
        if (
            len(facts) == 1
            and {"sigma", "n0", "seed", "batch", "dataset"} & facts.keys()
        ):
            refusal(Header, **facts)
    for bad in ({"sigma": 1e9}, {"n": 10**15}, {"alpha": 1e-300}):
        refusal(
            CertificationSettings, **({"sigma": 0.5, "n": 1000, "alpha": 0.001} | bad)
        )
        refusal(Header().replace, **bad)
    for budget in (
        (-1, 1000, 0.001),
        (10, 10**10, 0.001),
        (10, 1000, 1e-20),
        (10, 1000.0, 0.001),
        (True, 1000, 0.001),
    ):
        refusal(check_budget, *budget)
    assert (
        "n >= 10" in refusal(check_budget, 1, 9, 0.001)
        and check_budget(1, 10, 0.001) is None  # type: ignore[func-returns-value]
    )
    Refusal(BadValue, "-06", "100", field="sigma").check(problem_of(check_sigma, 127.5))
    Refusal(TooLarge).check(
        problem_of(
            Header, classes=("x" * LONGEST_TEXT,) * (MOST_BYTES // LONGEST_TEXT + 1)
        )
    )
    for odd in (float("nan"), {1, 2}, {1: 2}, "\ud800", b"x"):
        refusal(Header, model={"odd": odd})


def test_numpy_numbers_are_taken_as_what_they_are() -> None:
    facts: dict[str, Any] = {
        "n": np.int64(1000),
        "label_aware": np.bool_(True),
        "classes": ["a", "b"],
    }
    header = Header(sigma=np.float64(0.5), **facts)
    assert header == Header(sigma=0.5, n=1000, label_aware=True, classes=("a", "b"))
    assert parse_header(header.model_dump_json(), Path("a")) == header


def test_a_guarantee_is_the_rules_own_whatever_the_file_says(
    make: Make, tmp_path: Path
) -> None:
    write_parquet(make(3, guarantee="Certified for ever."), tmp_path / "a.parquet")
    table = read(tmp_path / "a.parquet")
    assert table.header.guarantee == guarantee_of(table.header) != "Certified for ever."
    write_parquet(make(3), tmp_path / "b.parquet")
    assert read(tmp_path / "b.parquet").header.guarantee is None  # nothing was said


def test_notes_of_our_own_are_read_and_a_strangers_are_not(
    make: Make, tmp_path: Path
) -> None:
    table = make(5).at(n=100).at(alpha=0.02).at(n=50, alpha=0.05, seed=3)
    assert len(table.header.notes) == 4
    write_parquet(table, tmp_path / "a.parquet")
    with warnings.catch_warnings(action="error"):
        assert read(tmp_path / "a.parquet").header == table.header
    strange = (
        Note("of_the_rule", text="Peer reviewed."),
        Note("thinned", before=10, now=20, seed="1; and <b>bold</b>"),
    )
    told = table.header.replace(
        notes=(strange[0], *table.header.notes[:2], strange[1], *table.header.notes[2:])
    )
    write_parquet(from_evidence(told, **evidence_of(table)), tmp_path / "b.parquet")
    with noted("foreign_notes", number=2):
        assert read(tmp_path / "b.parquet").header == table.header
    sequential = table_of(HEADER.replace(rule="grid", n=1000))
    rule_notes = notes_of_rule(sequential.rule)
    told = sequential.header.replace(notes=(*rule_notes, Note("unnumbered")))
    write_parquet(
        from_evidence(told, **evidence_of(sequential)), tmp_path / "c.parquet"
    )
    with noted("foreign_notes", number=1):
        assert read(tmp_path / "c.parquet").header.notes == rule_notes != ()


def test_a_table_judged_otherwise_states_its_own_guarantee(make: Make) -> None:
    table = make(20, guarantee=guarantee_of(make(1).header))
    stated = table.at(alpha=0.02, n=100).header.guarantee
    assert stated is not None and "at most 0.02" in stated and "100 samples" in stated
    assert "at most 0.02" not in str(table.header.guarantee)
    assert (
        make(20).at(alpha=0.02).header.guarantee is None
    )  # where none was stated, none is


MODEL = {"weights": "sha256:" + "a" * 64, "arch": "lenet"}
BEGUN = Header(
    sigma=0.5, n0=100, n=300, alpha=0.001, bound="clopper-pearson", seed=0, guarantee="as the rule says",
    drawn_by="NumPy", dataset="digits", split="test", selection="take 3 of 100", data="these", classes=("0", "1"),
    model=MODEL, behaviour={"made-up images": "x", "own images": "y"}, versions={"torch": "1", "numpy": "2"},
    backend="torch", precision="float32", batch=256, device="cpu, this one", instructions="AVX2",
)  # fmt: skip


def refused_resume(begun: Header = BEGUN, **now: Any) -> str:
    with pytest.raises(Problem) as refused:
        check_same_run(begun, BEGUN.model_copy(update=now), Path("a.parquet"))
    return str(refused.value)


def test_all_that_differs_is_named_and_what_follows_from_it_is_not() -> None:
    hashed = "another model: weights 'sha256:aaaaaaaaaaaa' in the file, 'sha256:cccccccccccc' asked for"
    table: list[tuple[dict[str, Any], tuple[str, ...]]] = [
        ({"n": 301, "guarantee": "another"}, ("n: 300 in the file, 301",)),
        (
            {"noise": Gaussian(0.25), "label_aware": True},
            ("sigma: 0.5 in the file, 0.25", "label_aware: False in the file, True"),
        ),
        (
            {"selection": "all 100", "data": "those"},
            ("selection: 'take 3 of 100' in the file, 'all 100'",),
        ),
        (
            {"dataset": "mnist", "data": "those", "classes": ("2",)},
            ("dataset: 'digits' in the file, 'mnist'",),
        ),
        ({"device": "cuda"}, ("device: 'cpu, this one' in the file, 'cuda'",)),
        (
            {"versions": {"torch": "2", "numpy": "2"}},
            ("versions: torch '1' in the file, '2'",),
        ),
        ({"shard": "1/2", "data": "those"}, ("shard: None in the file, '1/2'",)),
        ({"model": {"weights": "sha256:" + "c" * 64}}, (hashed,)),
    ]
    for now, differs in table:
        refused = refused_resume(**now)
        assert all(each in refused for each in differs) and refused.count(
            " in the file,"
        ) == len(differs), now
        assert (
            "to go on with it: resume=True" in refused and "overwrite=True" in refused
        )
    strange = refused_resume(
        BEGUN.model_copy(update={"dataset": "\x1b[31m", "split": "x" * 999})
    )
    assert strange.isprintable() and len(strange) < 700


def test_every_field_is_compared() -> None:
    """Of whatever a header tells: no field can be added and forgotten."""
    other: dict[str, Any] = {
        "noise": Uniform(0.5),
        "model": {"weights": "?"},
        "behaviour": {"made-up images": "?"},
        "versions": {"torch": "?"},
        "classes": ("?",),
        "refusal": 1,
        "notes": (Note("unnumbered"),),
        "shard": "1/2",
    }
    for name, value in BEGUN:
        if isinstance(value, bool):
            other[name] = not value
        elif isinstance(value, int):
            other[name] = value + 1
        elif isinstance(value, float):
            other[name] = value / 2
    not_of_the_run = {
        "machines",
        "command",
    }  # who took part, and how that is written on a command line
    for name in Header.model_fields.keys() - not_of_the_run:
        assert "was begun differently (" in refused_resume(
            **{name: other.get(name, "?")}
        ), name
    check_same_run(BEGUN, BEGUN, Path("a.parquet"))


ANSWERS = {"behaviour": {"made-up images": "x", "own images": "other"}}
CALLED = MODEL | {"called": "mine"}


def test_models_and_arithmetics_are_told_apart() -> None:
    table: list[tuple[dict[str, Any], dict[str, Any], str, str]] = [
        (
            {},
            {"model": MODEL | {"notes": ["resized"]}},
            ANOTHER_MODEL,
            "notes nothing in the file, ['resized'] asked",
        ),
        (
            {},
            {"model": CALLED},
            ANOTHER_MODEL,
            "called nothing in the file, 'mine' asked for",
        ),
        ({}, ANSWERS, ANOTHER_MODEL, "outputs differ"),
        (
            {},
            ANSWERS | {"instructions": "AVX"},
            ANOTHER_ARITHMETIC,
            "(instructions: 'AVX2' in the file, 'AVX' asked",
        ),
        (
            {},
            ANSWERS | {"versions": {"torch": "1"}},
            ANOTHER_ARITHMETIC,
            "numpy '2' in the file, nothing asked for",
        ),
        (
            {"model": CALLED},
            ANSWERS | {"model": CALLED, "device": "cuda"},
            ANOTHER_MODEL,
            "or its arithmetic differs",
        ),
    ]
    for begun, now, kind, by in table:
        difference = classifier_difference(
            BEGUN.model_copy(update=begun), BEGUN.model_copy(update=now)
        )
        assert (
            difference is not None
            and difference.kind == kind
            and by in difference.detail
        ), (begun, now)


def test_weights_that_were_not_compared_are_not_called_the_same() -> None:
    """As of models of which a header says nothing, and of those known by a name alone."""
    compared = classifier_difference(BEGUN, BEGUN.model_copy(update=ANSWERS))
    assert compared is not None
    for model in (None, CALLED):
        begun = BEGUN.model_copy(update={"model": model})
        for more in ({}, {"device": "cuda"}):
            now = begun.model_copy(update=ANSWERS | more)
            difference = classifier_difference(begun, now)
            assert difference is not None and difference.kind == ANOTHER_MODEL
            assert difference.detail != compared.detail


def test_what_tells_no_classifiers_apart() -> None:
    table: list[dict[str, Any]] = [
        {},
        {"instructions": "AVX"},  # which computes these answers alike
        ANSWERS | {"data": "those"},
        ANSWERS | {"batch": 128},
        ANSWERS | {"noise": Gaussian(0.25)},
        {
            "model": MODEL | {"arch": "called otherwise", "epochs": 3}
        },  # how equal models came to be
        {"model": None, "behaviour": None},
    ]
    for now in table:
        assert classifier_difference(BEGUN, BEGUN.model_copy(update=now)) is None, now


def test_what_a_machine_may_differ_in_is_no_difference_of_evidence_but_what_counts_depend_on_is() -> (
    None
):
    begun = Header(
        sigma=0.5,
        n=100,
        seed=0,
        device="cpu A",
        versions={"torch": "1"},
        behaviour={"made-up images": "x"},
    )
    sides = ("of node1", "of node2")
    elsewhere = begun.replace(
        device="cpu B", instructions="AVX2", versions={"torch": "2"}
    )
    assert evidence_difference(begun, elsewhere, sides) is None
    assert (
        evidence_difference(begun, begun.replace(seed=1), sides)
        == "seed: 0 of node1, 1 of node2"
    )
    found = evidence_difference(
        begun, elsewhere.replace(behaviour={"made-up images": "y"}), sides
    )
    assert found is not None
    assert "device: 'cpu A' of node1, 'cpu B' of node2" in found
    assert "torch '1' of node1, '2' of node2" in found


@pytest.mark.parametrize(
    "stored",
    [
        "Peer reviewed.",
        {"kind": "thinned"},
        {"kind": "thinned", "facts": {"before": 10, "now": 5}},
        {"kind": ["thinned"], "facts": {}},
        {"kind": "thinned", "facts": {"before": [10], "now": 5, "seed": 1}},
        {"kind": "verdict_off", "facts": {"names": ["a"]}},
    ],
)
def test_entries_that_are_no_notes_are_left_out(stored: object) -> None:
    facts = HEADER.facts() | {"notes": [BATCH_MATTERS.to_dict(), stored]}
    with noted("foreign_notes", number=1):
        header = parse_header(json.dumps(facts), Path("a.parquet"))
    assert header.notes == (BATCH_MATTERS,)


def test_notes_come_back_from_the_facts_of_a_header() -> None:
    header = HEADER.replace(notes=(BATCH_MATTERS, Note("of_the_rule", text="a rule")))
    assert Header.from_facts(json.loads(json.dumps(header.facts()))) == header
    for wrong in ("text", {"kind": "unheard of", "facts": {}}, {"kind": 1, "facts": 2}):
        with pytest.raises(BadValue) as refused:
            Header.from_facts(HEADER.facts() | {"notes": [wrong]})
        assert refused.value.field == "notes"
