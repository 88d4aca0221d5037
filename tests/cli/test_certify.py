"""`randsmooth certify`: several models, precisions, runs that are gone on with, and what is said on the way."""

import re
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
import torch

import randsmooth as rs
from certification.runs import StopAfter, same
from cli.processes import Run
from randsmooth import certify, models, read
from randsmooth.certificates import Precision
from randsmooth.certification import Engine, backends, engine
from randsmooth.certification.backends import BackendChoice, processors
from randsmooth.cli.command import settings_of
from randsmooth.cli.suspicions import suspicions
from randsmooth.cli.verbs import verb_named
from randsmooth.cli.wording import spelling
from randsmooth.errors import Problem
from untrained import another

CPU = torch.device("cpu")
VOTER = """
import numpy as np
WEIGHTS = np.random.default_rng(0).normal(size=(64, 10))
def linear():
    return lambda images: (images.reshape(len(images), 64) @ WEIGHTS).argmax(axis=1)
"""


def stops(images: int) -> Any:
    """Progress that interrupts a run after so many images."""
    return lambda *_: nullcontext(StopAfter(images))


# --- several models as one ------------------------------------------------------------------------------------------


@pytest.fixture
def two(model: Path) -> tuple[Path, Path]:
    """Two model folders that say their data set and sigma."""
    another(model, model.with_name("other"))
    return model, model.with_name("other")


def test_several_models_are_certified_as_one(two: tuple[Path, Path], cli: Run) -> None:
    for rule, of in (
        ("mean-logits", "logits"),
        ("mean-probabilities", "probabilities"),
    ):
        done = cli(
            "certify", *two, "--ensemble", rule, "--take", 5, "--n", 300, "--overwrite"
        )
        assert (
            done.code == 0
            and f"an ensemble of 2: the mean of the members' {of}" in done.err
        ), done.err
        expected = certify(
            rs.Ensemble([*two], of),
            take=5,
            n=300,
            out=Path("same.parquet"),
            overwrite=True,
        )
        assert (
            same(read("m+other.parquet"), expected) and expected.header.sigma == 0.25
        ), rule  # which both say


def test_mixed_kinds_vote(two: tuple[Path, Path], cli: Run) -> None:
    Path("zoo.py").write_text(VOTER)
    words = [
        "certify",
        *two,
        "zoo.py:linear",
        "--ensemble",
        "vote",
        "--take",
        4,
        "--n",
        300,
    ]
    cli.done(*words, "--out", "mixed.parquet", "--identity", "the zoo of today")
    header = read("mixed.parquet").header
    assert header.backend == "mixed"
    assert "an ensemble of 3" in str(header.model)


def test_what_cannot_be_an_ensemble(two: tuple[Path, Path], cli: Run) -> None:
    bad = {
        "m other": "makes several models one",
        "m --ensemble vote": "makes several models one",
        "m digits": "digits is data and no model: give it by --dataset digits",
        "m other --ensemble mean": "unknown ensemble 'mean'",
        "m other --ensemble vote --model-arg a=1": "--model-arg is for one model",
    }
    cli.refuses(bad, "certify")


# --- precisions -----------------------------------------------------------------------------------------------------


def test_which_processors_lack_units_for_bfloat16(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    laptop, server = (
        {"avx2": True, "avx512_bf16": False},
        {"avx2": True, "avx512_bf16": True},
    )
    for had, limit, lacks in (
        *((laptop, limit, True) for limit in ("", "ALL")),
        *((server, limit, True) for limit in ("AVX512_CORE_VNNI", "AVX2")),
    ):
        monkeypatch.setattr(processors, "features", lambda had=had: had)
        monkeypatch.setenv("ONEDNN_MAX_CPU_ISA", limit)
        assert processors.lacks_bfloat16(CPU) == (
            "this processor" if lacks else None
        ), (
            had,
            limit,
        )
    for capability, told in (
        ((7, 5), "a Turing"),
        ((8, 0), None),
    ):  # older GPUs are told to use fp16
        monkeypatch.setattr(
            torch.cuda, "get_device_capability", lambda device, found=capability: found
        )
        monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "a Turing")
        assert processors.lacks_bfloat16(torch.device("cuda")) == told
        assert backends.usual_precisions(torch.device("cuda")) == (
            "32",
            "fp16" if told else "bf16",
        )


