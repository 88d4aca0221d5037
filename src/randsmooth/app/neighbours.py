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

# At most so many images are compared with one; fewer where they are decoded one by one.
MOST_COMPARED = 60_000
MOST_STREAMED = 2_000
IMAGES_AT_ONCE = 512


def nearest(
    x: Tensor,
    y: int,
    images: Images,
    noise: Noise | None = None,
    progress: Progress = silent,
) -> Neighbours:
    """Return the nearest of `images` to `x` in class `y` and out of it.

    Images equal to `x` are passed over. Of more than 60,000 images (2,000 of those too
    large to be held in memory) as many, evenly spread, are compared.

    Args:
        x: (C, H, W) in [0, 1].
        y: the class.
        images: those to compare with.
        noise: distances are in its norm; None: in L2.
        progress: shows how far it is.

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
    distances = _distances(x, images, compared, noise or Gaussian(1.0), progress)
    # Of the image itself.
    distances[distances == 0.0] = torch.inf
    labels = images.labels_at(compared)

    def nearest_among(chosen: Tensor) -> Neighbour | None:
        """Return the nearest of those that are `chosen`, or None if there are none."""
        distances_of_chosen = torch.where(chosen, distances, torch.inf)
        if not bool(distances_of_chosen.isfinite().any()):
            return None
        place = int(distances_of_chosen.argmin())
        (pixels,), _ = images.batch(compared[place : place + 1])
        return Neighbour(
            index=int(compared[place]),
            label=int(labels[place]),
            distance=float(distances[place]),
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
    """Return (N,) float64 the distances of the images at `indices` (N,) from `x`."""
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
