"""Modules of this package around models of any kind, and what they ask of these models."""

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
    advice_on_categories,
)

M = TypeVar("M", bound=nn.Module | ForeignModel)


class Around(nn.Module):
    """A module of this package around models of any kind, such as an `Ensemble`.

    Attributes:
        answering: the name of the attribute that holds the model which gives the logits;
            "" where there is no such model, or there are several.

    Example:
        >>> issubclass(Around, nn.Module)
        True
    """

    answering: ClassVar[str] = ""

    def __init__(self) -> None:
        super().__init__()
        # This module has no train mode of its own. The models in it keep their modes, and
        # certification refuses one in train mode.
        self.training = False

    def answers(self) -> Sequence[nn.Module]:
        """Return the models in it that give the logits."""
        return [self.get_submodule(self.answering)] if self.answering else []

    @property
    def num_classes(self) -> int | None:
        """K, where one of the models that give the logits knows it; else None."""
        for model in self.answers():
            number: int | None = getattr(model, "num_classes", None)
            if number is not None:
                return number
        return None

    @property
    def refusal(self) -> int | None:
        """The class of declined answers, where one of these models knows it; else None."""
        for model in self.answers():
            number = refusal_of(model)
            if number is not None:
                return number
        return None

    @property
    def provenance(self) -> dict[str, Any]:
        """How its models were trained: the facts in which they agree.

        Such facts are the data set and sigma. A fact counts as agreed where some models do
        not tell it.
        """
        of_models = [provenance_of(model) for model in self.answers()]
        facts = {}
        for provenance in of_models:
            for name, value in provenance.items():
                if all(other.get(name, value) == value for other in of_models):
                    facts[name] = value
        return facts

    def for_classes(self, classes: Sequence[str]) -> Self:
        """Return the same module, answering for `classes` in their order.

        Raises:
            Problem: its model knows other classes.
        """
        # A subclass with several such models has a method of its own.
        if not self.answering:
            return self
        model = for_classes(self.get_submodule(self.answering), classes)
        return self.replace(**{self.answering: model})

    def for_columns(
        self, columns: Sequence[str], held: Sequence[Categories] = ()
    ) -> Self:
        """Return the same module, taking features called `columns` in this order.

        Raises:
            Problem: a model in it knows other features.
        """
        # Unlike classes, features concern all parts, not only the one with the logits.
        parts = {
            name: for_columns(part, columns, held)
            for name, part in self.named_children()
        }
        return self.replace(**parts)

    def declining(self, name: str) -> Self:
        """Return the same module, whose models may decline by a class called `name`."""
        # A subclass with several such models has a method of its own.
        if not self.answering:
            return self
        model = declining(self.get_submodule(self.answering), name)
        return self.replace(**{self.answering: model})

    def replace(self, **modules: nn.Module) -> Self:
        """Return a copy that has other modules under these names, and shares the rest."""
        changed = copy.copy(self)
        # A shallow copy shares the table of modules, which set_submodule would change for
        # both. So the copy gets a table of its own.
        changed._modules = {**self._modules, **modules}  # noqa: SLF001
        return changed


