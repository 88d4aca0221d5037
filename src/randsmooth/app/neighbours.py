"""The images of a data set that are nearest to one image."""

import torch
from torch import Tensor

from randsmooth import data
from randsmooth.app.image_certificate import Neighbour, Neighbours
from randsmooth.certification.searches import ball_under
from randsmooth.data import Images
from randsmooth.errors import WrongData
from randsmooth.noise import Gaussian, Noise
from randsmooth.progress import Progress, silent

# The most images that are compared with one; fewer where each must be decoded for it.
MOST_COMPARED = 60_000
MOST_STREAMED = 2_000
# Images that are decoded together.
IMAGES_AT_ONCE = 512


def nearest(
    x: Tensor,
    y: int,
    images: Images,
    noise: Noise | None = None,
    progress: Progress = silent,
) -> Neighbours:
    """Return the nearest image to `x` of class `y`, and that of another class.

    Images equal to `x` are passed over. At most 60,000 images are compared, evenly
    spread over all; of images too large to be held in memory, at most 2,000.

    Args:
        x: the image (C, H, W) in [0, 1].
        y: the class.
        images: the images to compare with.
        noise: the noise in whose norm distances are; None: L2.
        progress: shows the progress.

    Raises:
        Problem: the images have another shape, or no labels.

    Example:
        >>> images = data.load("digits", "train")
        >>> (x,), _ = images.batch(torch.tensor([0]))
        >>> neighbours = nearest(x, 0, images)
        >>> neighbours.same.label, neighbours.other.label != 0, neighbours.compared
        (0, True, 1433)
    """
    _check(x, images)
    most = MOST_STREAMED if images.spec.streams else MOST_COMPARED
    compared = data.take(len(images), min(len(images), most))
    # The norm of Gaussian noise is L2, whatever its sigma.
    distances = _distances(x, images, compared, noise or Gaussian(1.0), progress)
    # The image itself is not its neighbour.
    distances[distances == 0.0] = torch.inf
    labels = images.labels_at(compared)

    def nearest_among(chosen: Tensor) -> Neighbour | None:
        """Return the nearest image among those at which `chosen` (N,) is true.

        It is None where there is none at a finite distance.
        """
        distances_of_chosen = torch.where(chosen, distances, torch.inf)
        if not bool(distances_of_chosen.isfinite().any()):
            return None
        # The number of the image among those compared.
        nearest_one = int(distances_of_chosen.argmin())
        (pixels,), _ = images.batch(compared[nearest_one : nearest_one + 1])
        return Neighbour(
            index=int(compared[nearest_one]),
            label=int(labels[nearest_one]),
            distance=float(distances[nearest_one]),
            pixels=pixels.cpu().numpy(),
        )

    is_same = labels == y
    return Neighbours(
        dataset=images.spec.name,
        split=images.split if len(images.spec.sizes) > 1 else "",
        compared=len(compared),
        total=len(images),
        other=nearest_among(~is_same),
        same=nearest_among(is_same),
    )


def _check(x: Tensor, images: Images) -> None:
    """Raise Problem unless the images have the shape of `x`, and labels."""
    name = images.spec.name
    shape = tuple(images.spec.shape)
    if shape != tuple(x.shape):
        raise WrongData(
            f"the images of {name} have the shape {shape}, and this one "
            f"{tuple(x.shape)}: give the data set that the model is for"
        )
    if not images.labelled:
        raise WrongData(
            f"the images of {name} ({images.split}) have no labels, which tell classes "
            "apart"
        )


def _distances(
    x: Tensor, images: Images, indices: Tensor, noise: Noise, progress: Progress
) -> Tensor:
    """Return the distances (N,) of the images at `indices` (N,) from `x`, float64."""
    # The ball knows the norm of the noise.
    ball = ball_under(noise)
    x = x.cpu().float()
    lengths: list[float] = []
    with progress(
        f"compare with {images.spec.name}", len(indices), "images"
    ) as reporter:
        for batch, _ in images.batches(indices.split(IMAGES_AT_ONCE)):
            changes = batch.cpu() - x
            lengths += [ball.length(change) for change in changes]
            reporter.advance(len(batch))
    return torch.tensor(lengths, dtype=torch.float64)
