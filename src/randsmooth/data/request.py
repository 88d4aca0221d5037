"""The arguments of `data.load` as one value."""

from dataclasses import dataclass

import torch

from randsmooth.data.columns import USUAL, ColumnNames
from randsmooth.data.image_size import Fit

Device = torch.device | str


@dataclass(frozen=True)
class Request:
    """The arguments of `data.load`, and what the name of a data set says.

    Attributes:
        split: the split that is asked for; None: "train" or, if that is missing, another.
        columns: the columns that hold images and labels.
        fit: how the user wants images resized and cropped; None: not at all.
        device: where batches are to be.
        stream: whether images are decoded when they are asked for.
        categories: whether columns of a table that hold no numbers are taken as codes; if
            not, they are refused.
        whole: the split that a folder or file without splits is, by its own name, such as
            "val"; None: the name says nothing.
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
        """The name under which data without splits are given: one of the splits."""
        return self.whole or self.split or "train"
