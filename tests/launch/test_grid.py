"""Grids, the steps that they come to and the chains that carry these out; nothing is trained."""

import shlex
import time
from pathlib import Path
from typing import Any

import pytest

from randsmooth.errors import Problem
from randsmooth.launch import SweepGrid
from randsmooth.launch.chains import (
    Step,
    carry_out,
    chains_of,
    command_words,
    run_words,
)
from randsmooth.launch.sweeping import check_steps, steps_of
from randsmooth.progress import silent

BASE: dict[str, Any] = {"datasets": "digits", "methods": "gaussian", "sigmas": 0.25}
RELEASED: dict[str, Any] = {"variant": "released", "teacher_noises": 64}


def commands(**changes: Any) -> dict[str, str]:
    """Step -> its command, of the usual grid with some changes, below OUT."""
    return {
        step.name: step.command()
        for step in steps_of(SweepGrid.read(BASE | changes), Path("OUT"))
    }


def test_every_list_is_crossed_with_all_others_and_adding_to_one_renames_nothing() -> (
    None
):
    document: dict[str, Any] = {
        "datasets": ["digits", "mnist"],
        "methods": {"gaussian": None, "macer": {"lbd": [6, 16]}},
        "sigmas": [0.25, 0.5],
        "seeds": [0, 1, 2],
        "train": {"epochs": [2, 4]},
        "certify": [{"n": [1000, 2000]}, {"rule": "grid"}],
    }
    grid = SweepGrid.read(document)
    assert (
        len(grid.cells) == 2 * 3 * 2 * 3 * 2 == len({cell.title for cell in grid.cells})
    )
    assert [*grid.certifications] == ["n=1000", "n=2000", "rule=grid"]
    assert "digits-macer-epochs=4-lbd=16-0.5-seed2" in {
        cell.title for cell in grid.cells
    }
    assert len(steps_of(grid, Path("OUT"))) == 72 * (1 + 3 + 1)
    fewer = commands(
        **document | {"sigmas": 0.5, "seeds": 1, "methods": {"macer": {"lbd": 6}}}
    )
    assert fewer and fewer.items() <= commands(**document).items()


def test_settings_become_the_options_of_the_verbs() -> None:
    said = commands(
        datasets={"my/images": {"arch": "small-cnn", "resize": 8}},
        methods={"amplify": {"p_t": 0.3, "E_t": 1, "epochs": 3}},
        train={"epochs": 2, "lr": 0.01},
        certify={"n": 1000, "label_aware": True, "take": 20},
    )
    train, certify, evaluate = said.values()
    folder = "OUT/images-amplify-E_t=1-epochs=3-p_t=0.3-0.25-seed0"
    assert train == (
        "randsmooth train my/images --method amplify --sigma 0.25 --seed 0 --epochs 3 --arch small-cnn --resize 8 "
        f"--set lr=0.01 --set p_t=0.3 --set E_t=1 --out {folder}/model --resume"
    )
    table = f"{folder}/label_aware=True-n=1000-take=20.parquet"
    assert certify == (
        f"randsmooth certify {folder}/model --dataset my/images --resize 8 --n 1000 --label-aware --take 20 "
        f"--out {table} --resume"
    )
    assert shlex.split(evaluate)[1:3] == ["evaluate", table]
    uniform, certified, _ = commands(
        sigmas="uniform=0.6", certify={"noise": "laplace=0.3", "n": 300}
    ).values()
    assert (
        "--method gaussian --noise uniform=0.6 --seed 0" in uniform
        and "--noise laplace=0.3" in certified
    )
    values = {
        "set": {"lr": 0.1, "name": "1e3", "drops": [1, 2]},
        "batch": None,
        "sound": True,
    }
    words = [
        "--set",
        "lr=0.1",
        "--set",
        'name="1e3"',
        "--set",
        "drops=[1, 2]",
        "--sound",
    ]
    assert command_words("certify", "a", values) == ["certify", "a", *words]


