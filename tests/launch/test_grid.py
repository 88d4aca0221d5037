"""Grids, the steps that they come to and the chains that carry these out; nothing is trained."""

import shlex
import time
from pathlib import Path
from typing import Any

import pytest

from randsmooth.certificates import from_counts, write_parquet
from randsmooth.cli.printed_commands import command_of, command_words
from randsmooth.errors import (
    BadValue,
    NotFound,
    OutputExists,
    Problem,
    Setting,
    SeveralProblems,
    WrongFile,
)
from randsmooth.launch import SweepGrid
from randsmooth.launch.chains import Ended, carry_out, chains_of
from randsmooth.launch.model_steps import Train
from randsmooth.launch.outcomes import read_problem, write_problem
from randsmooth.launch.step import Step
from randsmooth.launch.sweep_checks import check_steps
from randsmooth.launch.sweep_steps import steps_of
from randsmooth.launch.table_steps import Evaluate
from randsmooth.progress import silent

BASE: dict[str, Any] = {"datasets": "digits", "methods": "gaussian", "sigmas": 0.25}
RELEASED: dict[str, Any] = {"variant": "released", "teacher_noises": 64}


def commands(**changes: Any) -> dict[str, str]:
    """Step -> its command, of the usual grid with some changes, below OUT."""
    return {
        step.name: command_of(step)
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
    assert shlex.split(train) == shlex.split(
        "randsmooth train my/images --sigma 0.25 --resize 8 --method amplify "
        "--arch small-cnn --epochs 3 --set lr=0.01 --set p_t=0.3 --set E_t=1 "
        f"--out {folder}/model --resume"
    )
    table = f"{folder}/label_aware=True-n=1000-take=20.parquet"
    assert shlex.split(certify) == shlex.split(
        f"randsmooth certify {folder}/model --dataset my/images --resize 8 --take 20 "
        f"--n 1000 --label-aware --out {table} --resume"
    )
    assert shlex.split(evaluate)[1:3] == ["evaluate", table]
    uniform, certified, _ = commands(
        sigmas="uniform=0.6", certify={"noise": "laplace=0.3", "n": 300}
    ).values()
    assert (
        "--noise uniform=0.6 --method gaussian --out" in uniform
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
    assert command_words("certify", ["a"], values) == ["certify", "a", *words]


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
        if isinstance(step, Train) and "cat-rs" in step.name:
            (teacher,) = step.needs
            seed = step.settings.seed
            assert teacher.name == f"digits-gaussian-0.25-seed{seed}/train"
            assert step.settings.set["teacher"] == str(teacher.makes)
    said = commands(
        methods={"cat-rs": {**RELEASED, "teacher": {"sigma": 0.12, "epochs": 5}}},
        sigmas=[0.25, 0.5],
        train={"epochs": 2, "take": 100},
    )
    ((name, command),) = (
        (name, command) for name, command in said.items() if "cat-rs" not in name
    )
    assert name == "digits-gaussian-epochs=5-0.12-seed0/train"
    assert "--sigma 0.12 --method gaussian --epochs 5 --take 100 --out" in command


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
    ({"sigmas": None}, "the grid lacks sigmas"),
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
    assert step.arguments() == [day]
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
    table = tmp_path / "t.parquet"
    missing = tmp_path / "nosuch.parquet"
    certified = from_counts(
        [[9, 91]], counts0=[[1, 9]], label=[1], sigma=0.5, alpha=0.01, name="t"
    )
    write_parquet(certified, table)

    def step(name: str, source: Path, *needs: Step) -> Step:
        made = tmp_path / f"{name.partition('/')[0]}.json"
        return Evaluate(name=name, makes=made, needs=needs, tables=(source,))

    steps = [step("a/x", missing), step("d/x", table)]
    steps.append(step("b/x", table, steps[0]))
    steps.append(step("c/x", table, steps[2]))
    chains = chains_of(steps)
    ended = carry_out(chains, None, silent, "all")
    failure = steps[0].failure()
    assert isinstance(ended.failed["a"], WrongFile) and isinstance(failure, WrongFile)
    assert str(failure) == str(ended.failed["a"])
    assert "nosuch.parquet" in str(failure)
    assert ended.blocked == {"b": "a", "c": "a"}
    assert {chain.name for chain in chains if not chain.missing()} == {"d"}
    log = steps[0].beside(".log").read_text().splitlines()
    assert log[0].startswith("evaluate ") and log[-1].startswith("failed: ")

    write_parquet(certified, missing)
    assert carry_out(chains, None, silent, "all") == Ended()
    assert not any(chain.missing() for chain in chains)
    assert steps[0].failure() is None
    with pytest.raises(BadValue, match="a, b wait for each other"):
        chains_of([steps[0], steps[2], step("a/y", table, steps[2])])


def test_a_problem_is_read_as_it_was_written(tmp_path: Path) -> None:
    exists = OutputExists(
        "a exists", fix=(Setting("resume", True), " goes on"), file="a"
    )
    bad = BadValue(field="n", value=5, expected=("must be ", Setting("n", 10)))
    for problem in (exists, bad, NotFound("no a"), SeveralProblems(bad, exists)):
        write_problem(problem, tmp_path / "a.failed")
        read = read_problem(tmp_path / "a.failed")
        assert type(read) is type(problem) and str(read) == str(problem)
        assert read.settings_in_fix == problem.settings_in_fix
        assert (read.field, read.value) == (problem.field, problem.value)
    (tmp_path / "a.failed").write_text("[]")
    with pytest.raises(WrongFile):
        read_problem(tmp_path / "a.failed")


def test_models_that_differ_beyond_six_digits_have_folders_of_their_own() -> None:
    close = [0.1234567, 0.1234568]
    steps = commands(sigmas=close)
    trained = [words for words in steps.values() if "train" in words.split()]
    assert len(trained) == len(close)
