"""What models predict for noisy copies of the training images.

The model in training is asked, to weigh the images; and a teacher, to learn from it. A
teacher's predictions are made once and stored with the run as class counts, in a file
that carries a digest. They are resumed if they were cut short.
"""

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from randsmooth import models
from randsmooth.attacks import frozen
from randsmooth.data import Draws, Images
from randsmooth.errors import RESUME, Problem, WrongFile
from randsmooth.models import Classifier
from randsmooth.noise import Noise, Stream, recorded_noise
from randsmooth.notes import Note
from randsmooth.progress import Progress
from randsmooth.training.checkpoint import Stored, read_signed, write_signed
from randsmooth.training.devices import ALONE, Ranks
from randsmooth.training.folder import TEACHER
from randsmooth.training.recipe import Recipe
from randsmooth.urls import without_credentials

# A probe asks about this many images at once.
IMAGES_AT_ONCE = 256
# A teacher is asked about this many noisy copies of an image at once.
COPIES_AT_ONCE = 2048
SECONDS_BETWEEN_SAVES = 30.0
# The first parts of the addresses of a probe's noise and of its augmentation.
NOISE = 0
AUGMENTATION = 1


def clear_and_offsets(
    x: Tensor, noise: Noise | None, m: int, stream: Stream
) -> tuple[Tensor, Tensor]:
    """Return the two parts of what a network sees of images x (B, C, H, W).

    What is drawn for an image depends on its place among the B.

    Returns:
        (B, ...) the images as they are without noise, with the channels that the noise
        adds, and (m, B, ...) what m noisy copies add to them.

    Example:
        >>> from randsmooth.noise import Ablation
        >>> x, stream = torch.rand(3, 1, 8, 8), Stream(0, "example")
        >>> clear, offsets = clear_and_offsets(x, Ablation(5), 2, stream)
        >>> clear.shape
        torch.Size([3, 2, 8, 8])
        >>> marks = (clear + offsets)[:, :, -1]  # of the pixels that a copy shows
        >>> marks.sum(dim=(2, 3)).unique().tolist()
        [5.0]
    """
    if noise is None:
        return x, x.new_zeros(m, *x.shape)
    return noise.clear(x), noise.offsets(x, m, stream)


@dataclass(frozen=True, eq=False)
class ModelProbe:
    """A `Probe` of a model.

    The indices are asked about in chunks. Augmentation is addressed by m and the chunk;
    noise by m, the chunk and the copy.

    Attributes:
        model: the model that is being trained.
        images: the training split.
        noise: the noise of the copies; None: none.
        stream: the stream of the epoch.
        device: where the model is.
        ranks: they take turns with the chunks, and all get all counts.
        report: called with the number of noisy copies that this rank asked the model
            about, after each copy of a chunk.
    """

    model: nn.Module
    images: Images
    noise: Noise | None
    stream: Stream
    device: torch.device
    ranks: Ranks = ALONE
    report: Callable[[int], object] | None = None

    def __call__(
        self,
        indices: Tensor,
        m: int,
        of: str | None = None,
        *,
        augmented: bool = False,
        enough: int | None = None,
    ) -> Tensor:
        network = self.model if of is None else models.load(of, device=self.device)
        stream = self.stream.at(m)
        chunks = indices.split(IMAGES_AT_ONCE)
        chunks_of_rank = range(self.ranks.rank, len(chunks), self.ranks.number)

        def crops(place: int) -> Draws | None:
            if not augmented:
                return None
            chunk_stream = stream.at(AUGMENTATION, chunks_of_rank[place])
            return Draws(chunk_stream.torch(self.images.device))

        counts = torch.zeros(len(indices), dtype=torch.int64, device=self.device)
        with frozen(network), torch.inference_mode():
            parts = [chunks[chunk] for chunk in chunks_of_rank]
            batches = self.images.batches(parts, crops)
            for chunk, (x, y) in zip(chunks_of_rank, batches, strict=True):
                first = chunk * IMAGES_AT_ONCE
                counts[first : first + len(x)] = self._count(
                    network, x, y, m, enough, stream.at(NOISE, chunk)
                )
        return self.ranks.sum(counts).cpu()

    def _count(
        self,
        network: nn.Module,
        x: Tensor,
        y: Tensor,
        m: int,
        enough: int | None,
        stream: Stream,
    ) -> Tensor:
        """Count (B,) the copies of x (B, C, H, W), of m, that are labelled y (B,)."""
        right = torch.zeros(len(x), dtype=torch.int64, device=self.device)
        undecided = torch.arange(len(x), device=self.device)
        for copy in range(m):
            if enough is not None:
                # Open is whose right answers are not enough yet, and can still become
                # so.
                wrong = copy - right
                is_open = (right < enough) & (wrong <= m - enough)
                undecided = is_open.nonzero()[:, 0]
            labels = y[undecided]
            if len(labels) == 0:
                break
            # Drawn for all images, so that the noise of one depends on no other.
            clear, offsets = clear_and_offsets(x, self.noise, 1, stream.at(copy))
            logits = network((clear + offsets[0])[undecided])
            right[undecided] += logits.argmax(dim=-1) == labels
            if self.report is not None:
                self.report(len(labels))
        return right


class Answers(Stored):
    """A teacher's answers, as they are stored.

    Attributes:
        counts: (N, K) for each image, how many noisy copies were put into each class.
        done: so many images, the first ones, were asked about.
        about: the facts that the answers depend on, by name.
    """

    counts: Tensor
    done: int
    about: dict[str, str]


