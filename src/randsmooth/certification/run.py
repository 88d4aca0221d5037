"""One certification in two phases: what is asked for, and what is opened to answer it.

    RunSpec -> open() -> OpenRun -> certify(indices)

A `RunSpec` holds objects and settings, and can be sent to another process. `open` goes
through the model, the images, the noise and the engine in this order, and then writes
the header: from there on nothing is left to be found out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import tee
from pathlib import Path
from typing import Any, Self, Unpack

import torch

from randsmooth import certificates, data, models
from randsmooth.certificates import (
    NO_LABEL,
    Certificates,
    CertificationOptions,
    CertificationSettings,
    Header,
    JournalRow,
    Machine,
    Shard,
)
from randsmooth.certificates.rows import in_bytes
from randsmooth.certification import run_header as headers
from randsmooth.certification.algorithm import (
    ImageEvidence,
    certify_steps,
    uniform_number,
)
from randsmooth.certification.backends import check_backend
from randsmooth.certification.engine import Engine
from randsmooth.certification.fitting import check_judges_texts, class_names
from randsmooth.certification.keywords import ImageOptions, RunOptions
from randsmooth.certification.matching import (
    deviations_of_numbers,
    held_fixed,
    matched,
)
from randsmooth.certification.opening import (
    dataset_of,
    opened,
    reading_of,
    trained_noise,
)
from randsmooth.certification.refusals import named_classes, refusal_name
from randsmooth.certification.scheduler import Job, Scheduler, Steps
from randsmooth.certification.smoothed import SmoothedClassifier
from randsmooth.errors import Conflict, OutputExists, Setting, WrongData, check_known
from randsmooth.frozen_record import settings_from
from randsmooth.models.arguments import recorded_arguments
from randsmooth.noise import Deviations, Noise, on_words
from randsmooth.urls import is_url, without_credentials

# The most images of a run whose answers are hashed, see `run_header.behaviour`.
IMAGES_HASHED = 16

# The golden ratio. Its multiples, modulo 1, are spread evenly, however many there are.
GOLDEN = (5**0.5 - 1) / 2

# The arguments of `data.load` that say how images are read.
READING = ("image_column", "label_column", "resize", "crop", "text_column")

# Positions of images in a split, and how they were chosen, in words.
Chosen = tuple[tuple[int, ...], str]


@dataclass(frozen=True, kw_only=True)
class RunSpec:
    """What is to be certified, as it was asked for: model, images and settings.

    Nothing of it is open yet.

    It can be pickled if the model and the data set can; their names always can.

    Attributes:
        model, dataset, settings: see `certify`.
        split: train, validation or test. Without a test split, the validation split is
            taken for it, and the header says validation.
        image_column, label_column, resize, crop, text_column: as for `data.load`. Images are resized
            and cropped before any noise is added, and certificates are about the images
            that result; the header says how. Without resize and crop, data that are
            named are brought to size as the model's were in training, if it says how.
        unlabelled: leave out the labels of the data, which are no classes of the model;
            a router's classes are experts.
        take, skip: certify `take` images evenly spread over the file, or every
            `skip`-th; default: all.
        only: positions of the images, and how they were chosen in words, in place of
            take and skip.
        shard: certify a share of these images only, such as "3/16": the third of every
            sixteen. It goes to a file of its own beside `out`,
            `something-3-of-16.parquet` (or `out`, if it is named so already), and
            `merge` makes one table of all shards.
        command: the words of the command line that certifies a shard, but for --shard
            and --out, for `merge` to repeat.
        device: auto, cpu, cuda or, of several GPUs, such as cuda:1.
        identity: a name, given to no other model of yours, for a model that cannot be
            known by its weights, such as a function (see `models.lacks_weights`).
        num_classes: K, for a function that answers with labels; default: the number of
            classes of the data set.
        refusal: the class that stands for declined answers: "class", or the name of a
            class (see `OpeningOptions`); None: no answer may decline.
        model_args: arguments of what opens or makes the model that is named (see
            `load_model`).

    Example:
        >>> from torch import nn
        >>> model = nn.Sequential(nn.Flatten(), nn.Linear(64, 10)).eval()
        >>> run = RunSpec.of(model, "digits", sigma=0.5, n=100, take=3).open()
        >>> run.indices
        (0, 121, 242)
        >>> [int(row.counts.sum()) for row in run.certify([0, 121])]
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
    text_column: str | None = None
    unlabelled: bool = False
    take: int | None = None
    skip: int | None = None
    only: Chosen | None = None
    shard: Shard | None = None
    command: Sequence[str] | None = None
    device: str = "auto"
    identity: str | None = None
    num_classes: int | None = None
    refusal: str | None = None
    model_args: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        model: object,
        dataset: Any = None,
        settings: CertificationSettings | None = None,
        *,
        only: Chosen | None = None,
        shard: Shard | str | None = None,
        command: Sequence[str] | None = None,
        **options: Unpack[RunOptions],
    ) -> Self:
        """Return the request that these arguments make.

        Args:
            options: attributes of a run, where None stands for the default; and fields
                of its settings, each in place of the one in `settings`.

        The other arguments are attributes of the run.

        Raises:
            Problem: an option that is unknown or cannot be used.
        """
        # `RunOptions` are these two: what is open and chosen, and the settings.
        run_names = ImageOptions.__optional_keys__
        setting_names = CertificationOptions.__optional_keys__
        check_known("setting", {*run_names, *setting_names}, *options)
        given = {
            name: value for name, value in options.items() if name in setting_names
        }
        settings = settings_from(CertificationSettings, settings, given)
        check_backend(settings.backend)
        opening: dict[str, Any] = {
            name: value
            for name, value in options.items()
            if name in run_names and value is not None
        }
        return cls(
            model=model,
            dataset=dataset,
            settings=settings,
            only=only,
            shard=None if shard is None else Shard.parse(shard),
            command=command,
            **opening,
        )

    def like(self, header: Header | None) -> RunSpec:
        """Return this with backend, precision and batch of the run that has `header`,
        where its own settings leave them open.

        So a run that was begun goes on in the same arithmetic. A `header` of None, or
        one that does not name its backend, leaves this as it is.
        """
        if header is None or header.backend is None:
            return self
        begun: dict[str, Any] = {"backend": header.backend, "batch": header.batch}
        if header.precision:
            begun["precision"] = certificates.precision_named(header.precision)
        left_open = {
            name: value
            for name, value in begun.items()
            if getattr(self.settings, name) in (None, "auto")
        }
        return replace(self, settings=self.settings.replace(**left_open))

    def on(
        self, settings: CertificationSettings, only: Chosen | None = None
    ) -> RunSpec:
        """Return this under other `settings`, on the images that `only` names, or on
        all images of the split.
        """
        return replace(self, settings=settings, only=only, take=None, skip=None)

    def choose(self, total: int) -> Chosen:
        """Return the positions, among `total` images, of those of all shards, and how
        they were chosen, in words.
        """
        return self.only or choose(total, self.take, self.skip)

    def share(self, chosen: Chosen) -> tuple[int, ...]:
        """Return the positions of the images of this shard, in the order of the table."""
        positions, _ = chosen
        return positions if self.shard is None else self.shard.share(positions)

    def open_model(self) -> models.BaseClassifier:
        """Open the model; the classes of the images have not been told to it yet."""
        return opened(self.model, self.model_args, self.num_classes, self.refusal)

    def open_inputs(self, model: models.BaseClassifier | None = None) -> Inputs:
        """Open the model and the images, and bring them together, without asking the
        model anything.

        Args:
            model: the return value of `open_model`, where the model is open already.

        Raises:
            Problem: the model, the images or the settings can be known to be unusable
                without a GPU and without long work.
        """
        model = self.open_model() if model is None else model
        trained = models.provenance_of(model)
        noise = self.settings.noise or trained_noise(trained)
        dataset = dataset_of(self.dataset, trained)
        asked = {name: getattr(self, name) for name in READING}
        reading = reading_of(model, dataset, asked)
        if models.takes_texts(model) and reading["text_column"] is None:
            reading["text_column"] = data.ONLY_TEXTS
        images = load_split(dataset, self.split, reading)
        if self.unlabelled:
            images = images.relabelled(torch.full((len(images),), NO_LABEL))
        # `Deviations` become a noise once the images are known; they keep shapes.
        known_noise = noise if isinstance(noise, Noise) else None
        model, images = matched(model, images, known_noise, self.refusal)
        return Inputs(model, images, trained, dataset, reading)

    def smoothed(self, inputs: Inputs) -> SmoothedClassifier:
        """Return the smoothed classifier that certifies: the model under the noise of
        the settings, on the device.
        """
        return SmoothedClassifier(
            inputs.model,
            inputs.complete(self.settings),
            device=models.pick_device(self.device),
            shape=inputs.images.spec.shape,
            refusal=self.refusal,
        )

    def open(self, inputs: Inputs | None = None) -> OpenRun:
        """Open what is to be certified, and try the model out.

        Args:
            inputs: the return value of `open_inputs`, where model and images are open
                already.

        Raises:
            Problem: the model is not for these images or needs an `identity`, or the
                settings need labels.
        """
        inputs = self.open_inputs() if inputs is None else inputs
        images = inputs.images
        smoothed = self.smoothed(inputs)
        settings = smoothed.settings
        if settings.label_aware and not images.labelled:
            raise WrongData(
                "label-aware certification and certified accuracy need images with "
                "labels"
            )
        chosen = self.choose(len(images))
        about_model = self._about_model(inputs.model)

        # A long run has the time to try out several backends, if these are open.
        samples = len(self.share(chosen)) * (settings.n0 + settings.n)
        smoothed.engine.prepare(images.spec.shape, samples)
        if isinstance(inputs.model, models.ForeignModel):
            # Its kind says whether it answers with labels: it was asked just now.
            about_model["arch"] = inputs.model.kind

        # Images of all shards: each shard is to have the same hash.
        positions, selection = chosen
        own, _ = images.batch(some_of(positions, IMAGES_HASHED))
        facts: dict[str, Any] = {
            "dataset": images.spec.name,
            "split": images.split,
            "selection": selection,
            "model": about_model,
            "behaviour": headers.behaviour(
                smoothed.engine, images.spec.shape, list(own)
            ),
        }
        if images.spec.fit is not None:
            facts |= images.spec.fit.words()
        return _opened_run(self, inputs, smoothed, chosen, facts)

    def _about_model(self, model: models.BaseClassifier) -> dict[str, Any]:
        """Return what the header says of the model.

        Where code made the model, or arguments were given, that is also how it was
        opened.
        """
        facts = headers.describe_model(model, self.identity)
        # A model that is no name was opened elsewhere.
        if not isinstance(self.model, str | Path):
            return facts
        source = str(self.model)
        # Code is named as package.module:NAME, or file.py:NAME.
        is_code = ":" in source and not is_url(source)
        if is_code or self.model_args:
            facts["source"] = without_credentials(source)
        if self.model_args:
            facts["arguments"] = recorded_arguments(self.model_args)
        return facts


