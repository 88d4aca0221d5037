"""The identity of a base classifier: a hash of everything in it that can change an answer."""

from __future__ import annotations

from typing import Any

import torch
from torch import fx, nn
from torch.utils._pytree import TreeSpec

from randsmooth.errors import InputError
from randsmooth.models.adapters.foreign_model import ForeignModel, NoIdentity
from randsmooth.models.around import Around
from randsmooth.models.canonical import Reader, Unreadable, digest, plain_names
from randsmooth.models.weights import weights_hash

LONGEST = 200  # characters of a name that a user gives
HOOKS = ("_forward_pre_hooks", "_forward_hooks")  # these may change a module's input or output
# What every module holds: its parts are read one by one, and the rest changes no answer in eval mode.
COMPILED = {"_compiled_call_impl", "_is_torch_compile", "_compile_kwargs"}  # the last is Lightning's
HOUSEKEEPING = {*vars(nn.Module()), *COMPILED}
OF_A_GRAPH = set(vars(fx.GraphModule(nn.Module(), fx.Graph()))) - HOUSEKEEPING
WAY_ON = (
    'give it a name that no other model of yours has: identity="forest of 3 May", in `randsmooth.certify` '
    "and wherever its certificates are used (--identity on the command line)"
)


def identity_of(model: nn.Module | ForeignModel, identity: str | None = None) -> str:
    """A hash that equal models share on any device, in any memory format, compiled or not, and in any process.

    For a module, these are hashed: parameters, buffers (saved or not), packed parameters of quantised layers, the
    names, order and classes of its modules, and their attributes: numbers, text, tensors, arrays, containers and plain
    objects of them, TorchScript's code and constants. Python code is hashed only by the names of classes and functions.
    For an ONNX file or an OpenVINO IR, its bytes are hashed, and those of the files that hold its weights; of a
    scikit-learn estimator, what it would be pickled as.

    Args:
        model: the base classifier, as `adapt` makes it.
        identity: a name for a model that does not hold everything that decides its answers, such as one that asks
            scikit-learn or a server. The hash is then of this name and of `weights_hash`, and of whatever can be read
            of the steps, members and denoisers that `wrap`, `Ensemble` and `Denoised` put around it.

    Returns:
        "sha256:" and 64 hexadecimal digits.

    Raises:
        InputError: no `identity` is given, and the model has no weights or holds something that cannot be read; or
            `identity` is empty or longer than 200 characters.

    Example:
        >>> model = nn.Linear(2, 2)
        >>> before = identity_of(model)
        >>> before == identity_of(model.to(memory_format=torch.channels_last))
        True
        >>> with torch.no_grad():
        ...     _ = model.bias.add_(1.0)
        >>> before == identity_of(model)
        False
    """
    if identity is None and isinstance(model, ForeignModel):
        identity = model.called
    if identity is not None:
        return _shown(digest("called", _checked(identity), weights_hash(model), *_around(model)))
    if isinstance(model, ForeignModel):
        try:
            return model.identity()
        except NoIdentity as error:
            raise InputError(f"{error}, so two models could not be told apart: {WAY_ON}") from None
    reader = ModelReader()
    try:
        hashed = _whole(model, reader)
    except (Unreadable, NoIdentity) as error:
        raise InputError(f"{error}, so two models could not be told apart: {WAY_ON}") from None
    if not reader.numbers:
        kind = type(model).__qualname__
        raise InputError(f"the model ({kind}) holds no weights that it could be known by: {WAY_ON}")
    return _shown(hashed)


def unwrapped(module: nn.Module) -> nn.Module:
    """The module itself, where `torch.compile` has wrapped it.

    Example:
        >>> model = nn.Linear(2, 2)
        >>> unwrapped(torch.compile(model)) is model
        True
    """
    while type(module).__name__ == "OptimizedModule":  # importing the type to compare with takes a second
        module = module.get_submodule("_orig_mod")
    return module


