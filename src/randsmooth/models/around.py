"""Modules of ours around models of any kind, and what is asked of models in them."""

import copy
import threading
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Self, TypeVar, cast

import torch
from torch import Tensor, nn

from randsmooth.data.dataset_spec import Categories
from randsmooth.errors import WrongModel, article
from randsmooth.models.adapters.foreign_model import (
    ForeignModel,
    PythonModel,
    no_table,
)

M = TypeVar("M", bound=nn.Module | ForeignModel)


class Around(nn.Module):
    """A module of ours around models of any kind, such as an `Ensemble`.

    Attributes:
        answering: the name of the model in it that gives the logits; "": it does so
            itself, or several do.

    Example:
        >>> issubclass(Around, nn.Module)
        True
    """

    answering: ClassVar[str] = ""

    def __init__(self) -> None:
        super().__init__()
        # It has no train mode of its own. The models keep their modes, which are
        # checked before they are certified.
        self.training = False

    def answers(self) -> Sequence[nn.Module]:
        """Return the models in it that give the logits."""
        return [self.get_submodule(self.answering)] if self.answering else []

    @property
    def num_classes(self) -> int | None:
        """K, where a model says it."""
        for model in self.answers():
            number: int | None = getattr(model, "num_classes", None)
            if number is not None:
                return number
        return None

    @property
    def provenance(self) -> dict[str, Any]:
        """How its models were trained, as far as they say the same.

        Such facts are the data set and sigma. One that only some of them tell counts.
        """
        of_models = [provenance_of(model) for model in self.answers()]
        facts = {}
        for provenance in of_models:
            for name, value in provenance.items():
                if all(other.get(name, value) == value for other in of_models):
                    facts[name] = value
        return facts

    def for_classes(self, classes: Sequence[str]) -> Self:
        """Return the same, answering for `classes` in their order.

        Raises:
            Problem: a model knows others.
        """
        if not self.answering:
            return self
        model = for_classes(self.get_submodule(self.answering), classes)
        return self.replace(**{self.answering: model})

    def for_columns(
        self, columns: Sequence[str], held: Sequence[Categories] = ()
    ) -> Self:
        """Return the same, taking features whose names are `columns` in their order.

        Raises:
            Problem: a model knows others.
        """
        parts = {
            name: for_columns(part, columns, held)
            for name, part in self.named_children()
        }
        return self.replace(**parts)

    def replace(self, **modules: nn.Module) -> Self:
        """Return a copy with other `modules` in the places of those names.

        It shares the rest.
        """
        changed = copy.copy(self)
        # set_submodule would change the table of modules that both share.
        changed._modules = {**self._modules, **modules}  # noqa: SLF001
        return changed


class ForeignPart(Around):
    """A scikit-learn estimator, a function or a file as a module.

    It takes no gradient. By itself it can answer only if it is called in Python, for
    one thread at a time. The backend `mixed` runs any.

    Args:
        model: the model, as `adapt` makes it.

    Attributes:
        run: the function that answers for it, once a backend has said so: (B, K) logits
            of (B, C, H, W).
    """

    _one_at_a_time = threading.Lock()

    def __init__(self, model: ForeignModel) -> None:
        super().__init__()
        self.model = model
        self.run: Callable[[Tensor], Tensor] | None = None

    shape = property(lambda self: self.model.shape)
    num_classes = property(lambda self: self.model.num_classes)
    classes = property(lambda self: getattr(self.model, "classes", None))
    kind = arch = property(lambda self: self.model.kind)
    notes = property(lambda self: self.model.notes)

    def for_classes(self, classes: Sequence[str]) -> Self:
        """Return one that answers for these `classes` in their order."""
        return type(self)(self.model.for_classes(classes))

    def for_columns(
        self, columns: Sequence[str], held: Sequence[Categories] = ()
    ) -> Self:
        """Return one that takes features of these names in their order."""
        return type(self)(self.model.for_columns(columns, held))

    def forward(self, x: Tensor) -> Tensor:
        """Return logits or votes (B, K), float32."""
        if is_traced():
            # A trace would keep this answer for all images.
            raise RuntimeError(
                f"{article(self.kind)} cannot be traced; use the torch backend"
            )
        if self.run is not None:
            return self.run(x)
        if not isinstance(self.model, PythonModel):
            raise WrongModel(
                f"a part that is {article(self.kind)} answers in a certification, not "
                "by itself"
            )
        with self._one_at_a_time:
            answer = self.model.answer(x.detach().float())
        return answer.to(x.device, torch.float32)

    def get_extra_state(self) -> str:
        """Return what `weights_hash` reads in place of weights."""
        return self.model.weights_hash()

    def set_extra_state(self, state: Any) -> None:
        """Store nothing: what `get_extra_state` gives says which model it is."""

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Return one with the same model.

        It was copied when it was adapted, or cannot be.
        """
        return type(self)(self.model)


def foreign_parts(model: object) -> list[ForeignPart]:
    """Return the parts of a module that are no torch modules.

    Example:
        >>> foreign_parts(nn.Sequential(nn.Flatten()))
        []
    """
    if not isinstance(model, nn.Module):
        return []
    return [module for module in model.modules() if isinstance(module, ForeignPart)]


def is_traced() -> bool:
    """Return whether torch records what is called.

    It would replay that on other images without calling it.
    """
    return bool(torch.jit.is_tracing())  # type: ignore[attr-defined, no-untyped-call]


def traceable(model: object) -> bool:
    """Return whether a model is torch modules throughout, which a compiler can trace.

    Example:
        >>> linear = nn.Sequential(nn.Flatten(), nn.Linear(64, 10)).eval()
        >>> traceable(linear), traceable(len)
        (True, False)
    """
    return isinstance(model, nn.Module) and not foreign_parts(model)


def for_classes(model: M, classes: Sequence[str]) -> M:
    """Return the model, answering for `classes` in their order.

    A model that cannot be told them is returned as it is.

    Raises:
        Problem: it knows others.

    Example:
        >>> network = nn.Linear(2, 2)
        >>> for_classes(network, ["cat", "dog"]) is network
        True
    """
    if not isinstance(model, ForeignModel | Around):
        return model
    # Of the model's own kind: the method returns Self.
    return cast(M, model.for_classes(classes))


def for_columns(model: M, columns: Sequence[str], held: Sequence[Categories] = ()) -> M:
    """Return the model, taking features whose names are `columns` in their order.

    A model that knows no names is returned as it is.

    Args:
        model: the model.
        columns: the names of the features; empty where the data give them none.
        held: the columns that come as codes of categories.

    Raises:
        Problem: it knows other names, or cannot be told what the codes stand for.

    Example:
        >>> network = nn.Linear(2, 2)
        >>> for_columns(network, ["mass", "age"]) is network
        True
    """
    if not columns and not held:
        return model
    if isinstance(model, ForeignModel | Around):
        return cast(M, model.for_columns(columns, held))
    if held:
        raise WrongModel(
            f"the model, a torch module, takes numbers alone: {no_table(held)}"
        )
    return model


def notes_of(model: object) -> tuple[str, ...]:
    """Return what a model says to lie between a noisy image and its label.

    A network is not named.

    Example:
        >>> notes_of(nn.Flatten())
        ()
    """
    notes = getattr(model, "notes", ())
    return notes if isinstance(notes, tuple) else ()


def provenance_of(model: object) -> dict[str, Any]:
    """Return how a model of ours was trained, as far as it says.

    Nothing is known of another's.

    Example:
        >>> provenance_of(nn.Flatten())
        {}
    """
    provenance = getattr(model, "provenance", None)
    return provenance if isinstance(provenance, dict) else {}
