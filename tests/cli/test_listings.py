"""Listings and what they are made of: methods and presets, data sets, citations."""

import json
import re
from pathlib import Path

import pytest
import yaml

from cli.processes import Run
from randsmooth import models
from randsmooth.cli.printed_commands import words_of
from randsmooth.cli.verbs.evaluate import Evaluate
from randsmooth.cli.verbs.methods import _joined
from randsmooth.training import PRESETS

# --- presets --------------------------------------------------------------------------------------------------------


def listed(text: str) -> set[str]:
    """The names that a list of presets spells out."""
    names = set(re.findall(r"^  (\S+/\S+)  ", text, re.MULTILINE))
    for base, variations in re.findall(r"^    (\S+/\S+) (/.+)$", text, re.MULTILINE):
        names |= {base + variation for variation in variations.split(", ")}
    return names


def test_the_lists_name_every_preset_with_its_values_and_source(
    cli: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    # No line is wrapped: lists of variations are long.
    monkeypatch.setenv("COLUMNS", "1000")
    out = cli("methods", "--presets").out
    assert listed(out) == {preset.name for preset in PRESETS}
    for line in (
        "Sun et al., ICML 2025",
        "  acr/gaussian     cifar10: m=4  (table 2 and appendix A.1)",
        "  cat-rs/smoothmix/prose     mnist: m=4, alpha=1, eta=5, T=2|4|8 at sigma 0.25|0.5|1  (section 4 and appendix "
        "B.2)",
    ):
        assert line in out.splitlines(), line
    named = {preset.name for preset in PRESETS if preset.method == "amplify"}
    assert listed(cli("methods", "amplify", "--presets").out) == named
    assert cli.done("methods", "macer/macer/k=4").out.splitlines()[:4] == [
        "macer/macer/k=4  (Zhai et al., ICLR 2020, tables 9 and 10)",
        "  --method macer on cifar10",
        "  k=4, gamma=8, beta=16, lbd=12 at sigma 0.25|0.5",
        "  cifar10: 440 epochs, lr 0.01 (x0.1 at epochs 200, 400), batch 256, weight decay 0.0005",
    ]
    assert "--set teacher=MODEL_DIR" in cli("methods", "acr/cat-rs").out
    out = cli("methods", "gaussian").out
    assert (
        "  Hyperparameters:\n      m: noise samples per image.\n  Defaults of the class: m=1\n"
        in out
    )
    assert "  `train digits` uses the preset randsmooth/gaussian: m=4\n" in out


def test_a_run_says_what_it_runs_and_the_preset_brings_the_method(
    cli: Run, tmp_path: Path
) -> None:
    words = (
        "train",
        "digits",
        "--preset",
        "randsmooth/smoothmix",
        "--sigma",
        0.5,
        "--epochs",
        1,
        "--take",
        64,
    )
    done = cli.done(*words, "--set", "T=1", "--set", "lr=1e-2")
    said = "\n".join(done.err.splitlines()[:4])
    wanted = (
        "randsmooth/smoothmix: smoothmix with T=1, warmup=1",
        "1 epoch",
        "lr 0.01",
    )
    assert all(word in said for word in wanted), said
    folder = tmp_path / "runs" / "digits-randsmooth-smoothmix-0.5"
    assert models.load(folder).provenance["method"] == "smoothmix"
    assert "method" not in yaml.safe_load((folder / "run.yaml").read_text())
    cli.done("train", "--config", folder / "run.yaml", "--resume", "--out", folder)


def test_what_does_not_fit_is_refused(cli: Run, tmp_path: Path) -> None:
    bad = {
        "train mnist --preset cat-rs/smoothmix --method gaussian --sigma 1": "method smoothmix",
        "train digits --preset cat-rs/smoothmix --sigma 1": "randsmooth/smoothmix",
        "train cifar10 --preset cat-rs/cat-rs/released --sigma 0.5": "teacher=...",
        "methods acr/amplifi": "'acr/amplify'",
        "train digits --sigma 0.5 --set lr=[1": "lr='[1'",
        "cite nothing.parquet": "nothing.parquet",
    }
    cli.refuses(bad)
    assert not list(tmp_path.iterdir())


# --- citations ------------------------------------------------------------------------------------------------------


def test_a_table_and_its_model_are_cited(cli: Run, model: Path) -> None:
    cli.done(
        "certify",
        model,
        "--take",
        2,
        "--n",
        1000,
        "--rule",
        "grid",
        "--sound",
        "--out",
        "m.parquet",
    )
    found = json.loads(cli("cite", "m.parquet", model, "--format", "json").out)
    reasons = {one["key"]: one["for"] for one in found["citations"]}
    assert [*reasons] == [
        *(
            "randsmooth",
            "cohen2019certified",
            "lan1983discrete",
            "armitage1969repeated",
            "voracek2023sound",
        ),
        *("salmon2011parallel", "alpaydin1998optical", "zhai2020macer", "sun2025acr"),
    ]
    assert reasons["lan1983discrete"] == ["the rule grid"]
    assert reasons["alpaydin1998optical"] == ["the data set digits"]
    alone = cli("cite", "--format", "bibtex").out
    assert (
        alone.startswith("% the program\n@software{randsmooth,")
        and alone.count("@") == 1
    )


def test_numbers_that_differ_beyond_six_digits_are_printed_apart() -> None:
    close = [0.1234567, 0.1234568]
    assert _joined(close) == "0.1234567|0.1234568"
    words = words_of("evaluate", Evaluate(files=[Path("a.parquet")], radii=close))
    assert "0.1234567,0.1234568" in words