class ForeignPart(Around):
    """A scikit-learn estimator, a function or a file as a torch module.

    It gives no gradient. An estimator or a function is called in Python, by one thread at a
    time. A file can answer only once a backend, `mixed`, has set `run`.

    Args:
        model: the model, as `adapt` makes it.

    Attributes:
        run: the function of a backend that answers in place of the model, logits (B, K)
            of (B, C, H, W); None: no backend has set one.
    """

    _one_at_a_time = threading.Lock()

    def __init__(self, model: ForeignModel) -> None:
        super().__init__()
        self.model = model
        self.run: Callable[[Tensor], Tensor] | None = None

    shape = property(lambda self: self.model.shape)
    num_classes = property(lambda self: self.model.num_classes)
    refusal = property(lambda self: self.model.refusal)
    classes = property(lambda self: getattr(self.model, "classes", None))
    kind = arch = property(lambda self: self.model.kind)
    notes = property(lambda self: self.model.notes)

    def for_classes(self, classes: Sequence[str]) -> Self:
        """Return a part whose model answers for these `classes` in their order."""
        return type(self)(self.model.for_classes(classes))

    def for_columns(
        self, columns: Sequence[str], held: Sequence[Categories] = ()
    ) -> Self:
        """Return a part whose model takes features called `columns` in this order."""
        return type(self)(self.model.for_columns(columns, held))

    def declining(self, name: str) -> Self:
        """Return a part whose model may decline by a class called `name`."""
        return type(self)(self.model.declining(name))

    def forward(self, x: Tensor) -> Tensor:
        """Return logits or votes (B, K), float32."""
        if is_traced():
            # A trace would keep the answer to this batch, and give it for all others.
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
        """Return the model's hash, which torch puts into the state dict of this module.

        So `weights_hash` of a module around this one tells different models apart.
        """
        return self.model.weights_hash()

    def set_extra_state(self, state: Any) -> None:
        """Do nothing: torch calls this where it loads a state dict.

        The model cannot be made of its hash.
        """

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Return a part with the same model, not with a copy of it.

        `adapt` took a copy of an estimator already, and a function cannot be copied.
        """
        return type(self)(self.model)


def foreign_parts(model: object) -> list[ForeignPart]:
    """Return the parts of a model that only wrap something which is no torch module.

    Example:
        >>> foreign_parts(nn.Sequential(nn.Flatten()))
        []
    """
    if not isinstance(model, nn.Module):
        return []
    return [module for module in model.modules() if isinstance(module, ForeignPart)]


def is_traced() -> bool:
    """Return whether torch records the operations of this call, to replay them later.

    Whatever Python computes outside of torch would then be left out.
    """
    return bool(torch.jit.is_tracing())  # type: ignore[attr-defined, no-untyped-call]


def traceable(model: object) -> bool:
    """Return whether a model consists of torch modules alone, so that torch can trace it.

    Example:
        >>> linear = nn.Sequential(nn.Flatten(), nn.Linear(64, 10)).eval()
        >>> traceable(linear), traceable(len)
        (True, False)
    """
    return isinstance(model, nn.Module) and not foreign_parts(model)


def for_classes(model: M, classes: Sequence[str]) -> M:
    """Return the model, answering for `classes` in their order.

    A torch module of the user's knows no names of classes, and is returned as it is.

    Raises:
        Problem: the model knows other classes.

    Example:
        >>> network = nn.Linear(2, 2)
        >>> for_classes(network, ["cat", "dog"]) is network
        True
    """
    if not isinstance(model, ForeignModel | Around):
        return model
    # The method returns Self, which is M.
    return cast(M, model.for_classes(classes))


def for_columns(model: M, columns: Sequence[str], held: Sequence[Categories] = ()) -> M:
    """Return the model, taking features called `columns` in this order.

    A torch module of the user's knows no names of features, and is returned as it is.

    Args:
        model: the model.
        columns: the names of the features; empty where the data set gives them none.
        held: the columns that hold codes, each of which stands for a category.

    Raises:
        Problem: the model knows other features, or takes no categories.

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
            f"the model, a torch module, takes numbers alone: {advice_on_categories(held)}"
        )
    return model


def declining(model: M, name: str) -> M:
    """Return the model, which may decline: a class called `name` stands for that.

    A torch module of the user's declines by the logit of such a class, and is returned as
    it is.

    Example:
        >>> network = nn.Linear(2, 2)
        >>> declining(network, "declined") is network
        True
    """
    if not isinstance(model, ForeignModel | Around):
        return model
    return cast(M, model.declining(name))


def refusal_of(model: object) -> int | None:
    """Return the number of the class of a model's declined answers, where it knows it.

    Example:
        >>> refusal_of(nn.Flatten()) is None
        True
    """
    # A torch module of the user's may have an attribute `refusal` for something else.
    return model.refusal if isinstance(model, ForeignModel | Around) else None


def notes_of(model: object) -> tuple[str, ...]:
    """Return a model's notes, the steps between a noisy image and its label.

    Example:
        >>> notes_of(nn.Flatten())
        ()
    """
    # A torch module of the user's may have an attribute `notes` for something else.
    notes = getattr(model, "notes", ())
    return notes if isinstance(notes, tuple) else ()


def provenance_of(model: object) -> dict[str, Any]:
    """Return how a model was trained, as far as it says; empty where it says nothing.

    Example:
        >>> provenance_of(nn.Flatten())
        {}
    """
    provenance = getattr(model, "provenance", None)
    return provenance if isinstance(provenance, dict) else {}