@dataclass(frozen=True)
class Inputs:
    """The model and the images of a run, open and brought together.

    The model has not been asked anything yet.

    Attributes:
        model: the base classifier, told the columns and the classes of the images.
        images: the split that is certified, whose images the model takes.
        trained: how the model was trained, as far as it says.
        dataset: the data set of the images: as it was given, or as the model names it.
        reading: how its images are read, as for `data.load`.

    Example:
        >>> from torch import nn
        >>> model = nn.Sequential(nn.Flatten(), nn.Linear(64, 10)).eval()
        >>> inputs = RunSpec.of(model, "digits", sigma=0.5).open_inputs()
        >>> len(inputs.images), inputs.dataset
        (364, 'digits')
    """

    model: models.BaseClassifier
    images: data.Images
    trained: Mapping[str, Any]
    dataset: Any
    reading: Mapping[str, Any]

    def split(self, name: str) -> data.Images:
        """Return another split of the data set, read in the same way.

        Its labels are numbers of the data set's classes, not of the model's.
        """
        return load_split(self.dataset, name, self.reading)

    def complete(self, settings: CertificationSettings) -> CertificationSettings:
        """Return `settings` with what they leave open: a noise from the model, what the
        noise must know from the images, and the seed 0.

        Raises:
            Problem: neither they nor the model say the noise, or it is not for these
                images.
        """
        spec = self.images.spec
        noise = settings.noise or trained_noise(self.trained)
        if isinstance(noise, Deviations):
            noise = noise.noise_for(deviations_of_numbers(self.split("train")))
        if spec.held:
            noise = held_fixed(noise, spec)
        if spec.texts:
            noise = on_words(noise)
            check_judges_texts(settings.rule)
        noise = noise.of(spec.shape)

        learned: dict[str, Any] = {}
        if noise is not settings.noise:
            learned["noise"] = noise
        if settings.seed is None:
            learned["seed"] = 0
        return settings.replace(**learned) if learned else settings