def test_a_run_says_where_the_processor_has_no_units_and_auto_weighs_precisions(
    model: Path, cli: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        processors, "features", lambda: {"avx2": True, "avx512_bf16": False}
    )
    options = ("--take", 1, "--n", 50, "--overwrite", "--out", "a.parquet")
    slow = cli("certify", model, "--precision", "bf16", *options)
    assert slow.code == 0 and "this processor has no units for bfloat16" in slow.err, (
        slow
    )
    assert "recision 32 with the backend auto is faster" in slow.err
    assert "has no units" not in cli("certify", model, *options).err
    for faster, chosen in ((0.9, "32"), (1.1, "bf16")):
        rate = lambda made, by=faster: 100.0 * by ** (made.backend.precision == "bf16")  # noqa: E731
        monkeypatch.setattr(Engine, "samples_a_second", rate)
        found = Engine(
            models.load(model), sigma=0.5, device=CPU, backend="torch", precision="auto"
        )
        assert found.prepare((1, 8, 8)).precision == chosen
        assert set(found.rates) == {
            BackendChoice("torch", "32"),
            BackendChoice("torch", "bf16"),
        }


def test_a_run_says_what_each_precision_gives_and_a_resumed_one_keeps_its_own(
    model: Path, cli: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, whole = Path("a.parquet"), Path("whole.parquet")
    options = ("--take", 3, "--n", 50, "--precision", "auto")
    monkeypatch.setattr(engine, "TRIALS_A_RUN", 0)
    told = cli("certify", model, *options, "--out", whole).err
    tried = r"note: backend torch( in bfloat16)?, batches of \d+ \(images per second: .*torch in bfloat16 \d"
    assert re.search(tried, told)
    others: dict[str, Precision] = {"float32": "bf16", "bfloat16": "32"}
    other = others[str(read(whole).header.precision)]
    with pytest.raises(KeyboardInterrupt):
        certify(
            model, take=3, n=50, precision=other, batch=128, out=out, progress=stops(1)
        )
    cli.done("certify", model, *options, "--resume", "--out", out)
    certify(model, take=3, n=50, precision=other, batch=128, out=whole, overwrite=True)
    assert same(read(out), read(whole))


# --- what is said ---------------------------------------------------------------------------------------------------


def test_what_looks_like_a_mistake_is_said(cli: Run, model: Path) -> None:
    none, first, second = [50, 50], [90, 10], [10, 90]
    halves = [0, 1] * 60
    for name, counts, label, said in (
        (
            "most abstain",
            [none] * 7 + [first] * 3 + [second] * 3,
            halves,
            "most inputs abstain (7 of 13)",
        ),
        (
            "and one class",
            [none] * 12 + [first] * 10,
            halves,
            "(12 of 22) and 10 of 10 inputs that are certified (100%)",
        ),
        (
            "three in four",
            [first] * 90 + [second] * 30,
            [*range(10)] * 12,
            "90 of 120 inputs that are certified (75%)",
        ),
        ("fewer", [first] * 89 + [second] * 31, [*range(10)] * 12, ""),
        (
            "of two labels",
            [first] * 90 + [second] * 30,
            halves,
            "",
        ),  # one of which has half of the images
        ("few are certified", [none] * 9 + [first] * 9, halves, ""),
        ("as labelled", [first] * 6 + [second] * 6, halves, ""),
        ("images of one class", [first] * 12, [0] * 12, ""),
        (
            "n = 10",
            [[9, 1]] * 6 + [[1, 9]] * 6,
            halves,
            "",
        ),  # 90% right, but n = 10 certifies 10 of 10 alone
    ):
        counts = [[*each, *[0] * (max(label) - 1)] for each in counts]
        what: dict[str, Any] = {
            "counts0": counts,
            "label": label[: len(counts)],
            "name": "mine",
        }
        found = " ".join(
            suspicions(rs.from_counts(counts, **what, sigma=0.5, alpha=0.001))
        )
        assert (
            (said in found and "trained with the noise gaussian=0.5" in found)
            if said
            else found == ""
        ), (
            name,
            found,
        )
        assert ("get class 0; was" in found) == ("certified (" in said), name

    done = cli("certify", model, "--take", 20, "--n", 100, "--device", "cpu")
    predict = read(f"{model}.parquet").predict
    (only,), number = set(predict[predict >= 0]), (predict >= 0).sum()
    assert (
        f"note: {number} of {number} inputs that are certified (100%) get class {only}; was the model"
        in done.err
    )


def test_notes_spell_settings_as_options(cli: Run, model: Path) -> None:
    """Those of a run, which come by its reporter, and those of data, which are warnings."""
    options = ("--sigma", 64.0, "--take", 2, "--n", 20, "--resize", "16x8", "--crop", 8)
    done = cli.done("certify", model, *options)
    assert "note: --sigma 64.0 is" in done.err
    assert "sigma=64" not in done.err


# --- the same words on the command line and in Python ---------------------------------------------------------------

CERTIFY: dict[str, Any] = {"sigma": 0.25, "take": 2, "n": 50, "n0": 10}
TRAIN: dict[str, Any] = {"sigma": 0.25, "epochs": 1, "take": 64}
BEGIN = "to go on with it: --resume; to begin anew: --overwrite"
CERTIFY_AGAIN: list[tuple[dict[str, Any], str]] = [
    (
        {"resume": True, "n": 60, "seed": 1},
        "n: 50 in the file, 60 asked for; seed: 0 in the file, 1 asked for",
    ),
    (
        {"resume": True, "take": 3},
        "'take 2 of 364' in the file, 'take 3 of 364' asked for",
    ),
    ({}, BEGIN),
]
TRAIN_AGAIN: list[tuple[dict[str, Any], str]] = [
    (
        {"sigma": 0.5, "seed": 1, "resume": True},
        "seed: 0 in the file, 1 asked for; sigma: 0.25 in the file, 0.5",
    ),
    ({"sigma": 0.5, "resume": True}, "--resume and --accept-changes"),
    ({}, BEGIN),
    ({"accept_changes": True}, "it needs --resume"),
]


def test_a_refused_run_says_the_same(made: Path, cli: Run) -> None:
    def options(values: dict[str, Any]) -> list[str]:
        flags = [
            (f"--{name.replace('_', '-')}", value) for name, value in values.items()
        ]
        return [
            str(word)
            for flag, value in flags
            for word in ((flag,) if value is True else (flag, value))
        ]

    with pytest.raises(KeyboardInterrupt):
        certify(made / "model", out=Path("a.parquet"), **CERTIFY, progress=stops(1))
    rs.train("digits", **TRAIN, out=Path("m"))
    for verb, run, what, out, before, cases in (
        ("certify", certify, made / "model", "a.parquet", CERTIFY, CERTIFY_AGAIN),
        ("train", rs.train, "digits", "m", TRAIN, TRAIN_AGAIN),
    ):
        for flags, named in cases:
            with pytest.raises(Problem) as python:
                run(what, out=Path(out), **before | flags)
            code, _, err = cli(verb, what, "--out", out, *options(before | flags))
            said = python.value.words(spelling(settings_of(verb_named(verb).load())))
            assert (code, err) == (2, f"randsmooth: {said}\n") and named in err, flags
