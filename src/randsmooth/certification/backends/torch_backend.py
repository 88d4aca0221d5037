"""Backends in torch, compiled or not, with batch normalisation folded; one takes parts
of other kinds, too.
"""

import warnings
from collections import Counter
from functools import partial
from typing import Any

import torch
from torch import Tensor, fx, nn
from torch.nn.utils.fusion import fuse_conv_bn_eval
from torch.nn.utils.parametrize import is_parametrized

from randsmooth.certificates import ARITHMETICS, Precision
from randsmooth.certification.backends.base import Backend, frozen, own_copy
from randsmooth.certification.backends.choice import make_backend, usual_backend
from randsmooth.certification.backends.refusals import refused
from randsmooth.errors import BadValue, Problem, WrongModel
from randsmooth.models import Ensemble, ForeignModel, Wrapped, foreign_parts, traceable
from randsmooth.models.adapters.foreign_model import GRADIENT


class Torch(Backend):
    """A frozen copy of the model, in channels-last memory, with batch normalisation
    folded into the convolutions.
    """

    name = "torch"
    parallel = True

    def __init__(
        self, model: nn.Module, device: torch.device, precision: Precision
    ) -> None:
        self.device = device
        self.precision = precision
        self.dtype = getattr(torch, ARITHMETICS[precision])
        self.layout = (
            torch.contiguous_format
            if getattr(model, "keeps_layout", False)
            else torch.channels_last
        )
        folded = silent(fold_batch_norm(own_copy(model)))
        # torch warns of traces, whose parameters are no leaves.
        with warnings.catch_warnings(action="ignore"):
            here = frozen(folded.to(device, self.dtype))
            self.model = here.to(memory_format=self.layout)  # type: ignore[call-overload]
        # Whether the model takes gradients in its forward.
        self.gradients = False

    @property
    def arithmetic(self) -> str:
        """The number format.

        On CUDA, torch may round the factors of float32 products to TF32, which is
        added.
        """
        if self.device.type != "cuda" or self.precision != "32":
            return super().arithmetic
        allowed = {
            "convolutions": torch.backends.cudnn.allow_tf32,
            "products": torch.backends.cuda.matmul.allow_tf32,
        }
        shortened = " and ".join(what for what, allows in allowed.items() if allows)
        if not shortened:
            return super().arithmetic
        return f"{super().arithmetic} (TF32 {shortened})"

    def answer(self, noisy: Tensor) -> Any:
        try:
            return self._called(noisy)
        except (torch.OutOfMemoryError, Problem):
            raise
        # torch raises RuntimeErrors where shapes do not fit; a model's checks, others.
        except Exception as error:
            if self.answered or not self._made_plainer(error):
                raise refused(noisy, error) from error
        return self.answer(noisy)

    def _called(self, noisy: Tensor) -> Any:
        layout = self.layout if noisy.dim() == 4 else torch.contiguous_format
        if not self.gradients:
            return self.model(noisy.to(self.dtype, memory_format=layout))
        with torch.inference_mode(False), torch.enable_grad():
            answer = self.model(noisy.clone().to(self.dtype, memory_format=layout))
            return answer.detach() if isinstance(answer, Tensor) else answer

    def _made_plainer(self, error: Exception) -> bool:
        """Whether there is a slower way to call the model, which is taken from now on:
        its first batch failed.

        It may need images row by row, as for a `view`; or take a gradient, for which
        torch has to record what it does.
        """
        if self.layout == torch.channels_last:
            self.layout = torch.contiguous_format
            self.model = self.model.to(memory_format=self.layout)
            return True
        if self.gradients or not GRADIENT.search(str(error)):
            return False
        self.gradients = True
        return True


class Compiled(Torch):
    """The same, compiled by torch.compile; on CUDA its kernels are launched as one CUDA
    graph.
    """

    name = "compile"
    runs = "runs torch modules whose parts are all torch modules"
    parallel = False

    @classmethod
    def accepts(cls, model: nn.Module | ForeignModel) -> bool:
        return traceable(model)

    def __init__(
        self, model: nn.Module, device: torch.device, precision: Precision
    ) -> None:
        super().__init__(model, device, precision)
        mode = "reduce-overhead" if device.type == "cuda" else "default"
        self.model = torch.compile(self.model, mode=mode, dynamic=False)

    def answer(self, noisy: Tensor) -> Any:
        answer = super().answer(noisy)
        # The next run of a CUDA graph overwrites the output of this one.
        if self.device.type == "cuda" and isinstance(answer, Tensor):
            return answer.clone()
        return answer


