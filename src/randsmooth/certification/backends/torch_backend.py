"""Backends in torch: plain, compiled, and with parts of other kinds.

All of them fold batch normalisation into convolutions.
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
    """Runs a frozen copy of the model in torch.

    The copy lies in channels-last memory, and its batch normalisations are folded into
    the convolutions.
    """

    name = "torch"
    parallel = True

    def __init__(
        self, model: nn.Module, device: torch.device, precision: Precision
    ) -> None:
        self.device = device
        self.precision = precision
        self.dtype = getattr(torch, ARITHMETICS[precision])
        # Convolutions are faster in channels-last memory. A program of torch.export may
        # rely on contiguous memory, and says that it keeps its layout.
        keeps_layout = getattr(model, "keeps_layout", False)
        self.layout = torch.contiguous_format if keeps_layout else torch.channels_last
        folded = silent(fold_batch_norm(own_copy(model)))
        # torch warns of traces, whose parameters are no leaves.
        with warnings.catch_warnings(action="ignore"):
            moved = frozen(folded.to(device, self.dtype))
            self.model = moved.to(memory_format=self.layout)  # type: ignore[call-overload]
        # Whether the model takes gradients in its forward, as far as is known.
        self.gradients = False

    @property
    def arithmetic(self) -> str:
        """The number format, and in brackets the operations that torch may round to TF32.

        On CUDA torch may do so with the factors of float32 products.
        """
        if self.device.type != "cuda" or self.precision != "32":
            return super().arithmetic
        rounded = []
        if torch.backends.cudnn.allow_tf32:
            rounded.append("convolutions")
        if torch.backends.cuda.matmul.allow_tf32:
            rounded.append("products")
        if not rounded:
            return super().arithmetic
        return f"{super().arithmetic} (TF32 {' and '.join(rounded)})"

    def answer(self, noisy: Tensor) -> Any:
        try:
            return self._called(noisy)
        except (torch.OutOfMemoryError, Problem):
            raise
        # torch raises a RuntimeError where shapes do not fit; the model's own checks may
        # raise anything.
        except Exception as error:
            # Only a model that never answered may need to be called in another way.
            if self.answered or not self._take_slower_way(error):
                raise refused(noisy, error) from error
        return self.answer(noisy)

    def _called(self, noisy: Tensor) -> Any:
        """Return the answer of the model, called in the way found so far."""
        # Channels last is a layout of images alone.
        layout = self.layout if noisy.dim() == 4 else torch.contiguous_format
        if not self.gradients:
            return self.model(noisy.to(self.dtype, memory_format=layout))
        with torch.inference_mode(False), torch.enable_grad():
            answer = self.model(noisy.clone().to(self.dtype, memory_format=layout))
            return answer.detach() if isinstance(answer, Tensor) else answer

    def _take_slower_way(self, error: Exception) -> bool:
        """Call the model in a slower way from now on, and return whether there is one
        that was not tried yet.

        A model may need images that lie row by row in memory, as for a `view`. Or it
        takes a gradient, for which torch has to record its operations.

        Args:
            error: the error that the model raised on its first batch.
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
    """Runs the same copy, compiled by torch.compile.

    On CUDA its kernels are launched as one CUDA graph.
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
    """Runs a module in torch, and its parts of other kinds by their usual backends.

    All of them are asked about the same full batches.
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
        # The whole allows what all parts allow, and needs what any part needs.
        self.parallel = all(backend.parallel for backend in self.inner)  # type: ignore[misc]
        used = (package for backend in self.inner for package in backend.packages)
        self.packages = tuple(dict.fromkeys(used))  # type: ignore[misc]
        # When the module comes to a part, the part's backend answers for it.
        for part, backend in zip(self.parts, self.inner, strict=True):
            part.run = partial(_asked_for_part, backend)

    @property
    def processor(self) -> str:
        """The processors of the torch modules and of each part, each once."""
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
        # Only after an answer is it known whether a part answers with labels.
        takes_means = any(
            isinstance(module, Ensemble) and module.rule != "vote"
            for module in self.model.modules()
        )
        if self.votes and takes_means:
            raise WrongModel(
                "a member of the ensemble answers with labels, which have no mean: "
                "let the members vote"
            )
        return answer

    @property
    def votes(self) -> bool:
        return any(backend.votes for backend in self.inner)


