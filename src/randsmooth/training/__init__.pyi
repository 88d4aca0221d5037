from .presets import PRESETS as PRESETS
from .presets import Preset as Preset
from .recipe import Recipe as Recipe
from .recipe import Request as Request
from .recipe import resolve as resolve
from .run import train as train
from .steps import TrainingDiverged as TrainingDiverged
