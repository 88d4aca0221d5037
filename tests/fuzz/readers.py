"""All doors through which files come in, by name."""

from fuzz import certificates_read as certificates
from fuzz import images_read as images
from fuzz import libraries_read as libraries
from fuzz import models_read as models
from fuzz import settings_read as settings
from fuzz.harness import Reader

_ALL: tuple[Reader, ...] = (
    *(certificates.Table(), certificates.Begun(), certificates.Log()),
    *(certificates.Counts(), certificates.CountLines()),
    *(models.Folder(), models.DenoiserFolder(), models.Graph(), models.Foreign()),
    *(models.Checkpoint(), models.RunConfig(), models.TeacherPredictions()),
    *(
        images.Images(),
        images.Folders(),
        images.Arrays(),
        images.Paths(),
        images.Tar(),
        images.Lists(),
        images.Beside(),
        images.Saved(),
    ),
    *(
        libraries.TransformersFolder(),
        libraries.DiffusionFolder(),
        libraries.Script(),
        libraries.Program(),
    ),
    *(settings.Grids(), settings.Deviations()),
)
READERS: dict[str, Reader] = {each.name: each for each in _ALL}