def _asked_for_part(backend: Backend, x: Tensor) -> Any:
    """Return the answer of the backend of a part, which takes images row by row."""
    return backend.asked(x.contiguous())


class _Tracer(fx.Tracer):
    """A tracer that looks into modules only as far as there is something to fold."""

    def is_leaf_module(self, m: nn.Module, qualified_name: str) -> bool:
        """Return whether a module is traced as one call, and not looked into."""
        return not _has_batch_norm(m) or super().is_leaf_module(m, qualified_name)


def fold_batch_norm(model: nn.Module) -> nn.Module:
    """Fold each batch normalisation into the convolution before it.

    The answers are the same up to rounding. A convolution whose output goes elsewhere,
    too, stays as it is. A model that torch.fx cannot trace is returned as it is, and so
    is one with hooks, which a trace would lose. torch.fx cannot trace our own modules
    around others: there the modules within are folded.

    Args:
        model: a model in eval mode, which may be changed.

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
    """Fold the batch normalisations of a traced model (see `fold_batch_norm`)."""
    graph = traced.graph
    calls_of_module = Counter(
        node.target for node in graph.nodes if node.op == "call_module"
    )
    # The list is a copy, because nodes are erased on the way.
    for node in list(graph.nodes):
        input_node = node.args[0] if node.args else None
        norm = _module_of(node, nn.BatchNorm2d, traced)
        conv = _module_of(input_node, nn.Conv2d, traced)
        if norm is None or conv is None:
            continue
        assert isinstance(input_node, fx.Node), "it calls the convolution"

        # Another user of the output, or another call of the convolution, needs the
        # convolution as it is.
        has_one_user = len(input_node.users) == 1
        is_called_once = calls_of_module[input_node.target] == 1
        have_plain_weights = _has_plain_weights(conv) and _has_plain_weights(norm)
        if has_one_user and is_called_once and have_plain_weights:
            folded = fuse_conv_bn_eval(conv, norm)  # type: ignore[type-var, arg-type]
            traced.set_submodule(str(input_node.target), folded)
            # What used the normalised output now uses the folded convolution's.
            node.replace_all_uses_with(input_node)
            graph.erase_node(node)


def _has_batch_norm(model: nn.Module) -> bool:
    """Return whether a model holds a batch normalisation that could be folded."""
    return any(isinstance(module, nn.BatchNorm2d) for module in model.modules())


def _has_plain_weights(module: nn.Module) -> bool:
    """Return whether the weights of a module are stored numbers.

    Under spectral_norm, for one, they are computed anew for each answer.
    """
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
    """Return the model; its traced parts raise their errors without printing them.

    torch.fx prints an error of a traced module to stderr before it raises it. A model
    that fails may answer when it is called in another way; where it does not, the error
    that is raised says the same.

    Example:
        >>> traced = silent(fx.symbolic_trace(nn.Linear(4, 2)))
        >>> traced(torch.zeros(1, 3))
        Traceback (most recent call last):
        ...
        RuntimeError: mat1 and mat2 shapes cannot be multiplied (1x3 and 4x2)
    """
    for module in model.modules():
        # torch.fx makes a class for each traced module, whose `__call__` prints. Without
        # it, that of `nn.Module` is called, which does not.
        own_class = type(module)
        if isinstance(module, fx.GraphModule) and "__call__" in vars(own_class):
            del own_class.__call__
    return model


def _hooked(module: nn.Module) -> bool:
    """Return whether something is called before or after the module's forward."""
    # torch has no public way to ask.
    return bool(module._forward_hooks or module._forward_pre_hooks)  # noqa: SLF001
