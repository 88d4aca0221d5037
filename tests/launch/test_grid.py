"""Grids: what lists come to, what models are called, which of them refer to others; nothing is trained."""

from __future__ import annotations

import shlex
import time
from pathlib import Path
from typing import Any

import pytest

from randsmooth.errors import InputError
from randsmooth.launch import Grid
from randsmooth.launch.sweeping import begun, steps_of

BASE: dict[str, Any] = {"datasets": "digits", "methods": "gaussian", "sigmas": 0.25}


def commands(**changes: Any) -> dict[str, str]:
    """Step -> its command, of the usual grid with some changes, without folders."""
    graph = steps_of(Grid.read(BASE | changes), Path("OUT"))
    return {step.name: step.command() for step in graph}


def test_every_list_is_crossed_with_all_others() -> None:
    grid = Grid.read(
        {
            "datasets": ["digits", "mnist"],
            "methods": {"gaussian": None, "macer": {"lbd": [6, 16]}},
            "sigmas": [0.25, 0.5],
            "seeds": [0, 1, 2],
            "train": {"epochs": [2, 4]},
            "certify": [{"n": [1000, 2000]}, {"rule": "grid"}],
        }
    )
    assert len(grid.cells) == 2 * 3 * 2 * 3 * 2 == len({cell.title for cell in grid.cells})
    assert [one.title for one in grid.certifications] == ["n=1000", "n=2000", "rule=grid"]
    assert "digits-macer-epochs=4-lbd=16-0.5-seed2" in {cell.title for cell in grid.cells}
    assert len(steps_of(grid, Path("OUT"))) == 72 * (1 + 3 + 1)


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


def test_adding_to_a_list_renames_nothing() -> None:
    before = commands(seeds=[0], methods={"macer": {"lbd": 6}})
    after = commands(seeds=[0, 1], methods={"gaussian": None, "macer": {"lbd": [6, 16]}}, sigmas=[0.25, 0.5])
    kept = {name: command for name, command in before.items() if "/" in name}
    assert kept.items() <= after.items()


def test_the_order_of_settings_means_nothing(tmp_path: Path) -> None:
    grids = [
        Grid.read(BASE | {"train": train, "certify": certify, "methods": {"amplify": own}})
        for train, certify, own in (
            ({"epochs": 2, "take": 9}, {"n": 100, "take": 5}, {"p_t": 0.3, "E_t": 1}),
            ({"take": 9, "epochs": 2}, {"take": 5, "n": 100}, {"E_t": 1, "p_t": 0.3}),
        )
    ]
    first, second = ([step.name for step in steps_of(grid, tmp_path)] for grid in grids)
    assert first == second
    with begun(grids[0], tmp_path):
        for step in steps_of(grids[0], tmp_path):
            step.makes.mkdir(parents=True, exist_ok=True)
    with begun(grids[1], tmp_path):
        pass
    with (
        pytest.raises(InputError, match=r"model was made with other settings .*epochs"),
        begun(
            Grid.read(BASE | {"train": {"epochs": 3, "take": 9}, "methods": {"amplify": {"p_t": 0.3, "E_t": 1}}}),
            tmp_path,
        ),
    ):
        pass


RELEASED = {"variant": "released", "teacher_noises": 64}


def test_a_reference_to_a_model_of_the_grid_is_an_edge_to_it() -> None:
    grid = Grid.read(
        BASE
        | {"sigmas": [0.25, 0.5], "seeds": [0, 1]}
        | {"methods": {"cat-rs": {**RELEASED, "teacher": {"method": "gaussian", "sigma": 0.25}}, "gaussian": None}}
    )
    graph = {step.name: step for step in steps_of(grid, Path("OUT"))}
    training = [step for step in graph.values() if step.verb == "train"]
    assert len(training) == 8
    for step in training:
        if "cat-rs" in step.name:
            (teacher,) = step.needs
            assert teacher == f"digits-gaussian-0.25-seed{step.options['seed']}/train"
            assert step.options["set"]["teacher"] == str(graph[teacher].makes)


def test_a_reference_to_a_model_beyond_the_grid_trains_it_once_and_certifies_it_never() -> None:
    said = commands(
        methods={"cat-rs": {**RELEASED, "teacher": {"sigma": 0.12, "epochs": 5}}},
        sigmas=[0.25, 0.5],
        train={"epochs": 2, "take": 100},
    )
    teachers = {name: command for name, command in said.items() if "cat-rs" not in name}
    assert [*teachers] == ["digits-gaussian-epochs=5-0.12-seed0/train"]
    assert "--sigma 0.12 --seed 0 --epochs 5 --take 100 --out" in next(iter(teachers.values()))


