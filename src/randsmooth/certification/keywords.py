"""What functions that certify or attack take as keywords, each by name and type."""

from collections.abc import Mapping
from typing import Any, TypedDict

from randsmooth.certificates import CertificationOptions
from randsmooth.data import InputOptions


class OpeningOptions(InputOptions, total=False):
    """How a model and its images are opened, as keywords.

    Attributes:
        split: train or test.
        device: auto, cpu, cuda or, of several GPUs, such as cuda:1.
        identity: a name, given to no other model of yours, for a model that cannot be
            known by its weights, such as a function.
        num_classes: K, for a function that answers with labels; default: the number of
            classes of the data set.
        refusal: the class that stands for declined answers. "class" adds one, which -1,
            None and NaN in place of a label vote for, and which is the last logit of a
            network; or the name of a class of the model. Default: no answer may decline.
        model_args: arguments of what opens or makes the model that is named (see
            `load_model`).

    Example:
        >>> options: OpeningOptions = {"split": "train", "num_classes": 10}
        >>> sorted(options)
        ['num_classes', 'split']
    """

    split: str
    device: str
    identity: str | None
    num_classes: int | None
    refusal: str | None
    model_args: Mapping[str, Any] | None


class CertifiedModelOptions(TypedDict, total=False):
    """How a model and images are opened that a table of certificates is about.

    The table itself says the split, the classes, and how the images are brought to
    size.

    Attributes:
        image_column: the column, array or extension that holds the images.
        label_column: the column that holds the labels; "none" says that there are none.
        text_column: the column that holds texts, where inputs are texts.
        device: auto, cpu, cuda or, of several GPUs, such as cuda:1.
        identity: the name under which the model was certified, if it was given one.
        model_args: arguments of what opens or makes the model that is named (see
            `load_model`).

    Example:
        >>> options: CertifiedModelOptions = {"identity": "forest of 3 May"}
        >>> sorted(options)
        ['identity']
    """

    image_column: str | None
    label_column: str | None
    text_column: str | None
    device: str
    identity: str | None
    model_args: Mapping[str, Any] | None


class ImageOptions(OpeningOptions, total=False):
    """How a model and its images are opened, and which images are chosen, as keywords.

    Attributes:
        take: how many images to take, evenly spread over the file; default: all.
        skip: take every `skip`-th image instead; default: all.
        unlabelled: leave out the labels of the data, which are no classes of the model.

    Example:
        >>> options: ImageOptions = {"split": "train", "take": 100}
        >>> options["take"]
        100
    """

    take: int | None
    skip: int | None
    unlabelled: bool


class RunOptions(ImageOptions, CertificationOptions, total=False):
    """What `ImageOptions` and the fields of `CertificationSettings` name, as keywords.

    Example:
        >>> options: RunOptions = {"take": 100, "sigma": 0.5, "rule": "grid"}
        >>> options["rule"]
        'grid'
    """