def test_a_model_that_another_needs_is_made_before_it_once_and_certified_only_if_asked_for() -> (
    None
):
    methods = {
        "cat-rs": {**RELEASED, "teacher": {"method": "gaussian", "sigma": 0.25}},
        "gaussian": None,
    }
    grid = SweepGrid.read(
        BASE | {"sigmas": [0.25, 0.5], "seeds": [0, 1], "methods": methods}
    )
    steps = {step.name: step for step in steps_of(grid, Path("OUT"))}
    assert sum(step.verb == "train" for step in steps.values()) == 8
    for step in steps.values():
        if step.verb == "train" and "cat-rs" in step.name:
            (teacher,) = step.needs
            assert (
                teacher.name == f"digits-gaussian-0.25-seed{step.options['seed']}/train"
            )
            assert step.options["set"]["teacher"] == str(teacher.makes)
    said = commands(
        methods={"cat-rs": {**RELEASED, "teacher": {"sigma": 0.12, "epochs": 5}}},
        sigmas=[0.25, 0.5],
        train={"epochs": 2, "take": 100},
    )
    ((name, command),) = (
        (name, command) for name, command in said.items() if "cat-rs" not in name
    )
    assert name == "digits-gaussian-epochs=5-0.12-seed0/train"
    assert "--sigma 0.12 --seed 0 --epochs 5 --take 100 --out" in command


def test_a_reference_that_may_mean_two_models_is_refused() -> None:
    methods: dict[str, Any] = {
        "gaussian": {"lr": [0.1, 0.01]},
        "cat-rs": {**RELEASED, "teacher": {}},
    }
    with pytest.raises(Problem) as refused:
        commands(methods=methods)
    assert "teacher may mean digits-gaussian-lr=0.1-" in str(
        refused.value
    ) and "say in which" in str(refused.value)
    methods["cat-rs"]["teacher"] = {"method": "gaussian", "lr": 0.01}
    assert "digits-gaussian-lr=0.01-0.25-seed0/model" in str(commands(methods=methods))


BAD: list[tuple[dict[str, Any], str]] = [
    ({"sigmas": None}, "the grid is empty: it must name sigmas"),
    ({"sigma": 0.5}, "unknown key of a grid 'sigma': did you mean 'sigmas'?"),
    ({"sigmas": [0.25, 0.25]}, "has digits-gaussian-0.25-seed0 twice"),
    (
        {"methods": ["gaussian", {"gaussian": None}]},
        "the grid has digits-gaussian-0.25-seed0 twice",
    ),
    (
        {"datasets": ["a/images", "b/images"]},
        "has images-gaussian-0.25-seed0 twice: leave one of them out, or put it",
    ),
    ({"certify": [{"n": 100}, {"n": 100}]}, "certify has n=100 twice"),
    ({"methods": "gausian"}, "did you mean 'gaussian'?"),
    (
        {"methods": {"gaussian": {"lbd": 5}}},
        "seed0/train: unknown setting of gaussian 'lbd'",
    ),
    ({"train": {"epoch": 5}}, "unknown setting of gaussian 'epoch'"),
    ({"train": {"sigma": 5}}, "unknown setting of gaussian 'sigma'"),
    ({"certify": {"shard": "1/2"}}, "unknown setting below certify: 'shard'"),
    ({"methods": 3}, "methods must be names, or `name: settings` lines; got 3"),
    ({"train": 3}, "train must hold `setting: value` lines; got 3"),
    (
        {"methods": {"gaussian": {"m": {"lr": 0.1}}}},
        "m='OUT/digits-gaussian-lr=0.1-0.25-seed0/model' must be",
    ),
    ({"seeds": 0.5}, "seed0.5/train: seed=0.5"),
    ({"methods": {"cat-rs": {**RELEASED, "teacher": {"method": 3}}}}, "method=3"),
    ({"certify": {"n": 100, "take": "many"}}, "take='many'"),
]


def test_bad_grids() -> None:
    for changes, said in BAD:
        with pytest.raises(Problem) as error:
            check_steps(steps_of(SweepGrid.read(BASE | changes), Path("OUT")))
        assert said in str(error.value), changes