class ModelReader(Reader):
    """Reads modules, at the top or wherever a value holds one."""

    def __init__(self) -> None:
        super().__init__()
        self._known: dict[nn.Module, bytes] = {}  # one module may be in many places

    def other(self, value: Any, where: str) -> bytes:
        if isinstance(value, TreeSpec):  # how an exported graph takes its inputs
            return digest("tree", repr(value))
        if isinstance(value, ForeignModel):  # a part of a module
            self.numbers += 1
            return digest("foreign", value.called or "", value.identity())
        if not isinstance(value, nn.Module):
            return super().other(value, where)
        module = unwrapped(value)
        if module not in self._known:
            self._known[module] = self._module(module, where)
        return self._known[module]

    def _module(self, module: nn.Module, where: str) -> bytes:
        scripted = isinstance(module, torch.jit.ScriptModule)
        tensors = {**dict(module.named_parameters(recurse=False)), **dict(module.named_buffers(recurse=False))}
        return digest(
            "module",
            str(module.original_name) if scripted else type(module).__qualname__,
            self.named(tensors, where),
            self._script(module, where) if scripted else self._attributes(module, where),
            *(self.each(getattr(module, hooks).values(), f"{where}.{hooks}") for hooks in HOOKS),
            *self._children(module, where),
        )

    def _children(self, module: nn.Module, where: str) -> list[str | bytes]:
        """Names and modules in their order, which `nn.Sequential` calls them in; a module may be None."""
        children = module.named_children() if isinstance(module, torch.jit.ScriptModule) else module._modules.items()
        return [part for name, child in children for part in (name, self.read(child, f"{where}.{name}"))]

    def _attributes(self, module: nn.Module, where: str) -> bytes:
        graph = isinstance(module, fx.GraphModule)
        left_out = HOUSEKEEPING | OF_A_GRAPH if graph else HOUSEKEEPING
        held = {name: value for name, value in vars(module).items() if name not in left_out}
        if type(module).get_extra_state is not nn.Module.get_extra_state:
            held["extra state"] = module.get_extra_state()
        return digest("graph", str(module.code), self.named(held, where)) if graph else self.named(held, where)

    def _script(self, module: Any, where: str) -> bytes:
        inside = module._c
        kind: Any = torch._C.ConcreteModuleType.from_jit_type(inside._type())
        names = set(kind.get_attributes()) - HOUSEKEEPING
        held = {name: inside.getattr(name) for name in names} | dict(kind.get_constants())
        parts: list[str | bytes] = []
        for name in sorted(inside._method_names()):
            code, constants = inside._get_method(name).code_with_constants
            parts += [name, plain_names(code), self.named(constants, f"{where}.{name}")]
        return digest("script", self.named(held, where), *parts)


class LenientReader(ModelReader):
    """Reads a model that its user has named: where a part does not say what it holds, only of what class it is."""

    def read(self, value: object, where: str) -> bytes:
        try:
            return super().read(value, where)
        except (Unreadable, NoIdentity):
            return digest("unread", type(value).__qualname__)


def _around(model: nn.Module | ForeignModel) -> list[bytes]:
    """What modules of ours put around the parts that a name stands for; nothing of a model without such modules."""
    modules = model.modules() if isinstance(model, nn.Module) else ()
    return [_whole(model, LenientReader())] if any(isinstance(module, Around) for module in modules) else []


def _whole(model: object, reader: ModelReader) -> bytes:
    try:
        return reader.read(model, "the model")
    except RecursionError:
        raise InputError(f"the model holds lists or objects nested too deep to be read: {WAY_ON}") from None


def _checked(identity: object) -> str:
    if not isinstance(identity, str) or not identity.strip() or len(identity) > LONGEST:
        raise InputError(f"identity={identity!r:.{LONGEST}} must be some words, at most {LONGEST} characters")
    return identity


def _shown(hashed: bytes) -> str:
    return f"sha256:{hashed.hex()}"
