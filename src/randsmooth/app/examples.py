"""Example images that a visitor of the app may choose in place of a file."""

from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp

import torch
from PIL import Image

from randsmooth import data
from randsmooth.report import web

# The number of images that are offered, evenly spread over the test split.
EXAMPLES = 6
# Pixels of the longer side of a picture on its button.
SIDE = 96


@dataclass(frozen=True)
class Example:
    """One image that is offered.

    Attributes:
        name: the data set and the position in its test split, such as digits:17.
        picture: the image, grey or in colours.

    Example:
        >>> first = examples_of("digits")[0]
        >>> first.name, first.picture.size
        ('digits:0', (8, 8))
    """

    name: str
    picture: Image.Image

    def uri(self) -> str:
        """Return the picture on its button as a `data:` URI."""
        width, height = self.picture.size
        times = SIDE / max(width, height)
        size = (max(1, round(times * width)), max(1, round(times * height)))
        # Few pixels are shown as squares, as on all pages.
        resampling = Image.Resampling.LANCZOS
        if times > 1:
            resampling = Image.Resampling.NEAREST
        return web.data_uri(self.picture.resize(size, resampling), "png")

    def saved_in(self, folder: Path) -> Path:
        """Save the image as a PNG file below `folder`, and return the path.

        The file is called by the name of the example. Each call makes a new one, since
        the files in the folder are deleted after some minutes.
        """
        path = Path(mkdtemp(dir=folder), self.name.replace(":", "-") + ".png")
        self.picture.save(path)
        return path


def examples_of(dataset: str) -> tuple[Example, ...]:
    """Return test images of a named data set; none where it is not on this machine.

    Example:
        >>> [example.name for example in examples_of("digits")][:3]
        ['digits:0', 'digits:60', 'digits:121']
        >>> examples_of("my folder")
        ()
    """
    if dataset not in data.DATASETS or not data.is_at_hand(dataset):
        return ()
    # Streamed: few of the images are decoded.
    images = data.load(dataset, "test", stream=True)
    indices = data.take(len(images), EXAMPLES)
    return tuple(
        Example(name=f"{dataset}:{index}", picture=_picture(images, index))
        for index in indices.tolist()
    )


def _picture(images: data.Images, index: int) -> Image.Image:
    """Return the image at a position, grey or in colours."""
    (x,), _ = images.batch(torch.tensor([index]))
    levels = (x * 255.0).round().byte().cpu().numpy()
    # Pillow takes (H, W) for grey and (H, W, C) for colours.
    rows = levels[0] if len(levels) == 1 else levels.transpose(1, 2, 0)
    return Image.fromarray(rows)
