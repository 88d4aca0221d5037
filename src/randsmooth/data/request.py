"""What is asked of a data set: the arguments of `data.load`, as one value."""

from dataclasses import dataclass

import torch

from randsmooth.data.columns import USUAL, ColumnNames
from randsmooth.data.image_size import Fit

Device = torch.device | str


@dataclass(frozen=True)
class Request:
    """The arguments of `data.load`, and what the name of a data set says.

    Attributes:
        split: the split that is asked for; None: "train", or the one there is.
        columns: the columns that hold images and labels.
        fit: how images are brought to one size.
        device: where batches are to be.
        stream: whether images are decoded when they are asked for.
        categories: whether columns of a table that hold no numbers are taken as codes.
        whole: the split that a folder or file without splits is, by its own name.
    """

    split: str | None
    columns: ColumnNames = USUAL
    fit: Fit | None = None
    device: Device = "cpu"
    stream: bool = False
    categories: bool = False
    whole: str | None = None

    @property
    def called(self) -> str:
        """The split that data without splits are taken for."""
        return self.whole or self.split or "train"
