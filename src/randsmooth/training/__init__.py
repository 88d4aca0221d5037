"""Training: presets, recipes, the loop and what it must remember to resume."""

from randsmooth.training.presets import PRESETS, Preset
from randsmooth.training.recipe import Recipe, Request, resolve
from randsmooth.training.steps import TrainingDiverged
from randsmooth.training.train import train

__all__ = ["PRESETS", "Preset", "Recipe", "Request", "TrainingDiverged", "resolve", "train"]
