"""Single image files, in the form in which the images of a data set are certified."""

from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from randsmooth.data.dataset_spec import DatasetSpec
from randsmooth.data.decode import WHITE, check_brightest, decode, image_header, opened
from randsmooth.data.image_size import Fit, Sides
from randsmooth.data.pixel_modes import GREY, LUMA
from randsmooth.errors import Problem


def read_image(
    path: str | Path, spec: DatasetSpec, *, called: str | None = None
) -> Tensor:
    """Return one image file in the form that is certified: (C, H, W) float32 in [0, 1].

    As in data sets, the first frame of an animation is read. Where the spec converts
    images (`DatasetSpec.convert`), the image is turned upright as its EXIF data say; where
    it does not, pixels are taken as they are stored.

    Args:
        path: the path of the file.
        spec: the data set, whose form of images is asked for.
        called: the name for the file in errors; None: its path.

    Raises:
        Problem: the file is missing, is no image, or does not have the size or channels
            of `spec`.

    Example:
        >>> import tempfile
        >>> from PIL import Image
        >>> from randsmooth.data import DATASETS
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "black.png")
        ...     Image.new("L", (8, 8)).save(path)
        ...     x = read_image(path, DATASETS["digits"])
        >>> x.shape, float(x.max())
        (torch.Size([1, 8, 8]), 0.0)
    """
    name = called or str(path)
    with opened(path) as stream:
        pixels = decode(stream, spec, name)
    check_brightest(int(pixels.max()), f"{name} is an image of 8 bits and", WHITE)
    return torch.tensor(pixels).float() / 255


def read_picture(
    path: str | Path, spec: DatasetSpec, *, called: str | None = None
) -> tuple[Tensor, str]:
    """Return a picture of any size, in the form that is certified.

    A picture in the form of the data set's images is read as by `read_image`. Any other
    picture is turned upright, and scaled as `spec` says, or else until it covers H x W.
    Then its centre is cut out, and turned grey where the data set is grey.

    Args:
        path: the path of the file.
        spec: the data set, whose form of images is asked for.
        called: the name for the file in errors; None: its path.

    Returns:
        x (C, H, W) float32 in [0, 1], and in words what was done to the picture; these are
        empty where nothing was done.

    Raises:
        Problem: in the cases of `read_image`, except that any size and colours are taken.

    Example:
        >>> import tempfile
        >>> from PIL import Image
        >>> from randsmooth.data import DATASETS
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "photo.png")
        ...     Image.new("RGB", (40, 30)).save(path)
        ...     x, words = read_picture(path, DATASETS["digits"])
        >>> x.shape, words
        (torch.Size([1, 8, 8]), 'brought from 30x40 to 8x8 before any noise (resize 8, \
crop 8, grey)')
    """
    channels, height, width = spec.shape
    with opened(path) as stream:
        picture = image_header(stream, called or str(path))
    before = (picture.height, picture.width)
    fit = _covering(before, spec)

    try:
        x = read_image(path, spec, called=called)
    # Its size or its colours are not those of the data set. A picture that cannot be read
    # at all fails here again.
    except Problem:
        x = _read_fitted(path, spec, fit, called)

    larger = fit.scaled(before)
    was_done = {"resize": larger != before, "crop": larger != (height, width)}
    steps = [f"{name} {size}" for name, size in fit.words().items() if was_done[name]]
    turned_grey = channels == 1 and picture.mode not in GREY
    if not steps:
        return x, "turned grey before any noise" if turned_grey else ""

    if turned_grey:
        steps.append("grey")
    return x, (
        f"brought from {picture.height}x{picture.width} to {height}x{width} before any "
        f"noise ({', '.join(steps)})"
    )


def _covering(before: Sides, spec: DatasetSpec) -> Fit:
    """Return how a picture of height and width `before` is brought to the spec's size.

    It is scaled as the spec says, or else so that it just covers that size.
    """
    _, height, width = spec.shape
    if spec.fitting is not None:
        return Fit(resize=spec.fitting.resize, crop=(height, width))

    shorter = min(before)
    # How long the shorter side must become so that the height suffices, and so that the
    # width does: -(-a // b) is a / b rounded up.
    for_height = -(-height * shorter // before[0])
    for_width = -(-width * shorter // before[1])
    return Fit(resize=max(for_height, for_width), crop=(height, width))


def _read_fitted(
    path: str | Path, spec: DatasetSpec, fit: Fit, called: str | None
) -> Tensor:
    """Return a picture brought to the spec's size by `fit`, and to its channels."""
    channels, height, width = spec.shape
    if channels != 1:
        return read_image(path, replace(spec, fit=fit, convert=True), called=called)

    # A data set of grey images refuses pictures in colour, so it is read in colour first.
    in_colour = replace(spec, fit=fit, convert=True, shape=(3, height, width))
    x = read_image(path, in_colour, called=called)
    grey: Tensor = torch.tensordot(torch.tensor(LUMA), x * 255.0, dims=1)[None]
    # Images of the data set have 8 bits, so grey values are rounded to whole numbers.
    return grey.round() / 255.0
