"""Presets on the command line: the list of them, and training by the name of one."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from cli.run import Run
from randsmooth import methods, models
from randsmooth.cli.verbs.train import Train, default_folder
from randsmooth.training import PRESETS


def listed(text: str) -> list[str]:
    """The names that a list of presets spells out."""
    names = []
    for line in text.splitlines():
        if main_preset := re.match(r"  (\S+/\S+)  ", line):
            names.append(main_preset[1])
        elif table := re.match(r"    ([^/]+/[^/]+)(/[^\s,:]+(?:, /[^\s,:]+)*)(?:: .+)?  \(", line):
            names += [table[1] + variation for variation in table[2].split(", ")]
    return names


def test_the_list_names_every_preset_once(cli: Run) -> None:
    code, out, _ = cli("methods", "--presets")
    assert code == 0
    assert sorted(listed(out)) == sorted(preset.name for preset in PRESETS)
    assert max(map(len, out.splitlines())) < 200


@pytest.mark.parametrize("method", sorted(methods.METHODS))
def test_the_list_of_one_method(cli: Run, method: str) -> None:
    _, out, _ = cli("methods", method, "--presets")
    assert sorted(listed(out)) == sorted(preset.name for preset in PRESETS if preset.method == method)


@pytest.mark.parametrize(
    "line",
    [
        "Sun et al., ICML 2025",
        "Zhai et al., ICLR 2020",
        "not from a paper",
        "  acr/gaussian     cifar10: m=4  (table 2 and appendix A.1)",
        "  cat-rs/smoothmix/prose     mnist: m=4, alpha=1, eta=5, T=2|4|8  (section 4 and appendix B.2)",
        "  cat-rs/smoothmix/table1    mnist: m=4, alpha=1, eta=5, T=2|4|8  (table 1 as its figures' logs were made)",
        "    its schedule, mnist: 90 epochs, lr 0.01 (x0.1 at epochs 30, 60), batch 256, weight decay 0.0001",
        "    cat-rs/smoothmix/eta=1, /eta=2, /eta=4, /eta=8, /eta=16  (sigma 1, table 4)",
        "    acr/amplify/T=2, /T=4, /T=6, /T=8, /T=10  (sigma 0.5, arXiv version, table 8)",
        "    acr/amplify/linf-eps=0.125, /linf-eps=0.25, /linf-eps=0.5, /linf-eps=1: norm=linf  "
        "(sigma 0.5, arXiv version, table 9)",
        "  usual schedule, cifar10: 150 epochs, lr 0.1 (x0.1 at epochs 50, 100), batch 256, weight decay 0.0001",
        "    its schedule, cifar10: 440 epochs, lr 0.01 (x0.1 at epochs 200, 400), batch 1024, weight decay 0.0005",
        "    its schedule, cifar10: 150 epochs, lr 0.1 (x0.1 at epochs 50, 100), batch 4096, weight decay 0.0001",
        "    its schedule, else as usual: batch 1024",
        "    cat-rs/cat-rs/released: variant=released, lbd=0.5|1|2  "
        "(table 2 as the authors' code has it; needs a teacher: --set teacher=MODEL_DIR)",
        "    macer/macer/k=1, /k=2, /k=4, /k=8, /k=16: lbd=12, batch=64|128|256|512|1024  "
        "(sigma 0.25|0.5, tables 9 and 10)",
        "    cat-rs/cat-rs/lbd=0.25, /lbd=0.5, /lbd=1, /lbd=2, /lbd=4  (sigma 0.5, resnet20, table 6)",
    ],
)
def test_the_list_reads(cli: Run, line: str) -> None:
    assert line in cli("methods", "--presets")[1].splitlines()


def test_a_presets_name_shows_it(cli: Run) -> None:
    code, out, _ = cli("methods", "macer/macer/k=4")
    assert code == 0
    assert out.splitlines() == [
        "macer/macer/k=4  (Zhai et al., ICLR 2020, tables 9 and 10)",
        "  --method macer on cifar10",
        "  k=4, gamma=8, beta=16, lbd=12 at sigma 0.25|0.5",
        "  cifar10: 440 epochs, lr 0.01 (x0.1 at epochs 200, 400), batch 256, weight decay 0.0005",
        "",
    ]


@pytest.mark.parametrize("name", sorted({preset.name for preset in PRESETS}))
def test_every_preset_can_be_shown(cli: Run, name: str) -> None:
    code, out, _ = cli("methods", name)
    assert (code, out.startswith(f"{name}  (")) == (0, True)


def test_what_a_preset_needs_is_shown(cli: Run) -> None:
    assert "--set p_A_from=MODEL_DIR" in cli("methods", "acr/amplify")[1]
    assert "--set teacher=MODEL_DIR" in cli("methods", "acr/cat-rs")[1]


def test_a_run_says_what_it_runs(cli: Run) -> None:
    words = ("train", "digits", "--method", "smoothmix", "--sigma", 0.5, "--epochs", 1, "--take", 64)
    code, out, err = cli(*words, "--set", "T=1", "--set", "lr=1e-2")
    assert code == 0, err
    assert out.splitlines()[:4] == [
        "preset randsmooth/smoothmix: smoothmix with m=4, T=1, alpha=1.0, eta=5.0, start=0.0, warmup=1; small-cnn, "
        "1 epoch, lr 0.01, batch 256, weight decay 0.0001, 64 images per step",
        "randsmooth/smoothmix: not from a paper: cat-rs/smoothmix/prose of mnist on the data set's usual schedule",
        "T=1 instead of the preset's 4; lr=0.01 instead of the preset's 0.05",
        "schedule of 40 epochs compressed to 1: lr_milestones [15, 30] -> [], warmup 3 -> 1",
    ]


def test_the_preset_brings_the_method(cli: Run, tmp_path: Path) -> None:
    words = ("train", "digits", "--preset", "randsmooth/smoothmix", "--sigma", 0.5, "--epochs", 2, "--take", 64)
    code, out, err = cli(*words, "--set", "T=1")
    assert code == 0, err
    assert "schedule of 40 epochs compressed to 2" in out
    assert "T=1 instead of the preset's 4" in out
    folder = tmp_path / "runs" / "digits-randsmooth-smoothmix-0.5"
    assert models.load(folder).provenance["method"] == "smoothmix"
    assert "method" not in yaml.safe_load((folder / "run.yaml").read_text())
    again = cli("train", "--config", folder / "run.yaml", "--resume", "--out", folder)
    assert again[0] == 0, again[2]


@pytest.mark.parametrize(
    ("given", "folder"),
    [
        ({}, "runs/mnist-gaussian-0.5"),
        ({"method": "macer"}, "runs/mnist-macer-0.5"),
        ({"preset": "cat-rs/smoothmix"}, "runs/mnist-cat-rs-smoothmix-0.5"),
        ({"method": "cat-rs", "preset": "cat-rs/cat-rs/lbd=4"}, "runs/mnist-cat-rs-cat-rs-lbd=4-0.5"),
    ],
)
def test_where_a_run_goes(given: dict[str, Any], folder: str) -> None:
    assert default_folder(Train(dataset="data/mnist", sigma=0.5, **given)) == Path(folder)


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("train mnist --preset cat-rs/smoothmix --method gaussian --sigma 1", "for --method smoothmix, not gaussian"),
        ("train mnist --preset cat-rs/smothmix --sigma 1", "did you mean 'cat-rs/smoothmix'"),
        ("train digits --preset cat-rs/smoothmix --sigma 1", "--preset randsmooth/smoothmix serves it"),
        ("train digits --method macer --sigma 1 --set k=3", "must be a multiple of m=3"),
        ("train cifar10 --preset cat-rs/cat-rs/released --sigma 0.5", "teacher=MODEL_DIR"),
        ("methods smothmix --presets", "smoothmix"),
        ("methods acr/amplifi", "did you mean 'acr/amplify'"),
        ("train digits --method amplify --sigma 0.5 --epochs 1", "amplify needs at least 2 epochs"),
        ("train digits --sigma 0.5 --set lr=[1", "lr='[1' must be of type float"),
    ],
)
def test_what_does_not_fit_is_refused(cli: Run, tmp_path: Path, words: str, named: str) -> None:
    code, _, err = cli(*words.split())
    assert (code, named in err) == (2, True), err
    assert not list(tmp_path.iterdir())


def test_an_explained_method_says_what_train_takes_by_itself(cli: Run) -> None:
    _, out, _ = cli("methods", "gaussian")
    assert "  Hyperparameters:\n      m: noise samples per image.\n  Defaults of the class: m=1\n" in out
    assert "  `train digits` uses the preset randsmooth/gaussian: m=4\n" in out
    assert "Attributes" not in cli("methods", "amplify")[1]
    assert "eps=0.25|0.25|0.5 at sigma 0.25|0.5|1" in cli("methods", "amplify")[1]


@pytest.mark.parametrize("words", [("methods",), ("data", "list")])
def test_listings_have_no_settings_to_keep(cli: Run, words: tuple[str, ...]) -> None:
    _, out, _ = cli(*words, "--help")
    assert "--help" in out and "config" not in out
    assert cli(*words, "--config", "a.yaml")[0] == 2
