"""What a base classifier is: the kinds that are taken, modules of ours around any kind, checks of what it is given."""

import copy
import re
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self, TypeAlias, TypeVar, cast

import torch
from torch import Tensor, nn

from randsmooth.data.array_values import into_unit_range
from randsmooth.data.dataset_spec import Categories, is_image
from randsmooth.documents import shown
from randsmooth.errors import BadValue, Setting, WrongData, WrongModel, article
from randsmooth.models.adapters.foreign_model import (
    EstimatorModel,
    ForeignModel,
    FunctionModel,
    PythonModel,
    no_table,
)
from randsmooth.models.adapters.torch_program import Program, is_program
from randsmooth.models.sources import open_source

BaseClassifier: TypeAlias = nn.Module | ForeignModel
M = TypeVar("M", bound=BaseClassifier)


def adapt(model: object, *, num_classes: int | None = None) -> BaseClassifier:
    """The base classifier that `model` is, or that is made of it.

    Args:
        model: a torch module (TorchScript and quantised ones too), a `torch.export` program, a scikit-learn estimator,
            a function from inputs, such as images (B, C, H, W) or features (B, d), to logits (B, K) or labels (B,), or
            what this function returned.
        num_classes: K, for a function that answers with labels.

    Raises:
        Problem: it is none of these, or one that cannot be certified.

    Example:
        >>> from sklearn.linear_model import LogisticRegression
        >>> adapt(LogisticRegression().fit([[0.0], [1.0]], [3, 7])).num_classes
        8
        >>> adapt(3)
        Traceback (most recent call last):
        ...
        randsmooth.errors.WrongModel: the model is an int, 3; expected a torch.nn.Module, ...
    """
    base = _adapted(model)
    return (
        base
        if num_classes is None or isinstance(base, nn.Module)
        else base.with_num_classes(num_classes)
    )


def _adapted(model: Any) -> BaseClassifier:
    if isinstance(model, nn.Module | ForeignModel):
        return model
    if is_program(model):
        return Program(model)
    if EstimatorModel.takes(model):
        return EstimatorModel(model)
    if callable(model) and not isinstance(
        model, type
    ):  # of a class an instance may be meant
        return FunctionModel(model)
    kinds = "a torch.export program, a scikit-learn estimator, or a function from arrays (B, ...) to logits or labels"
    given = f"{article(type(model).__name__)}, {shown(repr(model))}"
    raise WrongModel(f"the model is {given}; expected a torch.nn.Module, {kinds}")


def is_model(value: object) -> bool:
    """Whether `value` is a model already, other than a function, which may be there to make one."""
    return (
        isinstance(value, nn.Module | ForeignModel)
        or is_program(value)
        or EstimatorModel.takes(value)
    )