@dataclass(frozen=True)
class OpenRun:
    """A run whose model, images and engine are open and tried out, and whose header
    says everything.

    Attributes:
        spec: the request, as `certify` was given it.
        inputs: the model and the images.
        smoothed: the smoothed classifier that certifies; its settings are complete.
        chosen: positions of the images of all shards, and how they were chosen.
        facts: the facts of the header that are the same for every shard.
        indices: positions of the images of this shard, in the order of the table.
        hashes: position -> the hash of the pixels, for each image of this shard. The
            header's `data` is made of them.
        header: the header of the table. By it a resumed run is compared with the run
            that was begun.

    Example:
        >>> from torch import nn
        >>> model = nn.Sequential(nn.Flatten(), nn.Linear(64, 10)).eval()
        >>> run = RunSpec.of(model, "digits", sigma=0.5, n=100, take=4).open()
        >>> run.header.selection, run.of_shard(Shard(2, 2)).indices
        ('take 4 of 364', (91, 273))
    """

    spec: RunSpec
    inputs: Inputs
    smoothed: SmoothedClassifier
    chosen: Chosen
    facts: Mapping[str, Any]
    indices: tuple[int, ...]
    hashes: Mapping[int, int]
    header: Header

    @property
    def images(self) -> data.Images:
        """The split that is certified."""
        return self.inputs.images

    @property
    def engine(self) -> Engine:
        """The engine that draws the noise and asks the model."""
        return self.smoothed.engine

    def of_shard(self, shard: Shard) -> OpenRun:
        """Return a shard of this run, with a header of its own.

        Nothing is opened again.
        """
        spec = replace(self.spec, shard=shard)
        return _opened_run(spec, self.inputs, self.smoothed, self.chosen, self.facts)

    def check_model(self, table: Certificates) -> None:
        """Raise Problem unless the certificates in `table` are about this run's model."""
        headers.check_same(self.inputs.model, table, self.spec.identity)

    def certify(self, indices: Iterable[int]) -> Iterator[JournalRow]:
        """Yield the evidence of the images at `indices`, in the order in which they are
        decided.

        Positions are taken off `indices` as there is room for their images, and a few
        ahead, whose images are decoded meanwhile. Once `indices` is exhausted, all images
        under way are counted to the end.

        Raises:
            Problem: `Scheduler.run` raises it, or an image is no longer the one that
                the header is about.
        """
        header = self.header
        # Rows of a shard say on which machine they were made, as another one may resume
        # the shard, and which image they are about: `merge` needs both.
        machine = None if header.shard is None else Machine.here(header)
        scheduler = Scheduler[tuple[int, ImageEvidence]](self.engine)
        for job in scheduler.run(self._jobs(indices)):
            assert job.result is not None
            label, evidence = job.result
            facts: dict[str, Any] = {}
            if machine is not None:
                facts |= {"machine": machine, "image": in_bytes(job.address)}
            if header.bound == "randomised":
                facts["u"] = uniform_number(self.engine.seed, job.address)
            if self.engine.noise.counts_words:
                facts["words"] = self.engine.noise.words_in(job.x)
            yield JournalRow(
                idx=job.number,
                label=label,
                counts0=evidence.counts0,
                counts=evidence.counts,
                path=evidence.path,
                seconds=round(job.seconds, 6),
                **facts,
            )

    def _jobs(self, indices: Iterable[int]) -> Iterator[Job[tuple[int, ImageEvidence]]]:
        """Yield one job an image; the scheduler asks for the next when it has room.

        The result of a job is the label of the image, and its evidence.
        """
        rule = certificates.rule_of(self.header)
        n0 = self.header.n0 or 0
        label_aware = self.header.label_aware

        def steps(label: int) -> Steps[tuple[int, ImageEvidence]]:
            evidence = yield from certify_steps(
                rule, n0, label if label_aware else None
            )
            return label, evidence

        # `batches` decodes the next images meanwhile, and so reads positions ahead of the
        # loop below: `tee` keeps them for it.
        positions, ahead = tee(indices)
        batches = self.images.batches(torch.tensor([index]) for index in ahead)
        for index, (x, y) in zip(positions, batches, strict=True):
            job = Job(index, x[0], steps(int(y[0])))
            if job.address != self.hashes[index]:
                raise OutputExists(
                    f"{self.images.name_of(index)} has other pixels than when this run "
                    "began: put it back and resume, or certify into another file"
                )
            yield job


