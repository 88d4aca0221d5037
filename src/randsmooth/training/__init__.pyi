from .presets import PRESETS as PRESETS, Preset as Preset
from .recipe import Recipe as Recipe, Request as Request, resolve as resolve
from .run import train as train
from .steps import TrainingDiverged as TrainingDiverged
