"""All doors through which files come in, by name."""

from __future__ import annotations

from fuzz import runs
from fuzz.cache import Boundaries
from fuzz.checkpoints import Foreign
from fuzz.counts import CountLines, Counts
from fuzz.data import Folders, Images
from fuzz.folders import Config, DenoiserConfig, Weights
from fuzz.logs import Log, Matlab
from fuzz.onnx_files import Graph
from fuzz.own_data import Arrays, Paths, Tar
from fuzz.reader import Reader
from fuzz.tables import Begun, InTable, Table

_ALL: tuple[Reader, ...] = (
    *(Table(), InTable(), Begun(), Log(), Matlab(), Counts(), CountLines()),
    *(Config(), DenoiserConfig(), Weights(), Graph(), Foreign()),
    *(runs.Checkpoint(), runs.Config(), runs.TeacherPredictions(), runs.StoredPredictions()),
    *(Images(), Folders(), Arrays(), Paths(), Tar(), Boundaries()),
)
READERS: dict[str, Reader] = {each.name: each for each in _ALL}
