"""One certification: model, images and settings, opened and tried out once, into a table or a file."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from itertools import tee
from pathlib import Path
from typing import Any, Self

import torch

from randsmooth import certificates, data, models
from randsmooth.atomic import claimed
from randsmooth.certificates import (
    Certificates,
    CertificationSettings,
    Header,
    Journal,
    JournalRow,
    Machine,
    Shard,
)
from randsmooth.certificates.journal import (
    check_parquet,
    journal_path,
    shards_path,
    table_of,
)
from randsmooth.certificates.rows import in_bytes
from randsmooth.certification import header as headers
from randsmooth.certification.algorithm import (
    ImageEvidence,
    certify_steps,
    uniform_number,
)
from randsmooth.certification.backends import (
    Way,
    check_backend,
    one_at_a_time,
    slow_format,
)
from randsmooth.certification.matching import (
    deviations_of_numbers,
    held_fixed,
    matched,
    questions,
    unnamed_features,
)
from randsmooth.certification.opening import (
    class_names,
    completed,
    opened,
    reading_of,
    words_of_noise,
)
from randsmooth.certification.scheduler import Job, Scheduler
from randsmooth.certification.smoothed import SmoothedClassifier
from randsmooth.documents import shown
from randsmooth.errors import (
    BadValue,
    Conflict,
    Note,
    OutputExists,
    Problem,
    WrongData,
    check_known,
)
from randsmooth.frozen_record import settings_from
from randsmooth.models.sources import told
from randsmooth.noise import OWN_UNITS, InDeviations
from randsmooth.progress import Progress, Reporter, chosen_progress, silent
from randsmooth.urls import Place, delivered, is_url, place_of, without_credentials

SCALES = 10  # times the smallest standard deviation of a feature, the largest at which one noise suits all
OWN = 16  # of the run's own images, at most, whose answers are hashed
LARGE_SIGMA = 8.0  # many times what anyone uses, and a quarter of the smallest that is usual in units of 0..255
ASKED, TOO_FEW = (
    256,
    20,
)  # images that a model is asked about without noise, and so few that they say nothing
GOLDEN = (5**0.5 - 1) / 2
NEAR = (
    0.15  # share of the errors of guessing that a model avoids which knows hardly more
)
READING = ("image_column", "label_column", "resize", "crop")  # how images are read
SHARED = ("adapted", "_matched")  # the same under any noise, on any of the images
OPENED = (
    *SHARED,
    "completed",
    "smoothed",
    "selected",
    "_behaviour",
)  # the same for every shard


def certify(
    model: object,
    dataset: Any = None,
    settings: CertificationSettings | None = None,
    *,
    out: Place | None = None,
    workers: Any = None,
    resume: bool = False,
    overwrite: bool = False,
    progress: Progress | bool | None = None,
    **options: Any,
) -> Certificates:
    """Certify images of a data set, with the evidence; the finished table.

    Args:
        model: where it is, as in `load_model`, or the model itself: any torch module in eval mode that takes images in
            [0, 1], or features, TorchScript, a `torch.export` program, a scikit-learn estimator, or a function from
            images (B, C, H, W), or features (B, d), to logits (B, K) or labels (B,).
        dataset: name, folder or file of images, arrays (x, y) or x, or any other form that `data.load` takes, of
            features too; default:
            the data set that the model was trained on, by its name. A folder named by the model is opened only if you
            pass it here. Images without labels are certified, too: what is then not known is whether they are right.
        settings: how to certify: n0, n, alpha, rule, backend, ... (see `CertificationSettings`). Or as keywords, each
            in place of the one in `settings`. Without sigma, the one that the model folder says.
        out: the file to write, `something.parquet`, or its URL, such as `s3://bucket/something.parquet`; None: the
            table is kept in memory alone. While a file is being made, each finished image is on a line of a journal
            beside it; for a URL both wait on this machine (see `urls.delivered`).
        workers: who certifies, such as `launch.Processes(4)`, four processes on this machine; default: this process
            alone. The counts do not depend on it.
        resume, overwrite: go on with an interrupted run into `out`, or discard what is there. A resumed run keeps
            the backend and the batch that it had.
        progress: True shows how far the run is, False does not; default: on a terminal. Or a function like
            `progress.console`.
        options: which images, and how they and the model are opened, as in `Run`: split, image_column, label_column,
            resize, crop, take, skip, shard, device, identity, num_classes, model_args. And the fields of `settings`.

    Raises:
        Problem: anything that cannot be used, named, before the work starts.

    Example:
        >>> model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 10)).eval()
        >>> table = certify(model, "digits", sigma=0.25, n=100, take=5)
        >>> len(table), table.header.settings.n
        (5, 100)
    """
    if workers is not None and not hasattr(workers, "certify"):
        raise BadValue(
            f"workers={workers!r}: say of what kind they are, such as rs.launch.Processes(4)"
        )
    run, show = Run.of(model, dataset, settings, **options), chosen_progress(progress)
    if out is None:
        if workers is not None or resume or overwrite or run.shard is not None:
            raise BadValue(
                "workers, shard, resume and overwrite are about a file: give out='something.parquet'"
            )
        return run.table(show)
    if workers is not None and run.shard is not None:
        raise Conflict(
            f"shard='{run.shard}', and workers, who share a run themselves: leave out one of them"
        )
    check_parquet(out)
    out = place_of(out) if run.shard is None else run.shard.file(place_of(out))
    with delivered(out, resume=resume, overwrite=overwrite) as path:
        if workers is not None:
            table: Certificates = workers.certify(
                run, path, show, resume=resume, overwrite=overwrite
            )
            return table
        check_flags(path, resume=resume, overwrite=overwrite)
        if shards_path(path).exists() and not overwrite:
            raise OutputExists(
                f"{shards_path(path)} holds a run that was shared out: --workers 1 or more goes on"
            )
        return (run.like(header_of(path)) if resume else run).into(
            path, show, overwrite=overwrite
        )


@dataclass(frozen=True, kw_only=True)
class Run:
    """What is certified: model, images and settings. They are opened, and the model tried out, when first needed.

    It can be pickled if the model and the data set can; their names always can. What was opened stays behind.

    Attributes:
        model, dataset, settings: as in `certify`.
        split: train, validation or test. Without a test split, the validation split is
            taken for it, and the header says validation.
        image_column, label_column, resize, crop: as for `data.load`. Images are resized and cropped before any noise is
            added, and certificates are about the images that result; the header says how. Without resize and crop,
            data that are named are brought to size as the model's were in training, if it says how.
        take, skip: certify `take` images evenly spread over the file, or every `skip`-th; default: all.
        only: positions of the images, and how they were chosen in words, in place of take and skip.
        shard: certify a share of these images only, such as "3/16": the third of every sixteen. It goes to a file of
            its own beside `out`, `something-3-of-16.parquet` (or `out`, if it is named so already), and `merge` makes
            one table of all shards.
        command: the words of the command line that certifies a shard, but for --shard and --out, for `merge` to repeat.
        device: auto, cpu, cuda or, of several GPUs, such as cuda:1.
        identity: a name, given to no other model of yours, for a model that cannot be known by its weights, such as a
            function (see `models.lacks_weights`).
        num_classes: K, for a function that answers with labels; default: the number of classes of the data set.
        model_args: arguments of what opens or makes the model that is named (see `load_model`).

    Example:
        >>> model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 10)).eval()
        >>> run = Run.of(model, "digits", sigma=0.5, n=100, take=3)
        >>> run.indices
        (0, 121, 242)
        >>> [int(row.counts.sum()) for row in run.rows([0, 121])]
        [100, 100]
    """

    model: object
    dataset: Any = None
    settings: CertificationSettings = field(default_factory=CertificationSettings)
    split: str = "test"
    image_column: str | None = None
    label_column: str | None = None
    resize: Any = None
    crop: Any = None
    take: int | None = None
    skip: int | None = None
    only: tuple[tuple[int, ...], str] | None = None
    shard: Shard | None = None
    command: Sequence[str] | None = None
    device: str = "auto"
    identity: str | None = None
    num_classes: int | None = None
    model_args: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        model: object,
        dataset: Any = None,
        settings: CertificationSettings | None = None,
        **options: Any,
    ) -> Self:
        """The run of these `options`, which are attributes of a run and fields of its settings. Errors as `certify`."""
        own = {each.name for each in fields(cls)}
        check_known("setting", own | {*CertificationSettings.model_fields}, *options)
        given = {name: options.pop(name) for name in own.intersection(options)}
        settings = settings_from(CertificationSettings, settings, options)
        check_backend(settings.backend)
        given["shard"] = (
            Shard.parse(given["shard"]) if given.get("shard") is not None else None
        )
        said = {name: value for name, value in given.items() if value is not None}
        return cls(model=model, dataset=dataset, settings=settings, **said)

    def __getstate__(self) -> dict[str, Any]:
        return {each.name: getattr(self, each.name) for each in fields(self)}

    def like(self, header: Header | None) -> Run:
        """This run with backend, precision and batch of one that was begun, where its settings leave them open."""
        if header is None or header.backend is None:
            return self
        begun = {"backend": header.backend, "batch": header.batch}
        begun |= (
            {"precision": certificates.precision_named(header.precision)}
            if header.precision
            else {}
        )
        left_open = {
            name: value
            for name, value in begun.items()
            if getattr(self.settings, name) in (None, "auto")
        }
        return replace(self, settings=self.settings.replace(**left_open))

    def of_shard(self, shard: Shard) -> Run:
        """A shard of this run, for which nothing is opened again."""
        return self._changed(OPENED, shard=shard)

    def on(
        self,
        settings: CertificationSettings,
        only: tuple[tuple[int, ...], str] | None = None,
    ) -> Run:
        """This run under `settings`, on the images that `only` says; neither model nor data is opened again."""
        return self._changed(SHARED, settings=settings, only=only, take=None, skip=None)

    def _changed(self, kept: Sequence[str], **changes: Any) -> Run:
        other = replace(self, **changes)
        vars(other).update(
            {name: vars(self)[name] for name in kept if name in vars(self)}
        )
        return other

    @cached_property
    def adapted(self) -> models.BaseClassifier:
        """The model, as the images' classes have not been told to it yet."""
        return opened(self.model, self.model_args, self.num_classes)

    @property
    def trained(self) -> dict[str, Any]:
        """How the model was trained, as far as it says."""
        return models.provenance_of(self.adapted)

    @cached_property
    def completed(self) -> tuple[Any, CertificationSettings]:
        """Data set and settings, with what is left open taken from the model."""
        return completed(self.dataset, self.settings, self.trained)

    @property
    def _reading(self) -> dict[str, Any]:
        return reading_of(
            self.adapted,
            self.completed[0],
            {name: getattr(self, name) for name in READING},
        )

    def loaded(self, split: str) -> data.Images:
        """A split of the data set, whose images are decoded when they are needed."""
        return data.load(
            self.completed[0], split, stream=True, categories=True, **self._reading
        )

    @cached_property
    def _matched(self) -> tuple[models.BaseClassifier, data.Images]:
        return matched(
            self.adapted, self.loaded(self.split), self.completed[1].smoothing
        )

    @property
    def images(self) -> data.Images:
        """The split that is certified, whose images the model takes."""
        return self._matched[1]

    @property
    def base(self) -> models.BaseClassifier:
        """The base classifier, told the columns and the classes of the images."""
        return self._matched[0]

    @cached_property
    def smoothed(self) -> SmoothedClassifier:
        """What certifies."""
        settings, shape = self.completed[1], self.images.spec.shape
        if isinstance(settings.noise, InDeviations):
            settings = settings.replace(
                noise=settings.noise.learned(
                    deviations_of_numbers(self.loaded("train"))
                )
            )
        if self.images.spec.held:
            settings = settings.replace(
                noise=held_fixed(settings.smoothing, self.images.spec)
            )
        device = models.pick_device(self.device)
        return SmoothedClassifier(
            self.base, settings.of(shape), device=device, shape=shape
        )

    @cached_property
    def selected(self) -> tuple[tuple[int, ...], str]:
        """Positions of the images of all shards, and how they were chosen, in words; the model is asked nothing.

        Raises:
            Problem: what can be known to be unusable without a GPU and without long work.
        """
        return self.only or choose(len(self.images), self.take, self.skip)

    @cached_property
    def indices(self) -> tuple[int, ...]:
        """Positions of the images, in the order of the table."""
        return tuple(
            self.selected[0]
            if self.shard is None
            else self.shard.share(self.selected[0])
        )

    @cached_property
    def hashes(self) -> dict[int, int]:
        """Of the pixels of each image, of which the header's `data` is made."""
        return headers.pixel_hashes(self.images, self.indices)

    @cached_property
    def _behaviour(self) -> dict[str, str]:
        own, _ = self.images.batch(_some(self.selected[0], OWN))
        return headers.behaviour(
            self.smoothed.engine, self.images.spec.shape, list(own)
        )

    @cached_property
    def header(self) -> Header:
        """Of the table that it makes: a resumed run is compared by it with the one that was begun.

        Raises:
            Problem: the model is not for these images or needs an `identity`, or the settings need labels.
        """
        engine, images, settings = (
            self.smoothed.engine,
            self.images,
            self.smoothed.settings,
        )
        if settings.label_aware and not images.labelled:
            raise WrongData(
                "label-aware certification and certified accuracy need images with labels"
            )
        facts: dict[str, Any] = {
            "dataset": images.spec.name,
            "split": images.split,
            "selection": self.selected[1],
        }
        facts["model"] = headers.describe_model(self.base, self.identity)
        named = isinstance(self.model, str | Path)
        if named and (
            self.model_args or (":" in str(self.model) and not is_url(str(self.model)))
        ):
            facts["model"] |= {
                "source": without_credentials(str(self.model))
            }  # which is code, or was given arguments
            facts["model"] |= (
                {"arguments": told(self.model_args)} if self.model_args else {}
            )
        engine.prepare(
            images.spec.shape, len(self.indices) * (settings.n0 + settings.n)
        )
        if isinstance(self.base, models.ForeignModel):
            facts["model"]["arch"] = (
                self.base.kind
            )  # which says whether it gives labels, known once it was asked
        facts["data"] = headers.fingerprint(images, self.indices, hashes=self.hashes)
        facts |= {
            "classes": class_names(self.base, engine.classes, images, self.indices),
            "behaviour": self._behaviour,
        }
        facts |= {} if images.spec.fit is None else images.spec.fit.words()
        if self.shard is not None:
            facts["shard"] = str(self.shard)
            facts |= (
                {}
                if self.command is None
                else {"command": tuple(map(headers.runnable_here, self.command))}
            )
        return headers.made_with(engine, settings, images.spec.shape, **facts)

    @property
    def notes(self) -> Iterator[str]:
        """What a user should know of the run before it begins."""
        header, engine = self.header, self.smoothed.engine
        yield from self._odd_units()
        yield from questions(self.base, self.images)
        yield from unnamed_features(self.base)
        if held := [column.name for column in self.images.spec.held]:
            yield f"no noise on {shown(', '.join(held))}: certificates are about changes of the other columns alone"
        yield from self._other_training()
        if self._reading["resize"] != self.resize or self._reading["crop"] != self.crop:
            how = (
                f"{name} {size}"
                for name in ("resize", "crop")
                if (size := getattr(header, name)) is not None
            )
            yield f"images are brought to size as in the model's training: {', '.join(how)}"
        if engine.settings.chooses:
            rates = ", ".join(
                f"{way} {rate:,.0f}" for way, rate in engine.rates.items()
            )
            why = (
                f"images per second: {rates}"
                if rates
                else "no trial: the run is short, or there is no choice"
            )
            yield f"backend {Way(engine.backend.name, engine.backend.precision)}, batches of {engine.batch} ({why})"
        slow = (slow_format(engine.backend), one_at_a_time(engine.backend))
        yield from filter(None, (*slow, *models.notes_of(self.base), *header.notes))
        if self.images.labelled:
            right, doubt = self._without_noise
            yield right + doubt
        else:
            yield "the images have no labels, so that accuracy and ACR stay unknown"

    @property
    def doubts(self) -> Iterator[str]:
        """Those of the notes that tell of a likely mistake: who sees no progress is warned of these."""
        yield from self._odd_units()
        yield from questions(self.base, self.images)
        if self.images.labelled:
            right, doubt = self._without_noise
            yield from [right + doubt] if doubt else []

    def _odd_units(self) -> Iterator[str]:
        """What to know of the scale of the noise."""
        sigma = self.header.sigma or 0.0
        if self.images.spec.features:
            yield from self._units()
        elif sigma >= LARGE_SIGMA:
            way = f"if it is meant for pixels in 0..255, give {sigma / 255:.3g}"
            yield f"sigma={sigma:g} is {sigma:g} times the range of a pixel, which is from 0 to 1: {way}"

    def _units(self) -> Iterator[str]:
        """What to know of features: what was taken for them, and where one sigma is not the same for all."""
        if len(shape := self.images.spec.shape) == 2:
            yield f"inputs {shape} with values below 0 are taken for signals, not for grey images: no scale is checked"
        std = deviations_of_numbers(self.images)
        varying = std[std > 0]
        one_sigma = self.smoothed.settings.smoothing.norm not in OWN_UNITS
        if one_sigma and len(varying) and std.max() > SCALES * varying.min():
            said = f"the features' standard deviations lie from {varying.min():.3g} to {std.max():.3g}, and the noise"
            yield f'{said} is the same for all: --sigma 0.25std (sigma="0.25std") takes a quarter of each'

    def _other_training(self) -> Iterator[str]:
        """Where it is not about what the model, or a part of it, was made for: allowed, but seldom meant."""
        parts = {"the model was trained with": models.provenance_of(self.base)}
        if isinstance(self.base, models.Denoised):
            known = {
                name: value
                for name, value in self.base.provenance.items()
                if name == "dataset"
            }
            parts = {
                "the classifier was trained with": known,
                "the denoiser is for": self.base.denoiser_is_for,
            }
        now = {name: getattr(self.header, name) for name in ("sigma", "resize", "crop")}
        now |= (
            {"dataset": str(self.completed[0])}
            if isinstance(self.completed[0], str | Path)
            else {}
        )
        for words, known in parts.items():
            if self.header.distribution or known.get("noise"):  # not both are Gaussian
                known = {
                    **known,
                    "noise": words_of_noise(known),
                    "sigma": self.header.sigma,
                }
                now["noise"] = self.header.smoothing.text if known["noise"] else None
            for what in (
                name for name in now if known.get(name, now[name]) != now[name]
            ):
                was, is_now = (
                    "none" if value is None else value
                    for value in (known[what], now[what])
                )
                yield f"{words} {what} {was}, not {is_now}"

    @cached_property
    def _without_noise(self) -> tuple[str, str]:
        """How many of the images the model is right about without noise; and what to look at if that is guessing."""
        some = torch.tensor(_some(self.indices, ASKED))
        asked = (x.cpu() for x, _ in self.images.batches(some.split(ASKED // 4)))
        answers = torch.cat(
            [self.smoothed.engine.ask(x).argmax(dim=1).cpu() for x in asked]
        )
        right, total = int((answers == self.images.labels_at(some)).sum()), len(some)
        guess = data.guessing(self.images.labels, self.smoothed.engine.classes)
        inputs = "rows" if self.images.spec.features else "images"
        said = f"without noise the model is right about {right} of {total} of these {inputs} ({right / total:.1%})"
        doubt = ""
        if total >= TOO_FEW and right <= (guess + NEAR * (1 - guess)) * total:
            numbered = ", ".join(
                f"{place} {shown(name)}"
                for place, name in enumerate(self.images.spec.classes[:3])
            )
            taken = (
                "features in these units"
                if self.images.spec.features
                else "images in [0, 1]"
            )
            epochs, take = map(models.provenance_of(self.base).get, ("epochs", "take"))
            on = f" on {take:,} images" if type(take) is int else ""
            doubt += f", hardly more often than guessing ({guess:.1%}): "
            doubt += (
                f"was it trained long enough ({epochs} epoch{'s' * (epochs != 1)}{on}), "
                * (type(epochs) is int)
            )
            doubt += f"are its classes numbered as the data's ({numbered}, ...), and does it take {taken}?"
        return said, doubt

    def _tell(self, show: Progress, reporter: Reporter) -> None:
        """Say the notes where progress is shown; else warn of the doubts, unless it is one of many shards."""
        if show is not silent:
            for note in self.notes:
                reporter.say(f"note: {note}")
        elif self.shard is None:
            for doubt in self.doubts:
                warnings.warn(doubt, Note, stacklevel=4)

    def check_model(self, table: Certificates) -> None:
        """Raise Problem for a model that is another than the one that the certificates in `table` are about."""
        headers.check_same(self.base, table, self.identity)

    def rows(self, left: Iterable[int]) -> Iterator[JournalRow]:
        """The evidence of the images at positions `left`, one after the other in whatever order they are decided.

        A position is taken off `left` when there is room for its image, and all are counted to the end once it is
        exhausted.

        Raises:
            Problem: what `Scheduler.run` raises, or an image is no longer what the header is about.
        """
        header, engine = self.header, self.smoothed.engine
        here = None if header.shard is None else Machine.here(header)
        for job in Scheduler[tuple[int, ImageEvidence]](engine).run(self._jobs(left)):
            assert job.result is not None
            label, found = job.result
            facts: dict[str, Any] = (
                {}
                if here is None
                else {"machine": here, "image": in_bytes(job.address)}
            )
            facts |= (
                {"u": uniform_number(engine.seed, job.address)}
                if header.bound == "randomised"
                else {}
            )
            yield JournalRow(job.number, label, *found, round(job.seconds, 6), **facts)

    def _jobs(self, left: Iterable[int]) -> Iterator[Job[tuple[int, ImageEvidence]]]:
        """One job an image, made when the scheduler has room for it."""
        header, rule = self.header, certificates.rule_of(self.header)

        def steps(label: int) -> Any:
            return label, (
                yield from certify_steps(
                    rule, header.n0 or 0, label if header.label_aware else None
                )
            )

        positions, ahead = tee(left)  # images are decoded ahead
        for index, (x, y) in zip(
            positions,
            self.images.batches(torch.tensor([index]) for index in ahead),
            strict=True,
        ):
            job = Job(index, x[0], steps(int(y[0])))
            if job.address != self.hashes[index]:
                changed = f"{self.images.name_of(index)} has other pixels than when this run began"
                raise OutputExists(
                    f"{changed}: put it back and resume, or certify into another file"
                )
            yield job

    def table(self, show: Progress = silent) -> Certificates:
        """The table, in memory."""
        found = dict[int, JournalRow]()
        with show("certify", len(self.indices), "images") as reporter:
            self._tell(show, reporter)
            for row in self.rows(spread(self.indices)):
                found[row.idx] = row
                reporter.advance(1)
        return table_of(self.header, [found[index] for index in self.indices])

    def into(
        self, out: Path, show: Progress = silent, *, overwrite: bool = False
    ) -> Certificates:
        """The table, and the file `out`. What a run into it was killed over goes on, unless it is to be overwritten.

        A run that is killed, at whatever moment, loses the few images in hand. What is reported as done was written to
        the disk before: a power failure does not take it either.

        Raises:
            Problem: `out` holds a run with another header, or another process writes it; or an image is unusable,
                or the model's logits are not finite.

        Example:
            >>> import tempfile
            >>> model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 10)).eval()
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     Run.of(model, "digits", sigma=0.5, n=1000, take=2).into(Path(folder) / "two.parquet").idx
            array([  0, 182])
        """
        if out.exists() and not (
            overwrite or journal_path(out).exists()
        ):  # also where nothing may be written
            return self.finished(out)
        path = journal_path(out)
        with claimed(
            out
        ) as check_claim:  # so that no other run finishes, or begins, meanwhile
            if overwrite:
                out.unlink(missing_ok=True)
                shutil.rmtree(shards_path(out), ignore_errors=True)
            if out.exists():  # a kill may have come between writing the table and removing the journal
                table = self.finished(out)
            else:
                begins = overwrite or not path.exists()
                with (
                    Journal.create(path, self.header)
                    if begins
                    else Journal.resume(path, self.header) as journal
                ):
                    table = self._journalled(journal, out, show)
                    check_claim()
                    certificates.write_parquet(table, out)
            path.unlink(missing_ok=True)
        return table

    def _journalled(self, journal: Journal, out: Path, show: Progress) -> Certificates:
        """The table of `out`, whose missing rows go to the `journal`; one of no row is removed after an error."""
        try:
            with show(f"certify {out.stem}", len(self.indices), "images") as reporter:
                self._tell(show, reporter)
                done, right = {row.idx for row in journal.rows}, _settled(journal)
                reporter.skip(len(done))
                for row in self.rows(
                    [index for index in spread(self.indices) if index not in done]
                ):
                    journal.append(row)
                    safe = (
                        journal.settle()
                        if len(journal.rows) < len(self.indices)
                        else journal.sync()
                    )
                    if safe:
                        right += _settled(journal)
                        kind = (
                            "certified and right"
                            if self.images.labelled
                            else "certified"
                        )
                        reporter.advance(
                            safe, f"{right / len(journal.rows):.1%} {kind}"
                        )
            table = journal.table(self.indices, out.stem)
        except Problem:
            if not journal.rows:
                journal.path.unlink(missing_ok=True)
            raise
        journal.rows.clear()  # the memory of as many counts as the table holds
        return table

    def finished(self, out: Path) -> Certificates:
        """The table in the file `out`. Problem where it is of another run."""
        table = certificates.read_parquet(out)
        several = self.shard is not None or bool(
            table.header.machines
        )  # rows say which machine made them
        certificates.check_same_run(table.header, self.header, out, several=several)
        return table


def _settled(journal: Journal) -> int:
    """How many of the rows since the last call are certified, and right as far as there are labels."""
    table = journal.judge()
    return int(
        (
            table.correct if table.labelled else table.predict != certificates.ABSTAIN
        ).sum()
    )


def _some(indices: Sequence[int], most: int) -> list[int]:
    """At most so many of the `indices`, evenly spread."""
    return torch.tensor(indices)[
        data.take(len(indices), min(most, len(indices)))
    ].tolist()


def spread(indices: Sequence[int]) -> list[int]:
    """The `indices` in an order of which every beginning is spread evenly over all, whatever the order of classes.

    Example:
        >>> spread(range(0, 80, 10))
        [0, 50, 20, 70, 40, 10, 60, 30]
    """
    return [
        indices[place]
        for place in sorted(range(len(indices)), key=lambda place: place * GOLDEN % 1)
    ]


def choose(
    total: int, take: int | None, skip: int | None
) -> tuple[tuple[int, ...], str]:
    """Positions of the images to certify, and how they were chosen, in words."""
    if take is not None and skip is not None:
        raise Conflict(
            f"take={take} and skip={skip} choose images in two ways: give one of them"
        )
    if take is not None:
        return tuple(data.take(total, take).tolist()), f"take {take} of {total}"
    if skip is not None:
        return tuple(data.skip(total, skip).tolist()), f"one in {skip} of {total}"
    return tuple(range(total)), f"all {total}"


def check_flags(out: Path, *, resume: bool, overwrite: bool) -> None:
    """Raise Problem for both flags at once, or for neither where `out` or its journal exists."""
    if resume and overwrite:
        raise Conflict(
            "resume=True goes on, overwrite=True begins anew: give one of them"
        )
    there = next(
        (path for path in (out, journal_path(out), shards_path(out)) if path.exists()),
        None,
    )
    if there is not None and not (resume or overwrite):
        ways = "resume=True. To begin anew: overwrite=True, or another out (--out)"
        raise OutputExists(f"{there} exists. To go on with it: {ways}")


def header_of(out: Path) -> Header | None:
    """The header of the run into `out`, finished or not; None where there is none."""
    if out.exists():
        return certificates.read_parquet(out).header
    path = journal_path(out)
    return certificates.journal_header(path) if path.exists() else None