def _opened_run(
    spec: RunSpec,
    inputs: Inputs,
    smoothed: SmoothedClassifier,
    chosen: Chosen,
    facts: Mapping[str, Any],
) -> OpenRun:
    """Return the open run of one shard, or of all images, with its header."""
    images = inputs.images
    engine = smoothed.engine
    indices = tuple(spec.share(chosen))
    hashes = headers.pixel_hashes(images, indices)
    name = refusal_name(spec.refusal)
    largest_label = NO_LABEL
    if name is not None:
        # Of these images alone: to ask for all labels may read all items.
        largest_label = int(images.labels_at(torch.tensor(indices)).max())
    classes, refusal = named_classes(
        class_names(inputs.model, engine.classes, images, indices, name),
        largest_label=largest_label,
        name=name,
    )
    facts_of_shard = {
        "data": headers.fingerprint(images, indices, hashes=hashes),
        "classes": classes,
        "refusal": refusal,
    }
    if spec.shard is not None:
        facts_of_shard["shard"] = str(spec.shard)
        if spec.command is not None:
            facts_of_shard["command"] = tuple(map(headers.runnable_here, spec.command))
    header = headers.made_with(
        engine, smoothed.settings, images.spec.shape, **facts, **facts_of_shard
    )
    return OpenRun(
        spec=spec,
        inputs=inputs,
        smoothed=smoothed,
        chosen=chosen,
        facts=facts,
        indices=indices,
        hashes=hashes,
        header=header,
    )