class Around(nn.Module):
    """A module of ours around models of any kind, such as an `Ensemble`.

    Attributes:
        answering: the name of the model in it that gives the logits; "": it does so itself, or several do.

    Example:
        >>> issubclass(Around, nn.Module)
        True
    """

    answering: ClassVar[str] = ""

    def __init__(self) -> None:
        super().__init__()
        self.training = False  # of its own; the models keep their modes, which are checked before they are certified

    def answers(self) -> Sequence[nn.Module]:
        """The models in it that give the logits."""
        return [self.get_submodule(self.answering)] if self.answering else []

    @property
    def num_classes(self) -> int | None:
        """K, where a model says it."""
        return next(
            (
                k
                for model in self.answers()
                if (k := getattr(model, "num_classes", None)) is not None
            ),
            None,
        )

    @property
    def provenance(self) -> dict[str, Any]:
        """What the models that say it say alike of how they were trained, such as the data set and sigma."""
        said = [provenance_of(model) for model in self.answers()]
        facts = (fact for each in said for fact in each.items())
        return {
            key: value
            for key, value in facts
            if all(each.get(key, value) == value for each in said)
        }

    def for_classes(self, classes: Sequence[str]) -> Self:
        """The same, answering for `classes` in their order. Problem where a model knows others."""
        if not self.answering:
            return self
        return self.replace(
            **{self.answering: for_classes(self.get_submodule(self.answering), classes)}
        )

    def for_columns(
        self, columns: Sequence[str], held: Sequence[Categories] = ()
    ) -> Self:
        """The same, taking features whose names are `columns` in their order. Problem where a model knows others."""
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
    """A scikit-learn estimator, a function or a file as a module; it takes no gradient.

    By itself it can answer only if it is called in Python, for one thread at a time. The backend `mixed` runs any.

    Args:
        model: as `adapt` makes it.

    Attributes:
        run: what answers for it, once a backend has said so: (B, K) logits of (B, C, H, W).
    """

    _turn = threading.Lock()

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
        """One that answers for these `classes` in their order."""
        return type(self)(self.model.for_classes(classes))

    def for_columns(
        self, columns: Sequence[str], held: Sequence[Categories] = ()
    ) -> Self:
        """One that takes features of these names in their order."""
        return type(self)(self.model.for_columns(columns, held))

    def forward(self, x: Tensor) -> Tensor:
        """Logits or votes (B, K), float32."""
        if is_traced():  # a trace would keep this answer for all images
            raise RuntimeError(
                f"{article(self.kind)} cannot be traced; use the torch backend"
            )
        if self.run is not None:
            return self.run(x)
        if not isinstance(self.model, PythonModel):
            raise WrongModel(
                f"a part that is {article(self.kind)} answers in a certification, not by itself"
            )
        with self._turn:
            return self.model.answer(x.detach().float()).to(x.device, torch.float32)

    def get_extra_state(self) -> str:
        """What `weights_hash` reads in place of weights."""
        return self.model.weights_hash()

    def set_extra_state(self, state: Any) -> None:
        """Nothing is stored here."""

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """With the same model, which was copied when it was adapted, or cannot be."""
        return type(self)(self.model)


def as_module(model: object, num_classes: int | None = None) -> nn.Module:
    """What can be certified, or is named as in `open_source`, as a module or a part of one. Errors as there."""
    base = adapt(
        open_source(model) if isinstance(model, str | Path) else model,
        num_classes=num_classes,
    )
    return base if isinstance(base, nn.Module) else ForeignPart(base)


def foreign_parts(model: object) -> list[ForeignPart]:
    """The parts of a module that are no torch modules.

    Example:
        >>> foreign_parts(nn.Sequential(nn.Flatten()))
        []
    """
    modules = model.modules() if isinstance(model, nn.Module) else ()
    return [module for module in modules if isinstance(module, ForeignPart)]


def is_traced() -> bool:
    """Whether torch records what is called, to replay it on other images without calling it."""
    return bool(torch.jit.is_tracing())  # type: ignore[attr-defined, no-untyped-call]


def for_classes(model: M, classes: Sequence[str]) -> M:
    """The model, answering for `classes` in their order, where it can be told them. Problem where it knows others.

    Example:
        >>> network = nn.Linear(2, 2)
        >>> for_classes(network, ["cat", "dog"]) is network
        True
    """
    told = (
        model.for_classes(classes)
        if isinstance(model, ForeignModel | Around)
        else model
    )
    return cast(M, told)  # of the model's own kind: `for_classes` returns Self


