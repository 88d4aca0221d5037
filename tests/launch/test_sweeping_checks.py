"""What is checked of a sweep before its first step, with the models that it will have by then."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from randsmooth.errors import InputError
from randsmooth.launch import Grid
from randsmooth.launch.sweeping import check_steps, steps_of

RELEASED: dict[str, Any] = {"variant": "released", "teacher_noises": 16}


def check(folder: Path, methods: dict[str, Any], **changes: Any) -> None:
    base: dict[str, Any] = {"datasets": "digits", "sigmas": 0.25, "train": {"epochs": 2}, "certify": {"n": 100}}
    check_steps(steps_of(Grid.read(base | {"methods": methods} | changes), folder))


def test_models_that_are_yet_to_be_trained_are_taken_for_granted(tmp_path: Path) -> None:
    check(tmp_path, {"gaussian": None, "cat-rs": {**RELEASED, "teacher": {}}})
    stability = {"objective": "stability", "arch": "dncnn-3x4", "start": {"arch": "dncnn-3x4"}}
    check(tmp_path, {"gaussian": None}, sigmas=0, certify={"sigma": 0.25, "n": 100, "denoiser": stability})


def test_models_that_are_named_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(InputError) as refused:
        check(tmp_path, {"cat-rs": {**RELEASED, "teacher": "no/such/folder"}})
    assert "cat-rs" in str(refused.value) and "no/such/folder" in str(refused.value)


def test_what_is_done_is_not_checked_again(tmp_path: Path) -> None:
    grid: dict[str, Any] = {"datasets": "nosuch", "methods": "gaussian", "sigmas": 0.25, "certify": []}
    (step,) = steps_of(Grid.read(grid), tmp_path)
    with pytest.raises(InputError, match=r"nosuch-gaussian-0.25-seed0/train: unknown data set 'nosuch'"):
        check_steps(steps_of(Grid.read(grid), tmp_path))
    step.makes.mkdir(parents=True)
    (step.makes / "config.json").touch()
    check_steps(steps_of(Grid.read(grid), tmp_path))
