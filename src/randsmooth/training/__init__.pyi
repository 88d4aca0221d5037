from .presets import PRESETS as PRESETS
from .presets import Preset as Preset
from .recipe import Recipe as Recipe
from .resolution import resolve as resolve
from .run import train as train
from .settings import TrainingSettings as TrainingSettings
from .step_log import TrainingDiverged as TrainingDiverged