def for_columns(model: M, columns: Sequence[str], held: Sequence[Categories] = ()) -> M:
    """The model, taking features whose names are `columns`, where it knows names. Problem where it knows others.

    Columns that are `held` come as codes of categories; a model that cannot be told what these stand for is refused.

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
    """What a model says to lie between a noisy image and its label, besides a network.

    Example:
        >>> notes_of(nn.Flatten())
        ()
    """
    notes = getattr(model, "notes", ())
    return notes if isinstance(notes, tuple) else ()


def provenance_of(model: object) -> dict[str, Any]:
    """How a model of ours was trained, as far as it says; nothing is known of another's.

    Example:
        >>> provenance_of(nn.Flatten())
        {}
    """
    known = getattr(model, "provenance", None)
    return known if isinstance(known, dict) else {}


def check_inputs(x: object, shape: tuple[int, ...] | None) -> Tensor:
    """`x`: images as floats (B, C, H, W) in [0, 1], or features, finite (B, d); of `shape` where it is given.

    Raises:
        Problem: another type or shape, or a value outside [0, 1], of features one that is not finite; the message
            names the first such input.

    Example:
        >>> check_inputs(torch.tensor([[20.0, -3.0]]), None)
        tensor([[20., -3.]])
        >>> check_inputs(torch.full((2, 1, 8, 8), 255.0), (1, 8, 8))
        Traceback (most recent call last):
        ...
        randsmooth.errors.WrongData: the images have values in [255, 255], first image 0; expected [0, 1]: \
divide by the value of white, 255
    """
    if not isinstance(x, Tensor) or not x.is_floating_point():
        kind = x.dtype if isinstance(x, Tensor) else type(x).__name__
        raise WrongData(
            f"images are {kind}; expected a tensor of floats in [0, 1]: torch.as_tensor(x) / 255"
        )
    if x.layout != torch.strided or x.device.type == "meta":
        kind = (
            "meta" if x.device.type == "meta" else str(x.layout).removeprefix("torch.")
        )
        raise WrongData(
            f"the inputs are a tensor {tuple(x.shape)} of the kind {kind}: give x.to_dense(), with values"
        )
    if x.ndim not in (2, 4) if shape is None else tuple(x.shape[1:]) != shape:
        expected = (
            "(B, C, H, W), or (B, d) of features"
            if shape is None
            else f"(B, {', '.join(map(str, shape))})"
        )
        way = "x[None] makes a batch of one; of signals and the like say the shape of one, shape=(C, T)"
        raise WrongData(
            f"images have shape {tuple(x.shape)}; expected {expected}: {way}"
        )
    if not is_image(x.shape[1:]):
        if bool((bad := ~x.isfinite().flatten(1).all(1)).any()):
            raise WrongData(
                f"input {int(bad.nonzero()[0])} has NaN or infinite features: fill them in first"
            )
        return x
    wrong = ~((x >= 0) & (x <= 1)).flatten(1).all(1)  # (B,) true for NaN
    if bool(wrong.any()):
        first, least, most = int(wrong.nonzero()[0]), float(x.min()), float(x.max())
        found = f"values in [{least:.6g}, {most:.6g}], first image {first}"
        raise WrongData(
            f"the images have {found}; expected [0, 1]: {into_unit_range(least, most)}"
        )
    return x


def pick_device(name: str | torch.device) -> torch.device:
    """The device called "auto" (CUDA where torch finds it), "cpu", "cuda" or, by its number, "cuda:1".

    Raises:
        Problem: another name, or a CUDA device that torch does not find.

    Example:
        >>> pick_device("cpu")
        device(type='cpu')
        >>> pick_device("gpu")
        Traceback (most recent call last):
        randsmooth.errors.BadValue: device='gpu' must be auto, cpu, cuda or, of several GPUs, cuda:0, cuda:1, ...
    """
    found = re.fullmatch(r"auto|cpu|cuda(?::(\d{1,4}))?", str(name), re.ASCII)
    if found is None:
        raise BadValue(
            field="device",
            value=str(name),
            expected="must be auto, cpu, cuda or, of several GPUs, cuda:0, cuda:1, ...",
        )
    devices = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if str(name) in ("auto", "cpu"):
        return torch.device("cuda" if devices and str(name) == "auto" else "cpu")
    if int(found[1] or 0) >= devices:
        raise BadValue(
            field="device",
            value=str(name),
            expected=f"is not there: torch sees {devices} CUDA devices, numbered from 0",
            fix=("give ", Setting("device", "cpu")),
        )
    return torch.device(str(name))
