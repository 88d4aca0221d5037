"""What models predict for noisy copies of the training images: the one in training, to weigh them, and a teacher.

A teacher's predictions are made once, stored with the run as class counts, in a file that carries a digest, and
resumed if they were cut short.
"""

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from randsmooth import models
from randsmooth.attacks import frozen
from randsmooth.data import Draws, Images
from randsmooth.errors import RESUME, Problem, WrongFile
from randsmooth.methods import Probe
from randsmooth.models import Classifier
from randsmooth.noise import Noise, Stream, noise_said
from randsmooth.notes import Note
from randsmooth.progress import Progress
from randsmooth.training.checkpoint import Stored, read_signed, write_signed
from randsmooth.training.devices import ALONE, Ranks
from randsmooth.training.folder import TEACHER
from randsmooth.training.recipe import Recipe
from randsmooth.urls import without_credentials

IMAGES = 256  # that a probe asks about at a time
AUGMENT = 1  # appended to the address of a chunk's augmentation
SAMPLES = 2048  # noisy copies of an image that a teacher is asked about at a time
SAVE_EVERY = 30.0  # seconds


def seen(
    x: Tensor, noise: Noise | None, m: int, stream: Stream
) -> tuple[Tensor, Tensor]:
    """What a network sees of images x (B, C, H, W): (B, ...) without noise, and (m, B, ...) what m copies add to that.

    What is drawn for an image depends on its place among the B.

    Example:
        >>> from randsmooth.noise import Ablation
        >>> clear, noise = seen(torch.rand(3, 1, 8, 8), Ablation(5), 2, Stream(0, "example"))
        >>> clear.shape, (clear + noise)[:, :, -1].sum(dim=(2, 3)).unique().tolist()  # pixels that a copy shows
        (torch.Size([3, 2, 8, 8]), [5.0])
    """
    return (
        (x, x.new_zeros(m, *x.shape))
        if noise is None
        else (noise.clear(x), noise.offsets(x, m, stream))
    )


def make_probe(
    model: nn.Module,
    images: Images,
    noise: Noise | None,
    stream: Stream,
    device: torch.device,
    ranks: Ranks = ALONE,
    asked: Callable[[int], object] = lambda copies: None,
) -> Probe:
    """A `Probe` of `model` on `images`.

    `stream` belongs to the epoch. Augmentation is addressed by m and the chunk of the indices, noise by the copy, too.
    The `ranks` take turns: each counts for every so many chunks, and all get all counts. `asked` is told of how many
    noisy images this rank asked the model, after each copy of a chunk.
    """

    def probe(
        indices: Tensor,
        m: int,
        of: str | None = None,
        *,
        augmented: bool = False,
        enough: int | None = None,
    ) -> Tensor:
        network, own = (
            model if of is None else models.load(of, device=device),
            stream.at(m),
        )
        chunks = indices.split(IMAGES)
        mine = range(ranks.rank, len(chunks), ranks.number)
        counts = torch.zeros(len(indices), dtype=torch.int64, device=device)

        def crops(k: int) -> Draws | None:
            return (
                Draws(own.at(AUGMENT, mine[k]).torch(images.device))
                if augmented
                else None
            )

        with frozen(network), torch.inference_mode():
            batches = images.batches([chunks[chunk] for chunk in mine], crops)
            for chunk, (x, y) in zip(mine, batches, strict=True):
                right = counts[chunk * IMAGES :][: len(x)]
                for copy in range(m):
                    left: Any = slice(None)
                    if (
                        enough is not None
                    ):  # those of which it is open whether `enough` of all m will be right
                        left = (
                            (right < enough) & (copy - right <= m - enough)
                        ).nonzero()[:, 0]
                    labels = y[left]
                    if len(labels) == 0:
                        break
                    clear, drawn = seen(x, noise, 1, own.at(0, chunk, copy))
                    right[left] += (
                        network((clear + drawn[0])[left]).argmax(dim=-1) == labels
                    )
                    asked(len(labels))
        return ranks.sum(counts).cpu()

    return probe


class Answers(Stored):
    """A teacher's `counts` (N, K) of the first `done` images, and what they depend on, by name."""

    counts: Tensor
    done: int
    about: dict[str, str]


