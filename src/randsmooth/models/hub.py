"""Image classifiers of Hugging Face's transformers and of timm, behind what they do to images, as base classifiers.

Their image processors take 8-bit images, which noisy ones are not: here they are steps on tensors.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import torch
from torch import nn

from randsmooth.contents import check_itself
from randsmooth.documents import parse_json, read_file, refused, shown
from randsmooth.errors import BadValue, Problem, WrongModel
from randsmooth.extras import needs
from randsmooth.models.around import (
    ModelStep,
    Wrapped,
    crop_step,
    normalise_step,
    resize_step,
)
from randsmooth.models.folder import here
from randsmooth.models.library_folders import (
    check_loaded,
    check_settings,
    checked_weights,
    no_larger_than,
    read_settings,
    silent,
)

# Names that say nothing: numbers, transformers' own, and ImageNet's identifiers, whose order is that of its labels.
NAMELESS = re.compile(r"\d+|label[_ ]?\d+|n\d{8}", re.IGNORECASE)
CONFIG, PROCESSOR = "config.json", "preprocessor_config.json"
FILES = [CONFIG, PROCESSOR, "*.safetensors", "*.safetensors.index.json"]
# Processors that resize, crop, rescale and normalise as their settings say: whether a size that is one number is that
# of a square (else of the shorter side), and whether they crop where the settings do not say it.
KINDS = {
    **{
        "ViT": (True, False),
        "DeiT": (True, True),
        "Beit": (True, False),
        "Pvt": (True, False),
    },
    **{"Bit": (False, True), "CLIP": (False, True)},
}
USUAL = {
    "do_resize": True,
    "do_rescale": True,
    "do_normalize": True,
    "rescale_factor": 1 / 255,
}
MOST_TIMM_TENSORS = 10_000  # of a network of timm: the deepest have a few thousand
MOST_SIDE = 2**13  # pixels of a side that images are brought to
FILTERS = {2: "bilinear", 3: "bicubic"}  # of Pillow, by their numbers


class HubClassifier(Wrapped):
    """logits(x) = network(steps(x)) for noisy images of the data set's own size: noise comes before all steps.

    Args:
        network: gives logits (B, K), or an answer that has them as `.logits`.
        steps: what is done to an image before.
        source: what the model is called.
        own: its K classes, in the order of its logits.
        classes: what a user calls them; None: as it does itself.

    Attributes:
        notes: what lies between the noisy image and the label, for the header of a certificate.

    Raises:
        Problem: another number of classes than its own, or two of one name.
    """

    def __init__(
        self,
        network: nn.Module,
        steps: Sequence[ModelStep],
        *,
        source: str,
        own: Sequence[str],
        classes: Sequence[str] | None,
    ) -> None:
        if classes is not None and (
            len(classes) != len(own) or len({*map(str, classes)}) < len(classes)
        ):
            raise BadValue(
                field="classes",
                value=list(classes),
                fix=f"expected {len(own)} different names, as many as {source} has",
            )
        super().__init__(steps, network.eval().requires_grad_(False), [])
        self.own = self.classes = tuple(map(str, own if classes is None else classes))
        self.source = source

    num_classes = property(lambda self: len(self.classes), doc="K.")

    @property
    def nameless(self) -> bool:
        """Whether its classes are called by numbers alone."""
        return all(map(NAMELESS.fullmatch, self.classes))

    def for_classes(self, classes: Sequence[str]) -> Self:
        """The same, sharing its network, for these `classes` in their order.

        Raises:
            Problem: it knows other classes.
        """
        if order_of(self.classes, classes, self.source) == [*range(len(classes))]:
            return self
        order = torch.tensor(order_of(self.own, classes, self.source))
        step = ModelStep(
            "classes in the order of the data set",
            lambda logits, order: logits.index_select(1, order),
            order,
        )
        changed = self.replace(after=nn.Sequential(step).eval())
        changed.classes = tuple(classes)
        return changed


def order_of(own: Sequence[str], wanted: Sequence[str], source: str) -> list[int]:
    """The place in a model's logits of each class of a data set: own[order[k]] is wanted[k].

    Names are compared without regard to case, spaces, hyphens and underscores. Where one side has no names but numbers,
    classes are taken to be in the same order.

    Args:
        own: the K classes of the model, in the order of its logits.
        wanted: the classes of the data set.
        source: what the model is called, for the error.

    Raises:
        Problem: other classes; the message names the first that the model does not have.

    Example:
        >>> order_of(["dog", "Cat"], ["cat", "dog"], "hf:pets")
        [1, 0]
    """
    if len(own) != len(wanted):
        wants = f"the data set has {len(wanted)}, {shown(', '.join(wanted))}: take a model that was trained for them"
        raise WrongModel(
            f"{source} tells {len(own)} classes apart, {shown(', '.join(own))}; {wants}"
        )
    if all(map(NAMELESS.fullmatch, own)) or all(map(NAMELESS.fullmatch, wanted)):
        return list(range(len(own)))
    simple = [
        [re.sub(r"[\s_-]+", " ", name).strip().casefold() for name in names]
        for names in (own, wanted)
    ]
    missing = [
        name
        for name, form in zip(wanted, simple[1], strict=True)
        if simple[0].count(form) != 1
    ]
    if missing or len({*simple[1]}) < len(wanted):
        way = f"its own are {shown(', '.join(own))}: say what they are called there, classes=[...]"
        raise WrongModel(
            f"{source} knows no class {shown(repr([*missing, *wanted][0]))}, or knows it twice; {way}"
        )
    return [simple[0].index(form) for form in simple[1]]


def from_transformers(
    source: Path | str, *, classes: Sequence[str] | None = None
) -> HubClassifier:
    """The image classifier `hf:user/name` or `hf:FOLDER` of transformers, behind its processor's steps.

    Noise is added to the image of the data set; then it is resized, cropped, rescaled and normalised as the processor
    says, on tensors. Only safetensors are read, and no code of the repository.

    Args:
        source: a folder as `save_pretrained` writes it, with its processor, or an id on the hub. A model of the hub is
            taken from the cache where there is no network.
        classes: what its classes are called in the data set, in the model's order; default: its own names.

    Raises:
        Problem: it is not there, it is no image classifier with all of its weights, it needs code of its own, or
            its processor is not known.
    """
    named = str(source)
    folder = here(named.removeprefix("hf:"), FILES, "hf:FOLDER")
    for pattern in FILES:
        for file in folder.glob(pattern):
            check_itself(file)
    steps, network = steps_of(folder), _network(folder, named)
    labels = network.config.id2label
    with refused(
        f"{folder / CONFIG} does not name its classes from 0 on in id2label",
        (KeyError, TypeError),
    ):
        own = [str(labels[k]) for k in range(len(labels))]
    return HubClassifier(network, steps, source=named, own=own, classes=classes)


def steps_of(folder: Path) -> list[ModelStep]:
    """The steps of the processor whose configuration is in `folder`, for images in [0, 1].

    Raises:
        Problem: there is none, or it does something else than resizing, cropping, rescaling and normalising.
    """
    path = folder / PROCESSOR
    try:
        said = parse_json(read_file(path), path)
        name = str(
            said.get("image_processor_type", said.get("feature_extractor_type", ""))
        )
        name = re.sub(r"(ImageProcessor|FeatureExtractor)(Fast|Pil)?$", "", name)
        if name not in KINDS:
            raise WrongModel(
                f"it is a {shown(name or 'processor without a name')}, and known are {', '.join(KINDS)}"
            )
        given = {key: value for key, value in said.items() if value is not None}
        return _steps(name, USUAL | {"do_center_crop": KINDS[name][1]} | given)
    except Exception as error:  # of values that nobody meant
        way = "certify it from Python, with the steps that it needs: rs.wrap(model, resize=..., mean=..., std=...)"
        raise WrongModel(
            f"{path} does not say in a known way what images need ({shown(error)}): {way}",
            file=path,
        ) from error


def _steps(kind: str, said: Mapping[str, Any]) -> list[ModelStep]:
    steps: list[ModelStep] = []
    if said["do_resize"]:
        steps.append(
            resize_step(_size(said["size"], KINDS[kind][0]), FILTERS[said["resample"]])
        )
    if said["do_center_crop"]:
        steps.append(crop_step(_size(said["crop_size"], True)))
    scale = (
        255 * float(said["rescale_factor"]) if said["do_rescale"] else 255.0
    )  # processors see 0 to 255
    scale = 1.0 if abs(scale - 1.0) < 1e-6 else scale
    mean, std = (
        (said["image_mean"], said["image_std"])
        if said["do_normalize"]
        else (None, None)
    )
    return (
        steps
        if mean is std is None and scale == 1.0
        else [*steps, normalise_step(mean, std, scale)]
    )


def _size(size: Any, square: bool) -> int | tuple[int, int]:
    """(height, width), or the length of the shorter side."""
    if isinstance(size, int):
        return (_side(size), _side(size)) if square else _side(size)
    if "shortest_edge" in size:
        return _side(size["shortest_edge"])
    return _side(size["height"]), _side(size["width"])


def _side(length: Any) -> int:
    if (
        isinstance(length, bool)
        or not isinstance(length, int)
        or not 1 <= length <= MOST_SIDE
    ):
        raise WrongModel(
            f"images of {shown(repr(length))} pixels; expected 1 to {MOST_SIDE:,} a side"
        )
    return length


def _network(folder: Path, named: str) -> Any:
    """The network with its weights in float32."""
    with needs(named):
        import transformers
    way = "Python code that comes with one is never run: if you trust it, name a function, file.py:NAME"
    how: dict[str, Any] = {
        "local_files_only": True,
        "use_safetensors": True,
        "dtype": torch.float32,
    }
    how |= {
        "trust_remote_code": False,
        "output_loading_info": True,
    }  # unless told so, it asks at the terminal
    held = checked_weights(folder, read_settings(folder / CONFIG), CONFIG, "model")
    try:
        with (
            silent("transformers"),
            _without_progress(transformers.utils.logging),
            no_larger_than(held),
        ):
            network, loaded = (
                transformers.AutoModelForImageClassification.from_pretrained(
                    str(folder), **how
                )
            )
    except Exception as error:  # of a configuration that nobody wrote, transformers raises whatever comes
        why = shown(error) or type(error).__name__
        raise WrongModel(
            f"{folder} cannot be loaded as an image classifier ({why}). {way}",
            file=folder,
        ) from error
    check_loaded(
        loaded,
        folder,
        "the classifier",
        "it was not trained to classify, or for another number of classes",
    )
    return network


@contextmanager
def _without_progress(library: Any) -> Iterator[None]:
    """Show no bars of transformers, which name tensors as they are."""
    shows = library.is_progress_bar_enabled()
    library.disable_progress_bar()
    try:
        yield
    finally:
        if shows:
            library.enable_progress_bar()


def from_timm(
    source: Path | str, *, classes: Sequence[str] | None = None
) -> HubClassifier:
    """The image classifier `timm:NAME` of timm, behind its evaluation transform.

    Args:
        source: a name of timm, `timm:hf-hub:user/name`, or `timm:FOLDER` with its config.json and weights. Weights of a
            name are taken from the cache where there is no network.
        classes: what its classes are called in the data set, in the model's order; default: its own names, if any.

    Raises:
        Problem: timm cannot be imported, or it has no such model or weights.
    """
    named, name = str(source), str(source).removeprefix("timm:")
    try:
        with needs(named, "timm itself needs a torchvision that fits your torch"):
            import timm.data
        if (said := Path(name) / CONFIG).is_file():
            check_settings(read_settings(said), str(said), MOST_TIMM_TENSORS)
        network: Any = timm.create_model(
            f"local-dir:{name}" if Path(name).is_dir() else name, pretrained=True
        )
        config = timm.data.resolve_model_data_config(network)
    except Problem:
        raise
    except Exception as error:  # timm, its hub client, torch, and a torchvision for another torch raise their own
        why, way = (
            f"{type(error).__name__}: {shown(error)}",
            "is it a name of timm, and torchvision for your torch?",
        )
        raise WrongModel(f"{named} cannot be made by timm ({why}): {way}") from error
    own = network.pretrained_cfg.get("label_names") or map(
        str, range(network.num_classes)
    )
    return HubClassifier(
        network, timm_steps(config), source=named, own=list(own), classes=classes
    )


def timm_steps(config: Mapping[str, Any]) -> list[ModelStep]:
    """The evaluation transform that `timm.data.create_transform` makes of a data configuration, for images in [0, 1].

    Raises:
        Problem: it does something else than resizing, cropping the middle and normalising.

    Example:
        >>> config = {"input_size": (3, 224, 224), "interpolation": "bicubic", "mean": (0.5,) * 3, "std": (0.5,) * 3}
        >>> [step.words for step in timm_steps(config | {"crop_pct": 0.9, "crop_mode": "center"})][:2]
        ['resized to 248 on the shorter side (bicubic)', 'the middle 224 x 224 cut out']
    """
    _, height, width = config["input_size"]
    share, mode = config.get("crop_pct", 0.875), config.get("crop_mode", "center")
    larger = math.floor(height / share), math.floor(width / share)
    if mode not in ("squash", "center") or (mode == "center" and height != width):
        raise WrongModel(
            f"crop_mode={mode!r} of timm for {height} x {width} is not known: expected center or squash"
        )
    resize = resize_step(
        larger if mode == "squash" else larger[0], config["interpolation"]
    )
    return [
        resize,
        crop_step((height, width)),
        normalise_step(config["mean"], config["std"], 1.0),
    ]
