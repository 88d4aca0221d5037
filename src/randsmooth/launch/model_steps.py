"""The steps that take long: one trains a model, one certifies it.

Torch is loaded when a step is carried out, not when steps are listed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from randsmooth.certificates import CertificationSettings
from randsmooth.certificates.journal import journal_path
from randsmooth.frozen_record import FrozenRecord
from randsmooth.launch.step import Step
from randsmooth.noise import sigma_of
from randsmooth.progress import console
from randsmooth.training.settings import TrainingSettings

if TYPE_CHECKING:
    from randsmooth.certification import RunSpec
    from randsmooth.training import Recipe

# Bytes of a file that are read at once, to count its lines.
BLOCK_BYTES = 2**20


@dataclass(frozen=True, kw_only=True)
class Train(Step):
    """The step that trains a model into the folder `makes`.

    Attributes:
        dataset: the name or the path of the data set.
        settings: the settings of the training.
        device: the device to train on; "auto" leaves it to the worker.

    Example:
        >>> settings = TrainingSettings(sigma=0.25, epochs=2)
        >>> step = Train(
        ...     name="a/train", makes=Path("a"), dataset="digits", settings=settings
        ... )
        >>> step.arguments(), step.is_done()
        (['digits'], False)
    """

    verb: ClassVar[str] = "train"

    dataset: str
    settings: TrainingSettings
    device: str = "auto"

    def arguments(self) -> list[str]:
        return [self.dataset]

    def options(self) -> dict[str, Any]:
        options = stated(self.settings)
        if self.device != "auto":
            options["device"] = self.device
        return options | {"out": str(self.makes), "resume": True}

    def recipe(self) -> Recipe:
        """Return the recipe of the training.

        Raises:
            Problem: settings or data with which nothing can be trained.
        """
        from randsmooth import data
        from randsmooth.training import resolve

        described = data.describe(self.dataset, **self.settings.reading)
        recipe, _ = resolve(self.dataset, self.settings, described)
        return recipe

    def is_done(self) -> bool:
        # It is written last.
        return (self.makes / "config.json").exists()

    def make(self, device: str) -> None:
        from randsmooth.training import train

        train(
            self.dataset,
            self.settings,
            out=self.makes,
            device=device if self.device == "auto" else self.device,
            resume=True,
            progress=console,
        )

    def progress(self) -> str:
        epochs = count_rows(self.makes / "history.csv")
        if self.is_done() or not epochs:
            return ""
        total = f" of {self.settings.epochs}" if self.settings.epochs else ""
        return f"epoch {epochs}{total} done"


@dataclass(frozen=True, kw_only=True)
class Certify(Step):
    """The step that certifies images under a model into the table `makes`.

    Attributes:
        model: the folder of the model, which may come only with the steps needed here.
        settings: the settings of the certification.
        images: the images and how they are opened: the other keywords of
            `certification.certify`, such as dataset and take.
        denoiser: the folder of a denoiser that is put before the model.

    Example:
        >>> step = Certify(
        ...     name="a/certify",
        ...     makes=Path("a.tsv"),
        ...     model="a",
        ...     settings=CertificationSettings(sigma=0.25, n=1000),
        ...     images={"dataset": "digits", "take": 100},
        ... )
        >>> step.options()
        {'dataset': 'digits', 'take': 100, 'sigma': 0.25, 'n': 1000, 'out': 'a.tsv', 'resume': True}
    """

    verb: ClassVar[str] = "certify"

    model: str
    settings: CertificationSettings
    images: Mapping[str, Any] = field(default_factory=dict)
    denoiser: str | None = None

    def arguments(self) -> list[str]:
        return [self.model]

    def options(self) -> dict[str, Any]:
        options = {**self.images, **stated(self.settings)}
        if self.denoiser is not None:
            options["denoiser"] = self.denoiser
        return options | {"out": str(self.makes), "resume": True}

    def spec(self) -> RunSpec:
        """Return the run to certify, without the denoiser, as any process can open it.

        Raises:
            Problem: settings that cannot be used, or unknown ones.
        """
        from randsmooth.certification import RunSpec

        return RunSpec.of(self.model, settings=self.settings, **self.images)

    def is_done(self) -> bool:
        # A kill may have come between the table and the removal of its journal.
        return self.makes.exists() and not journal_path(self.makes).exists()

    def has_begun(self) -> bool:
        return self.makes.exists() or journal_path(self.makes).exists()

    def make(self, device: str) -> None:
        from randsmooth.certification.certifying import certify_into, header_of

        spec = self.spec().like(header_of(self.makes))
        if self.denoiser is not None:
            spec = replace(spec, model=self._denoised(self.denoiser))
        if spec.device == "auto":
            spec = replace(spec, device=device)
        certify_into(spec, self.makes, console)

    def _denoised(self, denoiser: str) -> object:
        """Open the model behind its denoiser."""
        from randsmooth import certification, models

        return models.Denoised(
            models.load_denoiser(denoiser, sigma=sigma_of(self.settings.noise)),
            certification.load_model(self.model),
        )

    def progress(self) -> str:
        images = count_rows(journal_path(self.makes))
        if self.is_done() or not images:
            return ""
        return f"{images:,} images done"


def stated(settings: FrozenRecord) -> dict[str, Any]:
    """Return the settings that are no defaults by name, a noise by its text.

    Example:
        >>> stated(TrainingSettings(noise="uniform=0.6", epochs=3))
        {'noise': 'uniform=0.6', 'epochs': 3}
    """
    values = settings.model_dump(exclude_defaults=True)
    if "noise" in values:
        values["noise"] = dict(settings)["noise"].text
    return values


def count_rows(path: Path) -> int:
    """Count the lines of a history or a journal after its first, which is its head.

    There are none where there is no file.

    Example:
        >>> _ = Path("history.csv").write_text("epoch,loss\\n0,1.0\\n")
        >>> count_rows(Path("history.csv")), count_rows(Path("nowhere.csv"))
        (1, 0)
    """
    try:
        with path.open("rb") as file:
            blocks: Iterator[bytes] = iter(partial(file.read, BLOCK_BYTES), b"")
            lines = sum(block.count(b"\n") for block in blocks)
    except OSError:
        return 0
    return max(0, lines - 1)
