"""A teacher's smoothed predictions for the training images: made once, stored with the run, resumed if cut short."""

from __future__ import annotations

import time
import warnings
from pathlib import Path

import torch
from torch import Tensor
from torch.nn import functional as F

from randsmooth import models
from randsmooth.attacks import frozen
from randsmooth.data import Images
from randsmooth.errors import InputError, Note
from randsmooth.models import Classifier
from randsmooth.noise import Stream, draw
from randsmooth.progress import Progress
from randsmooth.training import answers
from randsmooth.training.folder import TEACHER
from randsmooth.training.ranks import ALONE, Ranks
from randsmooth.training.recipe import Recipe

SAMPLES = 2048  # forward samples at a time
SAVE_EVERY = 30.0  # seconds


class SmoothedTeacher:
    """A `Teacher`: the model in a folder predicts every image of the run under noise of the model's own sigma.

    What the predictions depend on is stored with them: the teacher's weights and sigma, the images and their
    augmentation, the number of noises and the seed. The `ranks` take the images in turn, and the first stores them.
    """

    def __init__(
        self,
        recipe: Recipe,
        images: Images,
        run: Path,
        device: torch.device,
        progress: Progress,
        ranks: Ranks = ALONE,
    ) -> None:
        self.recipe, self.images, self.path = recipe, images, run / TEACHER
        self.device, self.progress, self.ranks = device, progress, ranks

    def __call__(self, folder: str, n: int, *, augmented: bool = False) -> Tensor:
        """(N, K) float32: the share of n noisy copies of each image that the model puts into each class."""
        model = models.load(folder, device=self.device)
        about = self._about(model, n, augmented)
        counts, done = self.ranks.first(lambda: self._stored(about, model.num_classes))
        images = len(self.images)
        with self.progress("ask the teacher", images, "images") as reporter, frozen(model):
            reporter.skip(done)
            saved = time.monotonic()
            for first in range(done, images, self.ranks.number):
                last = min(first + self.ranks.number, images)
                own = first + self.ranks.rank
                if own < last:
                    counts[own] = self._count(model, own, n, augmented)
                counts[first:last] = self.ranks.sum(counts[first:last]).cpu()
                reporter.advance(last - first)
                if time.monotonic() - saved > SAVE_EVERY:
                    self._store(counts, last, about)
                    saved = time.monotonic()
        if done < images:
            self._store(counts, images, about)
        return counts.float() / n

    def _store(self, counts: Tensor, done: int, about: dict[str, str]) -> None:
        if self.ranks.is_first:
            answers.write(self.path, counts, done, about)

    @torch.inference_mode()
    def _count(self, model: Classifier, i: int, n: int, augmented: bool) -> Tensor:
        """(K,) how many of n noisy copies of image i the model puts into each class."""
        crop = Stream(self.recipe.seed, "train/teacher-augment").at(i).torch(self.images.device) if augmented else None
        x, _ = self.images.batch(torch.tensor([i]), crop)
        stream = Stream(self.recipe.seed, "train/teacher").at(i)
        counts = torch.zeros(model.num_classes, dtype=torch.int64, device=self.device)
        for block, first in enumerate(range(0, n, SAMPLES)):
            shape = (min(SAMPLES, n - first), *x.shape[1:])
            noise = draw(shape, model.provenance["sigma"], stream=stream.at(block), device=self.device)
            counts += F.one_hot(model(x + noise).argmax(dim=-1), model.num_classes).sum(dim=0)
        return counts.cpu()

    def _about(self, model: Classifier, n: int, augmented: bool) -> dict[str, str]:
        """What the predictions depend on."""
        recipe = self.recipe
        facts = {"weights": models.weights_hash(model), "n": n, "sigma": model.provenance["sigma"], "seed": recipe.seed}
        facts |= {"dataset": recipe.dataset, "take": recipe.take}
        facts |= {"augment": self.images.spec.augment if augmented else "none"}
        return {key: str(value) for key, value in facts.items()}

    def _stored(self, about: dict[str, str], classes: int) -> tuple[Tensor, int]:
        """The stored counts (N, K) that depend on what `about` says, and for how many images they are complete."""
        wanted = (len(self.images), classes)
        try:
            counts, done, found = answers.read(self.path)
            if found == about and counts.shape == wanted:
                return counts, done
        except FileNotFoundError:
            pass
        except InputError as error:
            warnings.warn(f"{error}, so the teacher is asked anew", Note, stacklevel=2)
        return torch.zeros(wanted, dtype=torch.int64), 0


def stored_predictions(run: Path) -> Tensor | None:
    """(N, K) the teacher's predictions for the training images of the run in a folder; None if it has no teacher.

    Raises:
        InputError: the file is damaged, or holds counts that no teacher can have given.
    """
    try:
        counts, _, about = answers.read(run / TEACHER)
    except FileNotFoundError:
        return None
    return counts.float() / int(about["n"])
