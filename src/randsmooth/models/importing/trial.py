"""Which layer before a network makes it clearly the most accurate on labelled noisy images."""

from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import stats
from torch import nn

from randsmooth import data
from randsmooth.data import DatasetSpec, Images
from randsmooth.errors import Problem, Setting, WrongFile
from randsmooth.models.device import pick_device
from randsmooth.models.image_steps import normalise_step
from randsmooth.models.importing.normalisation import Normalisation, candidates
from randsmooth.noise import Stream, draw
from randsmooth.progress import Progress

# The largest probability of taking a layer that is not the best of the candidates.
ALPHA = 1e-3

# How many images are classified at once.
BATCH = 50

# Of the errors that guessing makes, a trained network avoids at least this share.
LEAST_SHARE_AVOIDED = 0.1


class Trial(NamedTuple):
    """Where a network is right behind each of several layers, on the same noisy images.

    Attributes:
        layers: the k candidates, which stand before the network one at a time.
        right: (k, N), whether the network behind each layer is right about each of N images.
        guess: the accuracy of an answer that is always the most frequent label.
        sigma: the sigma of the noise that was added to the images.
    """

    layers: tuple[Normalisation, ...]
    right: NDArray[np.bool_]
    guess: float
    sigma: float

    @property
    def best(self) -> int:
        """The index of the layer with the highest accuracy."""
        return int(self.right.sum(axis=1).argmax())

    def p_value_of_lead(self, other: int) -> float:
        """Return the p-value of the best layer's lead over the layer with the index `other`.

        It is the probability of at least this lead if both layers were equally accurate. An
        image that only one of the two gets right would then be as likely to be the one's as
        the other's (McNemar 1947, exact).
        """
        right = self.right[self.best]
        right_of_other = self.right[other]
        only_best_right = int((right & ~right_of_other).sum())
        only_one_right = int((right ^ right_of_other).sum())
        # `sf` is the probability of more than its first argument.
        return float(stats.binom.sf(only_best_right - 1, only_one_right, 0.5))

    def p_value(self) -> float:
        """Return a bound on the probability of such a lead for a layer that is not the best.

        Which layer leads, and which one comes closest, is known only after the trial. So the
        largest p-value is multiplied by the number of ordered pairs (Bonferroni).
        """
        others = [index for index in range(len(self.layers)) if index != self.best]
        # A single candidate leads over no other.
        largest = max(map(self.p_value_of_lead, others), default=0.0)
        return min(1.0, len(self.layers) * len(others) * largest)

    def classifies(self, index: int) -> bool:
        """Return whether the network behind the layer with this index does more than guess.

        A network with random weights does not. The error rate is clearly smaller than that
        of guessing if even its upper confidence limit (Clopper-Pearson, at ALPHA) is
        smaller by LEAST_SHARE_AVOIDED.
        """
        right = int(self.right[index].sum())
        total = self.right.shape[1]
        lowest_accuracy = 0.0
        # The beta distribution is not defined for right = 0, where the limit is 0.
        if right > 0:
            lowest_accuracy = float(stats.beta.ppf(ALPHA, right, total - right + 1))
        error_of_guessing = 1 - self.guess
        return 1 - lowest_accuracy <= (1 - LEAST_SHARE_AVOIDED) * error_of_guessing

    def winner(self) -> Normalisation:
        """Return the layer that is clearly the best.

        Raises:
            WrongFile: no layer is; the message gives the accuracies, and what the user can
                do.
        """
        if not self.classifies(self.best):
            reason = "the network hardly does more than guess behind any layer"
        elif self.p_value() > ALPHA:
            reason = "no layer is clearly better than the others"
        else:
            return self.layers[self.best]
        names = " or ".join(layer.name for layer in self.layers)
        raise WrongFile(
            f"the file does not store its normalisation, and {reason} ({self.words()})",
            field="normalise",
            fix=(
                "give ",
                Setting("normalise"),
                f" {names}, try more ",
                Setting("images"),
                ", or check ",
                Setting("sigma"),
                " and ",
                Setting("dataset"),
            ),
        )

    def words(self) -> str:
        """Return in words the accuracies, the best first, and the p-value of its lead."""
        # Of equal accuracies, the first comes first, as for `best`.
        order = np.argsort(-self.right.sum(axis=1), kind="stable")
        shares = [
            f"{self.layers[index].name} {self.right[index].mean():.1%}"
            for index in order
        ]
        images = self.right.shape[1]
        return (
            f"right about {images} images at sigma {self.sigma:g}: {', '.join(shares)}; "
            f"p = {self.p_value():.1g}"
        )

    def facts(self) -> dict[str, Any]:
        """Return the facts of the trial that a model's provenance records."""
        accuracy = {
            layer.name: float(right.mean())
            for layer, right in zip(self.layers, self.right, strict=True)
        }
        return {
            "images": self.right.shape[1],
            "sigma": self.sigma,
            "p_value": self.p_value(),
            "accuracy": accuracy,
            "why": "accuracy on labelled images",
        }