def open_run(run: RunSpec | OpenRun) -> OpenRun:
    """Open `run`, unless it is open."""
    return run.open() if isinstance(run, RunSpec) else run


def load_split(dataset: Any, split: str, reading: Mapping[str, Any]) -> data.Images:
    """Load a split of a data set, whose images are decoded when they are needed."""
    return data.load(dataset, split, stream=True, categories=True, **reading)


def some_of(indices: Sequence[int], most: int) -> list[int]:
    """Return at most `most` of the `indices`, evenly spread."""
    kept = data.take(len(indices), min(most, len(indices)))
    return torch.tensor(indices)[kept].tolist()


def spread(indices: Sequence[int]) -> list[int]:
    """Return the `indices` in an order whose beginning, however long, is spread evenly
    over all of them.

    In a file the images of a class may stand together: their share of a run that is
    still under way is then about their share of all images.

    Example:
        >>> spread(range(0, 80, 10))
        [0, 50, 20, 70, 40, 10, 60, 30]
    """
    order = sorted(range(len(indices)), key=lambda number: number * GOLDEN % 1)
    return [indices[number] for number in order]


def choose(total: int, take: int | None, skip: int | None) -> Chosen:
    """Return the positions, among `total` images, of those to certify, and how they
    were chosen, in words.

    A header has these words; `certificates.selection.chosen_by` reads them again.
    """
    if take is not None and skip is not None:
        raise Conflict(
            (
                Setting("take", take),
                " and ",
                Setting("skip", skip),
                " choose images in two ways: give one of them",
            ),
            field="take",
            value=take,
        )
    if take is not None:
        return tuple(data.take(total, take).tolist()), f"take {take} of {total}"
    if skip is not None:
        return tuple(data.skip(total, skip).tolist()), f"one in {skip} of {total}"
    return tuple(range(total)), f"all {total}"
