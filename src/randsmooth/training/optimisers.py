"""The optimisers of training runs, and what each keeps about a parameter from step to step."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import SGD, Adam, Optimizer

from randsmooth.errors import InputError
from randsmooth.training.checkpoint import check_like
from randsmooth.training.recipe import Recipe

CALLED = {"sgd": "SGD with momentum", "adam": "Adam"}
KEPT = {"sgd": {"momentum_buffer"}, "adam": {"step", "exp_avg", "exp_avg_sq"}}
BETA_2 = 0.999  # of Adam; its other beta is the recipe's momentum


def make_optimiser(recipe: Recipe, parameters: Iterable[nn.Parameter]) -> Optimizer:
    """The optimiser of `recipe` for the `parameters` of its network."""
    if recipe.optimiser == "adam":
        betas = (recipe.momentum, BETA_2)
        return Adam(parameters, recipe.lr, betas=betas, weight_decay=recipe.weight_decay, fused=True)
    return SGD(parameters, recipe.lr, recipe.momentum, weight_decay=recipe.weight_decay, fused=True)


def checked_state(
    path: Path, recipe: Recipe, parameters: list[nn.Parameter], stored: dict[str, Any]
) -> dict[int, dict[str, Tensor | None]]:
    """The optimiser's `stored` state in the checkpoint at `path`: number of a parameter -> what is kept about it.

    Raises:
        InputError: it is no such state, or that of another optimiser or network.
    """
    state = stored.get("state")
    if not isinstance(state, dict) or not set(state) <= set(range(len(parameters))):
        raise InputError(f"{path} does not fit: its optimiser's state is not a dictionary by parameter")
    for i, each in state.items():
        if not isinstance(each, dict) or each.keys() != KEPT[recipe.optimiser]:
            raise InputError(f"{path} does not fit: its optimiser is not {CALLED[recipe.optimiser]}")
        for name, value in each.items():
            like = torch.zeros(()) if name == "step" else parameters[i]
            if value is not None or recipe.optimiser != "sgd":  # SGD without momentum keeps None
                check_like(path, f"the {_words(name)} of parameter {i}", like, value)
    return state


def _words(name: str) -> str:
    return "momentum" if name == "momentum_buffer" else name