def test_a_reference_that_may_mean_two_models_is_refused() -> None:
    methods: dict[str, Any] = {
        "gaussian": {"lr": [0.1, 0.01]},
        "cat-rs": {**RELEASED, "teacher": {"method": "gaussian"}},
    }
    with pytest.raises(InputError, match=r"teacher may mean digits-gaussian-lr=0.1-.* or .*say in which setting"):
        commands(methods=methods)
    methods["cat-rs"]["teacher"] = {"method": "gaussian", "lr": 0.01}
    assert "digits-gaussian-lr=0.01-0.25-seed0/model" in str(commands(methods=methods))


def test_denoisers_are_trained_once_for_all_that_share_them() -> None:
    first = {"arch": "dncnn-3x4", "epochs": 1}
    said = commands(
        sigmas=0,
        seeds=[0, 1],
        certify={"sigma": [0.25, 0.5], "n": 100, "denoiser": first},
    )
    trained = [command for command in said.values() if command.startswith("randsmooth train-denoiser")]
    assert len(trained) == 2 and "--sigma 0.25 --arch dncnn-3x4 --epochs 1" in trained[0]
    second = {"objective": "stability", "start": first, **first}
    said = commands(sigmas=0, seeds=[0, 1], certify={"sigma": 0.25, "n": 100, "denoiser": second})
    trained = [command for command in said.values() if command.startswith("randsmooth train-denoiser")]
    assert len(trained) == 3  # one for each classifier, which begins with the one for all
    assert sum("--classifier OUT/digits-gaussian-0-seed" in command for command in trained) == 2


BAD: list[tuple[dict[str, Any], str]] = [
    ({"methods": []}, "the grid is empty: methods is []"),
    ({"sigmas": None}, "the grid is empty: it must name sigmas"),
    ({"train": {"epochs": []}}, "the grid is empty: train: epochs is []"),
    ({"sigma": 0.5}, "unknown key of a grid 'sigma': did you mean 'sigmas'?"),
    ({"sigmas": [0.25, 0.25]}, "sigmas has 0.25 twice"),
    ({"seeds": [1, 1]}, "seeds has 1 twice"),
    ({"methods": ["gaussian", "gaussian"]}, "methods has 'gaussian' twice"),
    ({"methods": ["gaussian", {"gaussian": None}]}, "the grid has digits-gaussian-0.25-seed0 twice"),
    ({"datasets": ["a/images", "b/images"]}, "has images-gaussian-0.25-seed0 twice: leave one of them out, or put it"),
    ({"certify": [{"n": 100}, {"n": 100}]}, "certify has {'n': 100} twice"),
    ({"methods": "gausian"}, "did you mean 'gaussian'?"),
    ({"methods": {"gaussian": {"lbd": 5}}}, "unknown setting below methods: gaussian: 'lbd'"),
    ({"train": {"epoch": 5}}, "unknown setting below train: 'epoch': did you mean 'epochs'?"),
    ({"datasets": {"digits": {"splt": "test"}}}, "unknown setting below datasets: digits: 'splt'"),
    ({"certify": {"N": 5}}, "unknown setting below certify: 'N': did you mean 'n'?"),
    ({"certify": {"denoiser": {"depth": 5}}}, "unknown setting below certify: denoiser: 'depth'"),
    ({"sigmas": "half"}, "a sigma must be a number such as 0.25; got 'half'"),
    ({"seeds": 0.5}, "a seed must be a whole number such as 0; got 0.5"),
    ({"methods": 3}, "methods must be names, or `name: settings` lines; got 3"),
    ({"train": 3}, "train must hold `setting: value` lines; got 3"),
    ({"methods": {"gaussian": {"m": {"a": 1}}}}, "m is no model, and takes one value"),
]


def test_bad_grids() -> None:
    for changes, said in BAD:
        with pytest.raises(InputError) as error:
            commands(**changes)
        assert said in str(error.value), changes


def test_a_grid_of_millions_is_refused_before_it_is_crossed() -> None:
    """A few kilobytes of lists; crossing them would take hours and all memory."""
    many = list(range(1, 301))
    base: dict[str, Any] = {"datasets": "digits", "methods": "gaussian", "sigmas": 0.5}
    for large in (
        {"train": {"batch": many, "epochs": many, "lr": many}},
        {"train": [{"epochs": epochs, "batch": many} for epochs in many]},
        {"certify": {"n": many, "n0": many}},
        {"sigmas": many, "seeds": many},
        {"methods": {"macer": {"lbd": many, "gamma": many, "m": many}}},
        {"methods": [{"macer": {"lbd": lbd, "gamma": many}} for lbd in many]},
        {"seeds": list(range(100_000))},
        {"seeds": list(range(1_000)), "certify": {"n": [100, 200, 300]}},
    ):
        began = time.process_time()
        with pytest.raises(InputError, match=r"comes? to more than 2,000: leave some out, or make several grids"):
            Grid.read(base | large)
        assert time.process_time() - began < 5
    assert len(Grid.read(base | {"seeds": list(range(300))}).cells) == 300