class Mixed(Torch):
    """Runs the module in torch and each part of another kind by its usual backend, all
    about the same full batches.
    """

    name = "mixed"
    runs = "runs modules with parts of other kinds; leave the backend open for others"

    @classmethod
    def accepts(cls, model: nn.Module | ForeignModel) -> bool:
        return bool(foreign_parts(model))

    def __init__(
        self, model: nn.Module, device: torch.device, precision: Precision
    ) -> None:
        if precision != "32":
            raise BadValue(
                field="precision",
                value=precision,
                fix="parts of other kinds compute as they do; leave it at 32",
            )
        super().__init__(model, device, precision)
        self.parts = foreign_parts(self.model)
        self.inner = [
            make_backend(usual_backend(part.model), part.model, device, precision)
            for part in self.parts
        ]
        self.parallel = all(backend.parallel for backend in self.inner)  # type: ignore[misc]
        used = (package for backend in self.inner for package in backend.packages)
        self.packages = tuple(dict.fromkeys(used))  # type: ignore[misc]
        for part, backend in zip(self.parts, self.inner, strict=True):
            part.run = partial(
                lambda backend, x: backend.asked(x.contiguous()), backend
            )

    @property
    def processor(self) -> str:
        """Of the networks and of each part."""
        processors = [super().processor]
        processors += [backend.processor for backend in self.inner]
        return "; ".join(dict.fromkeys(processors))

    @property
    def instructions(self) -> str:
        instructions = [super().instructions]
        instructions += [backend.instructions for backend in self.inner]
        return "; ".join(dict.fromkeys(instructions))

    def answer(self, noisy: Tensor) -> Tensor:
        answer: Tensor = super().answer(noisy)
        rules = {
            module.rule
            for module in self.model.modules()
            if isinstance(module, Ensemble)
        }
        if self.votes and rules - {"vote"}:
            raise WrongModel(
                "a member of the ensemble answers with labels, which have no mean: "
                "let the members vote"
            )
        return answer

    @property
    def votes(self) -> bool:
        return any(backend.votes for backend in self.inner)


class _Tracer(fx.Tracer):
    """Looks into modules only as far as there is something to fold."""

    def is_leaf_module(self, m: nn.Module, qualified_name: str) -> bool:
        return not _has_batch_norm(m) or super().is_leaf_module(m, qualified_name)


def fold_batch_norm(model: nn.Module) -> nn.Module:
    """Fold every batch normalisation that follows a convolution alone into it.

    The answers are the same up to rounding. A model that torch.fx cannot trace is
    returned as it is, and so is one with hooks, which a trace would lose. Of our own
    modules around others, which it cannot trace, those others are folded.

    Args:
        model: in eval mode; it may be changed.

    Example:
        >>> layers = nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU()
        >>> folded = fold_batch_norm(nn.Sequential(*layers).eval())
        >>> any(isinstance(module, nn.BatchNorm2d) for module in folded.modules())
        False
    """
    if isinstance(model, Wrapped):
        model.inner = fold_batch_norm(model.inner)
        return model
    if isinstance(model, Ensemble):
        model.members = nn.ModuleList(map(fold_batch_norm, model.members)).eval()
        return model
    if _hooked(model) or not _has_batch_norm(model):
        return model
    try:
        graph = _Tracer().trace(model)
    # The model's own code may do anything with a symbol in the place of numbers.
    except Exception:
        return model
    traced = fx.GraphModule(model, graph)
    _fold_in_graph(traced)
    traced.delete_all_unused_submodules()
    traced.recompile()
    return traced


def _fold_in_graph(traced: fx.GraphModule) -> None:
    """Fold the batch normalisations of a traced model, as `fold_batch_norm` says."""
    graph = traced.graph
    calls = Counter(node.target for node in graph.nodes if node.op == "call_module")
    for node in list(graph.nodes):
        norm = _module_of(node, nn.BatchNorm2d, traced)
        before = node.args[0] if node.args else None
        conv = _module_of(before, nn.Conv2d, traced)
        if norm is None or conv is None:
            continue
        assert isinstance(before, fx.Node)
        # Nobody else may see the convolution's own output.
        alone = len(before.users) == 1 and calls[before.target] == 1
        if alone and _has_plain_weights(conv) and _has_plain_weights(norm):
            folded = fuse_conv_bn_eval(conv, norm)  # type: ignore[type-var, arg-type]
            traced.set_submodule(str(before.target), folded)
            node.replace_all_uses_with(before)
            graph.erase_node(node)


def _has_batch_norm(model: nn.Module) -> bool:
    return any(isinstance(module, nn.BatchNorm2d) for module in model.modules())


def _has_plain_weights(module: nn.Module) -> bool:
    """Return whether the weights are not computed anew, as those of spectral_norm are."""
    return not is_parametrized(module) and not _hooked(module)


def _module_of(
    node: Any, kind: type[nn.Module], traced: fx.GraphModule
) -> nn.Module | None:
    """Return the module that a node calls if it is of this kind; else None."""
    if not isinstance(node, fx.Node) or node.op != "call_module":
        return None
    module = traced.get_submodule(str(node.target))
    return module if isinstance(module, kind) else None


def silent(model: nn.Module) -> nn.Module:
    """Return the model, whose traced parts raise their errors without printing them.

    torch.fx prints them to stderr before. An answer that fails may be asked for in
    another way. The error, where it is one in the end, says the same.

    Example:
        >>> traced = silent(fx.symbolic_trace(nn.Linear(4, 2)))
        >>> traced(torch.zeros(1, 3))
        Traceback (most recent call last):
        ...
        RuntimeError: mat1 and mat2 shapes cannot be multiplied (1x3 and 4x2)
    """
    for module in model.modules():
        # torch.fx makes a class for each traced module.
        own_class = type(module)
        if isinstance(module, fx.GraphModule) and "__call__" in vars(own_class):
            del own_class.__call__
    return model


def _hooked(module: nn.Module) -> bool:
    """Return whether something is called before or after the module's forward."""
    # torch has no public way to ask.
    return bool(module._forward_hooks or module._forward_pre_hooks)  # noqa: SLF001
