"""Listings and what they are made of: methods and presets, data sets, citations, also of packages that are broken."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from cli.processes import Run
from randsmooth import models
from randsmooth.data import DATASETS
from randsmooth.methods import METHODS
from randsmooth.registry import Registry
from randsmooth.rules import RULES
from randsmooth.training import PRESETS

# --- presets --------------------------------------------------------------------------------------------------------


def listed(text: str) -> set[str]:
    """The names that a list of presets spells out."""
    names = set(re.findall(r"^  (\S+/\S+)  ", text, re.MULTILINE))
    for base, variations in re.findall(r"^    (\S+/\S+) (/.+)$", text, re.MULTILINE):
        names |= {base + variation for variation in variations.split(", ")}
    return names


def test_the_lists_name_every_preset_with_its_values_and_source(cli: Run) -> None:
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
    done = cli("methods", "macer/macer/k=4")
    assert done.code == 0 and done.out.splitlines()[:4] == [
        "macer/macer/k=4  (Zhai et al., ICLR 2020, tables 9 and 10)",
        "  --method macer on cifar10",
        "  k=4, gamma=8, beta=16, lbd=12 at sigma 0.25|0.5",
        "  cifar10: 440 epochs, lr 0.01 (x0.1 at epochs 200, 400), batch 256, weight decay 0.0005",
    ]
    assert "--set teacher=MODEL_DIR" in cli("methods", "acr/cat-rs").out
    for name in {preset.name for preset in PRESETS if preset.main}:
        assert cli("methods", name).out.startswith(f"{name}  ("), name
    out = cli("methods", "gaussian").out
    assert "  Hyperparameters:\n      m: noise samples per image.\n  Defaults of the class: m=1\n" in out
    assert "  `train digits` uses the preset randsmooth/gaussian: m=4\n" in out


def test_a_run_says_what_it_runs_and_the_preset_brings_the_method(cli: Run, tmp_path: Path) -> None:
    words = ("train", "digits", "--preset", "randsmooth/smoothmix", "--sigma", 0.5, "--epochs", 1, "--take", 64)
    done = cli(*words, "--set", "T=1", "--set", "lr=1e-2")
    assert done.code == 0, done.err
    said = "\n".join(done.out.splitlines()[:4])
    assert all(word in said for word in ("randsmooth/smoothmix: smoothmix with m=4, T=1", "1 epoch", "lr 0.01")), said
    folder = tmp_path / "runs" / "digits-randsmooth-smoothmix-0.5"
    assert models.load(folder).provenance["method"] == "smoothmix"
    assert "method" not in yaml.safe_load((folder / "run.yaml").read_text())
    again = cli("train", "--config", folder / "run.yaml", "--resume", "--out", folder)
    assert again.code == 0, again.err


def test_what_does_not_fit_is_refused(cli: Run, tmp_path: Path) -> None:
    for words, named in {
        "train mnist --preset cat-rs/smoothmix --method gaussian --sigma 1": "--method smoothmix",
        "train mnist --preset cat-rs/smothmix --sigma 1": "'cat-rs/smoothmix'",
        "train digits --preset cat-rs/smoothmix --sigma 1": "randsmooth/smoothmix",
        "train digits --method macer --sigma 1 --set k=3": "m=3",
        "train cifar10 --preset cat-rs/cat-rs/released --sigma 0.5": "teacher=MODEL_DIR",
        "methods smothmix --presets": "smoothmix",
        "methods acr/amplifi": "'acr/amplify'",
        "train digits --method amplify --sigma 0.5 --epochs 1": "2 epochs",
        "train digits --sigma 0.5 --set lr=[1": "lr='[1'",
        "cite nothing.parquet": "nothing.parquet",
        "cite macer --format ris": "'ris'",
        "cite .": ".",
    }.items():
        done = cli(*words.split())
        assert (done.code, named in done.err) == (2, True), (words, done.err)
    assert not list(tmp_path.iterdir())


# --- citations ------------------------------------------------------------------------------------------------------


def test_a_table_and_its_model_are_cited(cli: Run, model: Path) -> None:
    certified = cli("certify", model, "--take", 2, "--n", 1000, "--rule", "grid", "--sound", "--out", "m.parquet")
    assert certified.code == 0, certified.err
    found = json.loads(cli("cite", "m.parquet", model, "--format", "json").out)
    reasons = {one["key"]: one["for"] for one in found["citations"]}
    assert [*reasons] == [
        *("randsmooth", "cohen2019certified", "lan1983discrete", "armitage1969repeated", "voracek2023sound"),
        *("salmon2011parallel", "alpaydin1998optical", "zhai2020macer", "sun2025acr"),
    ]
    assert reasons["lan1983discrete"] == ["the rule grid"]
    assert reasons["alpaydin1998optical"] == ["the data set digits"]
    alone = cli("cite", "--format", "bibtex").out
    assert alone.startswith("% the program\n@software{randsmooth,") and alone.count("@") == 1


# --- a package that cannot be imported stops neither a listing nor a verb that does not need it ---------------------

REGISTRIES: Mapping[str, Registry[Any]] = {
    "randsmooth.methods": METHODS,
    "randsmooth.datasets": DATASETS,
    "randsmooth.rules": RULES,
}
GOOD = '''
from randsmooth.data import DatasetSpec
from randsmooth.rules import RuleEntry

class Method:
    """Good method."""
    source = "Doe 2026"

dataset = DatasetSpec(
    name="good", shape=(1, 2, 2), classes=("a", "b"), mean=None, std=None, augment="none", arch="small-cnn", hub=None,
    sizes={"test": 1}, description="Good data.",
)
rule = RuleEntry(kind="good_module:Rule", usage="good", help="good rule.")
'''


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A package whose modules are good and one whose module cannot be imported, which also has one of our names."""

    def forget() -> None:
        for registry in REGISTRIES.values():
            vars(registry).pop("_others", None)
            vars(registry)["_loaded"].pop("good", None)

    own = {group: next(iter(registry)) for group, registry in REGISTRIES.items()}
    for package, name, module in (("fine", "good", "good_module"), ("shaky", "bad", "no_such_module")):
        info = tmp_path / f"{package}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        lines = []
        for group, attribute in zip(REGISTRIES, ("Method", "dataset", "rule"), strict=True):
            names = [name, own[group]] if package == "shaky" else [name]
            lines += [f"[{group}]", *(f"{each} = {module}:{attribute}" for each in names)]
        (info / "entry_points.txt").write_text("\n".join(lines))
    (tmp_path / "good_module.py").write_text(GOOD)
    monkeypatch.syspath_prepend(tmp_path)
    forget()
    yield
    forget()


@pytest.mark.usefixtures("installed")
def test_a_listing_goes_on(cli: Run) -> None:
    for words, kind, ours, good in (
        (["methods"], "method", "ICML 2025", "Good method."),
        (["data", "list"], "data set", "mnist", "Good data. (from fine)"),
        (["certify", "--help"], "rule", "dense", "good: good rule."),
    ):
        code, out, err = cli(*words)
        assert code == 0 and ours in out and good in out
        said = " ".join(out.split())
        assert f"{kind} 'bad' of the package shaky cannot be loaded (no_such_module:" in said
        assert "No module named 'no_such_module'): update or uninstall that package" in said
        notes = [line for line in err.splitlines() if line.startswith(f"note: {kind} ")]
        assert len(notes) == 1 and "of the package shaky is left out" in notes[0]