def test_a_date_in_a_grid_is_the_text_that_it_is_written_as(tmp_path: Path) -> None:
    """Folders are called by dates; where a number is expected, the refusal names it as it stands there."""
    path, day = tmp_path / "grid.yaml", "2024-05-01"
    (tmp_path / day).mkdir()
    path.write_text("datasets: 2024-05-01\nmethods: gaussian\nsigmas: 0.5\n")
    (step, *_) = steps_of(SweepGrid.read(path), tmp_path / "out")
    assert step.argument == day
    for key, of in (("seeds", "seed"), ("train", "epochs"), ("certify", "n")):
        value = day if key == "seeds" else f"{{{of}: {day}}}"
        path.write_text(
            f"datasets: digits\nmethods: gaussian\nsigmas: 0.5\n{key}: {value}\n"
        )
        with pytest.raises(Problem, match=f"{of}='{day}'"):
            check_steps(steps_of(SweepGrid.read(path), tmp_path / "out"))


def test_a_long_name_floods_no_terminal() -> None:
    name = "x" * 10_000
    grids: list[dict[str, Any]] = [
        {"methods": {name: 5}},
        {"train": {name: []}},
        {"methods": name},
    ]
    for grid in grids:
        with pytest.raises(Problem) as refused:
            check_steps(steps_of(SweepGrid.read(BASE | grid), Path("OUT")))
        assert len(str(refused.value)) < 1_000


def test_the_grids_of_the_repository_are_grids() -> None:
    root = Path(__file__).parents[2]
    ours = {"benchmarks/mnist-methods": 24, "benchmarks/mnist-at-scale": 9}
    for path, models in {
        "docs/_figures/methods": 8,
        "examples/grid": 8,
        **ours,
    }.items():
        assert len(SweepGrid.read(root / f"{path}.yaml").cells) == models, path


def test_a_grid_of_millions_is_refused_before_it_is_crossed() -> None:
    """A few kilobytes of lists; crossing them would take hours and all memory."""
    many = list(range(1, 301))
    for large in (
        {"train": {"batch": many, "epochs": many, "lr": many}},
        {"methods": [{"macer": {"lbd": lbd, "gamma": many}} for lbd in many]},
        {"seeds": list(range(1_000)), "certify": {"n": [100, 200, 300]}},
    ):
        began = time.process_time()
        with pytest.raises(Problem) as refused:
            SweepGrid.read(BASE | large)
        assert (
            "more than 2,000: leave some out" in str(refused.value)
            and time.process_time() - began < 5
        ), large
    assert len(SweepGrid.read(BASE | {"seeds": list(range(300))}).cells) == 300


def test_what_fails_stops_only_what_needs_it(tmp_path: Path) -> None:
    table, missing = tmp_path / "t.tsv", tmp_path / "nosuch.tsv"
    table.write_text(
        "idx\tlabel\tpredict\tradius\tcorrect\ttime\n0\t1\t1\t0.5\t1\t0:00:01\n"
    )

    def step(name: str, source: Path, *needs: Step) -> Step:
        out = tmp_path / f"{name.partition('/')[0]}.json"
        return Step(
            name,
            "evaluate",
            str(source),
            {"format": "json", "out": out, "overwrite": True},
            out,
            needs,
        )

    steps = [step("a/x", missing), step("d/x", table)]
    steps.append(step("b/x", table, steps[0]))
    steps.append(step("c/x", table, steps[2]))
    chains = chains_of(steps)
    failed, blocked = carry_out(chains, None, silent, "all")
    assert "nosuch.tsv" in failed["a"] and blocked == {"b": "a", "c": "a"}
    assert {chain.name for chain in chains if not chain.missing()} == {"d"}
    assert "nosuch.tsv" in steps[0].failure()
    missing.write_text(table.read_text())
    assert carry_out(chains, None, silent, "all") == ({}, {}) and not any(
        chain.missing() for chain in chains
    )
    assert steps[0].failure() == ""
    with pytest.raises(Problem) as refused:
        chains_of([steps[0], steps[2], step("a/y", table, steps[2])])
    assert "a, b wait for each other" in str(refused.value)


def test_what_a_command_says_goes_to_its_log(tmp_path: Path) -> None:
    assert run_words(["--version"], tmp_path / "log") == ""
    assert "unknown verb 'evalute'" in run_words(["evalute"], tmp_path / "log")
    assert (tmp_path / "log").read_text().splitlines()[::2] == [
        "$ randsmooth --version",
        "$ randsmooth evalute",
    ]