@dataclass(frozen=True)
class SmoothedTeacher:
    """A `Teacher`: the model in a folder predicts every image of the run under the noise that it was trained under.

    What the predictions depend on is stored with them: the teacher's weights and noise, the images and their
    augmentation, the number of noises and the seed. The `ranks` take the images in turn, and the first stores them.
    """

    recipe: Recipe
    images: Images
    run: Path
    device: torch.device
    progress: Progress
    ranks: Ranks = ALONE

    def __call__(self, folder: str, n: int, *, augmented: bool = False) -> Tensor:
        """(N, K) float32: the share of n noisy copies of each image that the model puts into each class."""
        model = models.load(folder, device=self.device)
        about = self._about(model, n, augmented)
        answers = self.ranks.first(lambda: self._stored(about, model.num_classes))
        counts, done = answers.counts, answers.done
        images, saved = len(self.images), time.monotonic()
        with (
            self.progress("ask the teacher", images, "images") as reporter,
            frozen(model),
        ):
            reporter.skip(done)
            for first in range(done, images, self.ranks.number):
                last = min(first + self.ranks.number, images)
                own = first + self.ranks.rank
                if own < last:
                    counts[own] = self._count(model, own, n, augmented)
                counts[first:last] = self.ranks.sum(counts[first:last]).cpu()
                reporter.advance(last - first)
                if self.ranks.is_first and (
                    last == images or time.monotonic() - saved > SAVE_EVERY
                ):
                    write_signed(
                        self.run / TEACHER,
                        {"counts": counts, "done": last, "about": about},
                    )
                    saved = time.monotonic()
        return counts.float() / n

    @torch.inference_mode()
    def _count(self, model: Classifier, i: int, n: int, augmented: bool) -> Tensor:
        """(K,) how many of n noisy copies of image i the model puts into each class."""
        stream = Stream(self.recipe.seed, "train/teacher-augment").at(i)
        crop = Draws(stream.torch(self.images.device)) if augmented else None
        x, _ = self.images.batch(torch.tensor([i]), crop)
        stream, noise = (
            Stream(self.recipe.seed, "train/teacher").at(i),
            noise_said(model.provenance),
        )
        counts = torch.zeros(model.num_classes, dtype=torch.int64, device=self.device)
        for block, first in enumerate(range(0, n, SAMPLES)):
            clear, drawn = seen(x, noise, min(SAMPLES, n - first), stream.at(block))
            counts += F.one_hot(
                model((clear + drawn)[:, 0]).argmax(dim=-1), model.num_classes
            ).sum(dim=0)
        return counts.cpu()

    def _about(self, model: Classifier, n: int, augmented: bool) -> dict[str, str]:
        """What the predictions depend on."""
        recipe, augment = self.recipe, self.images.spec.augment if augmented else "none"
        noise = model.provenance.get("noise") or model.provenance["sigma"]
        facts = {
            "weights": models.weights_hash(model),
            "n": n,
            "sigma": noise,
            "seed": recipe.seed,
        }
        facts |= {
            "dataset": without_credentials(recipe.dataset),
            "take": recipe.take,
            "augment": augment,
        }
        return {key: str(value) for key, value in facts.items()}

    def _stored(self, about: dict[str, str], classes: int) -> Answers:
        """The stored answers, if they depend on what `about` says; else none."""
        none = Answers(
            counts=torch.zeros((len(self.images), classes), dtype=torch.int64),
            done=0,
            about=about,
        )
        try:
            found = read_signed(self.run / TEACHER, Answers)
        except FileNotFoundError:
            return none
        except Problem as error:
            note = Note("teacher_asked_anew", reason=str(error))
            warnings.warn(note, stacklevel=2)
            return none
        return (
            found
            if (found.about, found.counts.shape) == (about, none.counts.shape)
            else none
        )


def stored_predictions(run: Path) -> Tensor | None:
    """(N, K) the teacher's predictions for the training images of the run in a folder; None if it has no teacher.

    Raises:
        Problem: the file is damaged, or does not hold equally many answers on every image.
    """
    try:
        counts = read_signed(run / TEACHER, Answers).counts
    except FileNotFoundError:
        return None
    n = counts.sum(dim=-1, keepdim=True)
    if counts.ndim != 2 or bool(
        (counts < 0).any() or (n < 1).any() or (n != n[0]).any()
    ):
        raise WrongFile(
            f"{run / TEACHER} does not hold answers on every image",
            fix=("train with ", RESUME, " to ask anew"),
            file=run / TEACHER,
        )
    return counts.float() / n


def check_answers(path: Path) -> str:
    """What was verified about the teacher's answers at `path`, in one sentence. Raises the errors of `read_signed`."""
    found = read_signed(path, Answers)
    return f"a teacher's answers on {found.done} of {len(found.counts)} images; they are as they were written"
