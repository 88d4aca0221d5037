"""Classifiers of images and of texts of Hugging Face's transformers, as base classifiers."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import torch

from randsmooth.contents import check_no_placeholder
from randsmooth.documents import refused, shown
from randsmooth.errors import NotFound, WrongModel
from randsmooth.extras import needs
from randsmooth.models.adapters.text_network import TextNetwork
from randsmooth.models.hub import HubClassifier
from randsmooth.models.hub_files import model_folder
from randsmooth.models.library_folders import (
    building,
    check_loaded,
    checked_weights,
    no_larger_than,
    read_settings,
    silent,
)
from randsmooth.models.processors import PROCESSOR, steps_of

CONFIG = "config.json"
# The files that hold the words of a tokenizer, and those that hold all else of it.
WORDS_OF_TOKENIZER = ["tokenizer.json", "vocab.*", "*.model"]
TOKENIZER = [
    *WORDS_OF_TOKENIZER,
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "merges.txt",
]
FILES = [
    CONFIG,
    PROCESSOR,
    "*.safetensors",
    "*.safetensors.index.json",
    *TOKENIZER,
]
# What the names of architectures that classify texts end in.
OF_TEXTS = "ForSequenceClassification"

# The setting that names code in a folder of a model.
CODE = "auto_map"
NAME_A_FUNCTION = "name a function that makes it, file.py:NAME"


class Kind(NamedTuple):
    """A kind of classifiers of transformers.

    Attributes:
        opener: the name of the class that opens one.
        mapping: the name of the table of the architectures that can be one.
        what: what it is, in words.
        does: what it was trained to do.
    """

    opener: str
    mapping: str
    what: str
    does: str


IMAGES = Kind(
    opener="AutoModelForImageClassification",
    mapping="MODEL_FOR_IMAGE_CLASSIFICATION_MAPPING",
    what="image classifier",
    does="classify images",
)
TEXTS = Kind(
    opener="AutoModelForSequenceClassification",
    mapping="MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING",
    what="classifier of texts",
    does="classify texts",
)


def open_transformers(
    source: Path | str,
    *,
    classes: Sequence[str] | None = None,
    mask: str | None = None,
) -> HubClassifier | TextNetwork:
    """Return a classifier of transformers, of images or of texts.

    Args:
        source, classes: see `from_transformers`.
        mask: of texts, what stands for a hidden word, as for `models.words`.

    Raises:
        Problem: in the cases of `from_transformers`, also of a tokenizer; or a mask for
            images.
    """
    folder = _folder_of(source)
    settings = read_settings(folder / CONFIG)
    if _is_of_texts(settings):
        return _of_texts(folder, str(source), classes=classes, mask=mask)
    if mask is not None:
        raise WrongModel(
            f"{source} classifies images, which have no words to hide",
            field="mask",
            value=mask,
            fix="leave mask out",
        )
    return _of_images(folder, str(source), classes)


def from_transformers(
    source: Path | str, *, classes: Sequence[str] | None = None
) -> HubClassifier:
    """Return an image classifier of transformers, behind its processor's steps.

    Noise is added to the image of the data set; then it is resized, cropped, rescaled
    and normalised as the processor says, on tensors. Only safetensors are read, and no
    code of the repository.

    Args:
        source: `hf:FOLDER`, a folder as `save_pretrained` writes it, with its
            processor, or `hf:user/name`, an id on the hub. A model of the hub is taken
            from the cache where there is no network.
        classes: the names of the classes in the data set, in the model's order;
            default: the model's own names.

    Raises:
        Problem: it is not there, it is no image classifier with all of its weights, it
            needs code of its own, or its processor is not known.
    """
    return _of_images(_folder_of(source), str(source), classes)


def _of_images(
    folder: Path, named: str, classes: Sequence[str] | None
) -> HubClassifier:
    """Return the image classifier in a folder; arguments are those of `_of_texts`."""
    steps = steps_of(folder)
    network = _network(folder, named, IMAGES)
    labels = network.config.id2label
    unnamed = f"{folder / CONFIG} does not name its classes from 0 on in id2label"
    with refused(unnamed, (KeyError, TypeError)):
        own = [str(labels[k]) for k in range(len(labels))]
    return HubClassifier(network, steps, source=named, own=own, classes=classes)


def _folder_of(source: Path | str) -> Path:
    """Return the folder of a model, with its files.

    Raises:
        Problem: there is none, or its files are pointers.
    """
    folder = model_folder(str(source).removeprefix("hf:"), FILES, written="hf:FOLDER")
    # A folder may hold pointers of Git LFS in place of the files.
    for pattern in FILES:
        for file in folder.glob(pattern):
            check_no_placeholder(file)
    return folder


def _is_of_texts(settings: Mapping[str, Any]) -> bool:
    """Return whether a configuration is that of a classifier of texts."""
    architectures = settings.get("architectures")
    names = architectures if isinstance(architectures, list) else []
    return any(str(name).endswith(OF_TEXTS) for name in names)


def _of_texts(
    folder: Path,
    named: str,
    *,
    classes: Sequence[str] | None,
    mask: str | None,
) -> TextNetwork:
    """Return the classifier of texts in a folder, behind its tokenizer.

    Args:
        folder: the folder of the model.
        named: what the user called it, for errors.
        classes: the names of its classes; None: its own.
        mask: what stands for a hidden word; None: the tokenizer's mask token.

    Raises:
        Problem: it lacks weights or a tokenizer, or is not harmless.
    """
    network = _network(folder, named, TEXTS)
    # Without its words, transformers makes a tokenizer up that knows none.
    if not any(file for pattern in WORDS_OF_TOKENIZER for file in folder.glob(pattern)):
        raise NotFound(
            f"{folder} holds no tokenizer, such as tokenizer.json",
            file=folder,
            fix="save it there, tokenizer.save_pretrained(FOLDER)",
        )
    import transformers

    # Another package reads the files, and may raise anything.
    with (
        refused(f"{folder} holds no tokenizer that can be read", Exception),
        silent("transformers"),
    ):
        tokenizer = transformers.AutoTokenizer.from_pretrained(
            str(folder), local_files_only=True, trust_remote_code=False
        )
    return TextNetwork(
        network.eval(), tokenizer, mask=mask, classes=classes, source=named
    )


def _network(folder: Path, named: str, kind: Kind) -> Any:
    """Return the network in a folder, with its weights in float32.

    Args:
        folder: the folder of the model.
        named: what the user called it, for errors.
        kind: what it must be.

    Raises:
        Problem: it is no such classifier with all of its weights, or not harmless.
    """
    # transformers is an extra, and takes seconds to load.
    with needs(named):
        import transformers

    settings = read_settings(folder / CONFIG)
    _check_is_classifier(settings, folder / CONFIG, kind)
    weights = checked_weights(folder, settings, CONFIG, "model")
    open_model = getattr(transformers, kind.opener).from_pretrained
    with (
        building(f"the {settings['model_type']}", folder / CONFIG, "transformers"),
        silent("transformers"),
        _without_progress(transformers.utils.logging),
        no_larger_than(weights),
    ):
        network, loaded = open_model(
            str(folder),
            local_files_only=True,
            use_safetensors=True,
            dtype=torch.float32,
            # Unless it is told so, transformers asks at the terminal.
            trust_remote_code=False,
            # Tensors of another shape are refused by `check_loaded`, which names them.
            ignore_mismatched_sizes=True,
            output_loading_info=True,
        )
    check_loaded(
        loaded, folder, what="the classifier", reason="it was not trained to classify"
    )
    return network


def _check_is_classifier(
    settings: Mapping[str, Any], config: Path, wanted: Kind
) -> None:
    """Raise WrongModel where a configuration is that of no classifier of a kind.

    Args:
        settings: the contents of the configuration.
        config: the file of the configuration.
        wanted: the kind.
    """
    # `_network` has made sure that it is installed.
    import transformers

    kind = settings.get("model_type")
    says = f"{config} says model_type={shown(repr(kind))}"
    if not isinstance(kind, str) or kind not in transformers.CONFIG_MAPPING:
        fault = f"which transformers {transformers.__version__} does not know"
        fix = f"update transformers, or {NAME_A_FUNCTION}"
        if CODE in settings:
            fault = "made by Python code that comes with it, which is never run"
            fix = f"if you trust it, {NAME_A_FUNCTION}"
        raise WrongModel(
            f"{says}, {fault}", field="model_type", value=kind, file=config, fix=fix
        )

    classifiers = getattr(transformers, wanted.mapping)
    if transformers.CONFIG_MAPPING[kind] not in classifiers:
        raise WrongModel(
            f"{says}, but transformers has no {wanted.what} of that kind",
            field="model_type",
            value=kind,
            file=config,
            fix=f"take a model that was trained to {wanted.does}, or {NAME_A_FUNCTION}",
        )


@contextmanager
def _without_progress(logging: Any) -> Iterator[None]:
    """Let transformers show no progress bars within the block.

    They would print names of tensors raw, and those in a stranger's file may hold control
    characters.

    Args:
        logging: the module of transformers that shows the bars.
    """
    shows = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shows:
            logging.enable_progress_bar()
