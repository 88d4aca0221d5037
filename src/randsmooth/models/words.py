"""Base classifiers of texts, whose words are kept or hidden."""

from collections.abc import Sequence
from typing import Any

from torch import nn

from randsmooth.errors import MissingValue, Setting, WrongModel
from randsmooth.models.adapters.foreign_model import PythonModel
from randsmooth.models.adapters.text_network import TextNetwork
from randsmooth.models.base_classifier import BaseClassifier, adapt


def words(
    model: object,
    tokenizer: Any = None,
    *,
    mask: str | None = None,
    classes: Sequence[str] | None = None,
    num_classes: int | None = None,
) -> PythonModel:
    """Return a base classifier of texts, to certify how many words may be replaced.

    Under the noise ablation=10%, it gets texts of which a tenth of the words are left;
    the others are hidden. A word is what stands between whitespace (`str.split`).

    Args:
        model: a sequence classifier of transformers in eval mode, with its `tokenizer`; a
            fitted scikit-learn pipeline of texts; or a function from a list of B texts to
            logits (B, K) or labels (B,), where -1 and None decline.
        tokenizer: the tokenizer of a network; None for the others.
        mask: stands for a hidden word. Default: the mask token of the tokenizer, if it
            has one; else hidden words are left out, as an empty `mask` says.
        classes: the names of a network's classes, in the order of its logits; default:
            those of its configuration.
        num_classes: K, for a function that answers with labels; default: the number of
            classes of the data.

    Raises:
        WrongModel: the model takes no texts, or a network comes without a tokenizer.

    Example:
        >>> import randsmooth as rs
        >>> def likes(texts):
        ...     return [int("good" in text.split()) for text in texts]
        >>> texts = rs.data.texts(["a good good good film", "a bad film"], [1, 0])
        >>> table = rs.certify(
        ...     rs.words(likes, num_classes=2), texts, noise="ablation=2", n=1000, identity="likes"
        ... )
        >>> table.words.tolist(), table.predict.tolist(), table.radius.tolist()
        ([5, 3], [1, 0], [0.0, 0.0])
    """
    if tokenizer is not None:
        if not isinstance(model, nn.Module):
            raise WrongModel(
                f"a {type(model).__name__} takes no tokenizer: a network does",
                field="tokenizer",
            )
        return TextNetwork(model, tokenizer, mask=mask, classes=classes)
    if isinstance(model, nn.Module):
        raise MissingValue(
            "a network of texts takes token ids, which its tokenizer makes",
            field="tokenizer",
            fix="give rs.words(model, tokenizer)",
        )
    base = adapt(model, num_classes=num_classes)
    return on_texts(base, mask or "")


def on_texts(model: BaseClassifier, mask: str = "") -> PythonModel:
    """Return the model, which is given texts; one that reads texts already as it is.

    Raises:
        WrongModel: it takes numbers alone.

    Example:
        >>> from torch import nn
        >>> on_texts(nn.Linear(4, 2))
        Traceback (most recent call last):
            ...
        randsmooth.errors.WrongModel: the model, a Linear, takes numbers, and the inputs are texts...
    """
    if not isinstance(model, PythonModel) or not model.reads_texts:
        raise WrongModel(
            f"the model, a {type(model).__name__}, takes numbers, and the inputs are "
            "texts",
            fix="give rs.words(model, tokenizer), a scikit-learn pipeline of texts, or a "
            "function of a list of texts",
        )
    return model if model.mask is not None else model.on_texts(mask)


def takes_texts(model: object) -> bool:
    """Return whether the model is given texts, as what `words` returns is.

    Example:
        >>> from torch import nn
        >>> takes_texts(nn.Linear(4, 2))
        False
    """
    return isinstance(model, PythonModel) and model.mask is not None


def check_numbers_taken(model: object) -> None:
    """Raise WrongModel for a model of texts, where inputs are numbers.

    Example:
        >>> from torch import nn
        >>> check_numbers_taken(nn.Linear(4, 2))
    """
    if takes_texts(model):
        raise WrongModel(
            "the model takes texts, and the inputs are none",
            field="text_column",
            fix=(
                "name the column that holds them, ",
                Setting("text_column"),
                ", or give rs.data.texts(texts, labels)",
            ),
        )