def tried_normalisation(
    network: nn.Module,
    spec: DatasetSpec,
    dataset: str,
    *,
    sigma: float,
    count: int,
    device: str,
    progress: Progress,
) -> tuple[Normalisation, dict[str, Any]]:
    """Return the layer behind which `network` is clearly the most accurate, and why.

    Every image gets one sample of the noise, the same for all layers.

    Args:
        network: the network; it is moved to the device, and put in eval mode.
        spec: the data set that the network is for.
        dataset: the name or the folder of this data set, as `data.load` takes it.
        sigma: the sigma of the noise.
        count: how many images to try; they are spread evenly over a split.
        device: where to try them: auto, cpu or cuda.
        progress: shows how many images were tried.

    Returns:
        The layer, and the facts of the trial for a model's provenance.

    Raises:
        WrongFile: no layer is clearly the best, or no images are there.
    """
    torch_device = pick_device(device)
    network = network.to(torch_device).eval()
    layers = candidates(spec)
    # Images are in [0, 1], which is what mean and std are for: they are not scaled.
    steps = [
        normalise_step(layer.mean, layer.std, scale=1.0).to(torch_device)
        for layer in layers
    ]
    split = _images(dataset)
    chosen = data.take(len(split), n=min(count, len(split)))
    what = f"try {len(layers)} normalisations"
    with progress(what, len(chosen), "images") as reporter:
        right = []
        for batch, (x, y) in enumerate(split.batches(chosen.split(BATCH))):
            # The seed is fixed, and the noise is drawn on the CPU: every machine tries the
            # same noisy images.
            noise = draw(tuple(x.shape), sigma, stream=Stream(0, "import").at(batch))
            noisy = (x.cpu() + noise).to(torch_device)
            with torch.inference_mode():
                answers = [network(step(noisy)).argmax(1).cpu() for step in steps]
            right_in_batch = torch.stack([answer == y.cpu() for answer in answers])
            right.append(right_in_batch.numpy())
            reporter.advance(len(x))

        guess = data.guessing(split.labels[chosen], spec.num_classes)
        trial = Trial(tuple(layers), np.concatenate(right, axis=1), guess, sigma)
        layer = trial.winner()
        reporter.say(f"normalisation {layer.name}, by accuracy: {trial.words()}")
    return layer, trial.facts() | {"split": split.split}


def _images(dataset: str) -> Images:
    """Return the labelled images on which the layers are tried.

    They are the training split, so that the test images, on which the model will be judged,
    do not choose its normalisation. Where there is no training split, they are the test
    split.

    Raises:
        WrongFile: neither split is there.
    """
    # "train" comes first.
    for split in data.SPLITS:
        try:
            return data.load(dataset, split)
        except Problem as error:
            # Python deletes `error` at the end of this block.
            problem = error
    raise WrongFile(
        "the file does not store its normalisation, and no images are there to find it out "
        f"({problem})",
        field="normalise",
        fix=("give it as ", Setting("normalise")),
    ) from problem