@dataclass(frozen=True)
class SmoothedTeacher:
    """A `Teacher`: the model in a folder predicts every image under its own noise.

    What the predictions depend on is stored with them: the teacher's weights and noise,
    the images and their augmentation, the number of noises and the seed. The `ranks`
    take the images in turn, and the first stores the answers.

    Attributes:
        recipe: the recipe of the run.
        images: the images that the run trains on.
        run: the folder of the run, where the answers are stored.
        device: where the teacher is asked.
        progress: shows how far it is.
        ranks: the processes of the run.
    """

    recipe: Recipe
    images: Images
    run: Path
    device: torch.device
    progress: Progress
    ranks: Ranks = ALONE

    def __call__(self, folder: str, n: int, *, augmented: bool = False) -> Tensor:
        """Return (N, K) the share of n noisy copies of each image in each class."""
        model = models.load(folder, device=self.device)
        about = self._dependencies(model, n, augmented)
        answers = self.ranks.first(lambda: self._stored(about, model.num_classes))
        counts = answers.counts
        images = len(self.images)
        saved = time.monotonic()
        show = self.progress("ask the teacher", images, "images")
        with show as reporter, frozen(model):
            reporter.skip(answers.done)
            for first in range(answers.done, images, self.ranks.number):
                # One image for each rank.
                last = min(first + self.ranks.number, images)
                image = first + self.ranks.rank
                if image < last:
                    counts[image] = self._count(model, image, n, augmented)
                counts[first:last] = self.ranks.sum(counts[first:last]).cpu()
                reporter.advance(last - first)

                is_due = time.monotonic() - saved > SECONDS_BETWEEN_SAVES
                if self.ranks.is_first and (is_due or last == images):
                    content = {"counts": counts, "done": last, "about": about}
                    write_signed(self.run / TEACHER, content)
                    saved = time.monotonic()
        return counts.float() / n

    @torch.inference_mode()
    def _count(self, model: Classifier, image: int, n: int, augmented: bool) -> Tensor:
        """Count (K,) the copies of an image, of n, that are put into each class."""
        crop = None
        if augmented:
            stream = self._stream("teacher-augment", image)
            crop = Draws(stream.torch(self.images.device))
        x, _ = self.images.batch(torch.tensor([image]), crop)

        noise = recorded_noise(model.provenance)
        stream = self._stream("teacher", image)
        counts = torch.zeros(model.num_classes, dtype=torch.int64, device=self.device)
        for block, first in enumerate(range(0, n, COPIES_AT_ONCE)):
            copies = min(COPIES_AT_ONCE, n - first)
            clear, offsets = clear_and_offsets(x, noise, copies, stream.at(block))
            noisy = (clear + offsets)[:, 0]  # (copies, C, H, W)
            classes = model(noisy).argmax(dim=-1)
            counts += F.one_hot(classes, model.num_classes).sum(dim=0)
        return counts.cpu()

    def _stream(self, name: str, image: int) -> Stream:
        return Stream(self.recipe.seed, f"train/{name}").at(image)

    def _dependencies(
        self, model: Classifier, n: int, augmented: bool
    ) -> dict[str, str]:
        """Return the facts that the predictions depend on, by name."""
        dependencies = {
            "weights": models.weights_hash(model),
            "n": n,
            "sigma": model.provenance.get("noise") or model.provenance["sigma"],
            "seed": self.recipe.seed,
            "dataset": without_credentials(self.recipe.dataset),
            "take": self.recipe.take,
            "augment": self.images.spec.augment if augmented else "none",
        }
        return {name: str(value) for name, value in dependencies.items()}

    def _stored(self, about: dict[str, str], classes: int) -> Answers:
        """Return the stored answers if they are `about` the same, or else none."""
        counts = torch.zeros((len(self.images), classes), dtype=torch.int64)
        none = Answers(counts=counts, done=0, about=about)
        try:
            stored = read_signed(self.run / TEACHER, Answers)
        except FileNotFoundError:
            return none
        except Problem as error:
            note = Note("teacher_asked_anew", reason=str(error))
            warnings.warn(note, stacklevel=2)
            return none
        if stored.about != about or stored.counts.shape != counts.shape:
            return none
        return stored


def stored_predictions(run: Path) -> Tensor | None:
    """Return (N, K) the teacher's predictions for the training images of a run.

    None if the run, which is a folder, has no teacher.

    Raises:
        Problem: the file is damaged, or does not hold equally many answers on every
            image.
    """
    path = run / TEACHER
    try:
        counts = read_signed(path, Answers).counts
    except FileNotFoundError:
        return None
    if counts.ndim == 2 and bool((counts >= 0).all()):
        n = counts.sum(dim=-1, keepdim=True)
        if bool((n >= 1).all()) and bool((n == n[0]).all()):
            return counts.float() / n
    raise WrongFile(
        f"{path} does not hold answers on every image",
        fix=("train with ", RESUME, " to ask anew"),
        file=path,
    )


def check_answers(path: Path) -> str:
    """Return the verified facts about the teacher's answers at `path`, in a sentence.

    Raises:
        FileNotFoundError: there is no such file.
        Problem: it is damaged, or is none of ours.
    """
    answers = read_signed(path, Answers)
    images = len(answers.counts)
    return (
        f"a teacher's answers on {answers.done} of {images} images; they are as they "
        "were written"
    )
