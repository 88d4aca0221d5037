"""Any value as 32 bytes that are the same in every process: no memory address, set order or device enters them."""

from __future__ import annotations

import functools
import hashlib
import logging
import re
import types
import weakref
from collections import deque
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils._python_dispatch import is_traceable_wrapper_subclass

from randsmooth.errors import InputError

WORDS = (type(None), bool, int, float, complex, str, bytes, range, type(...))  # their repr says everything
OF_TORCH = (torch.dtype, torch.memory_format, torch.layout, torch.qscheme)
WITHOUT_ANSWER = (torch.device, logging.Logger)  # these change no answer
# Names under which Hugging Face's classes keep where a model came from.
ORIGINS = {
    "_hub_mixin_config",
    "_hub_mixin_info",
    "_name_or_path",
    "name_or_path",
    "transformers_version",
    "_commit_hash",
}
MOST_BYTES = 2**36  # of an array; a broadcast one may claim far more than it holds
MANGLED = re.compile(r"\.___torch_mangle_\d+")
# A class that defines one of these methods may hold more than its attributes.
OWN = ("__reduce__", "__reduce_ex__", "__getstate__")


class Unreadable(InputError):
    """A value whose content cannot be read: an estimator, a connection, an object of a compiled library."""

    def __init__(self, value: object, where: str) -> None:
        kind = type(value)
        super().__init__(f"{where} is a {kind.__module__}.{kind.__qualname__}, which does not say all that it holds")


class Reader:
    """Reads values: numbers, text, tensors, arrays, containers, functions, and objects that hold nothing else.

    Functions and classes enter by their names. Lambdas and functions defined in functions, whose names say little,
    enter by their bytecode, constants and the variables that they enclose.

    Attributes:
        numbers: how many elements of tensors and arrays were read so far.
    """

    def __init__(self) -> None:
        self.numbers = 0
        self._within: dict[int, int] = {}  # what is being read -> its depth, for values that contain themselves

    def read(self, value: object, where: str) -> bytes:
        """32 bytes that are equal for equal values; `where` names the value in an error.

        Raises:
            Unreadable: the value, or something that it holds, is of a kind that cannot be read.
        """
        if type(value) is int:
            return digest("int", hex(value))  # of any length; decimal digits are limited
        if type(value) in WORDS:
            return digest(type(value).__name__, repr(value))
        if isinstance(value, OF_TORCH):
            return digest("torch", str(value))
        if isinstance(value, WITHOUT_ANSWER):
            return digest("no matter")
        if id(value) in self._within:
            return digest("itself", str(self._within[id(value)]))
        self._within[id(value)] = len(self._within)
        try:
            return self._held(value, where)
        finally:
            del self._within[id(value)]

    def named(self, values: Mapping[str, Any], where: str) -> bytes:
        """Attributes in any order, without those that say where a model came from."""
        names = sorted(name for name in values if name not in ORIGINS)
        return digest("named", *(part for name in names for part in (name, self.read(values[name], f"{where}.{name}"))))

    def each(self, values: Iterable[object], where: str) -> bytes:
        """Values in their order."""
        return digest("each", *(self.read(value, f"{where}[{i}]") for i, value in enumerate(values)))

    def other(self, value: Any, where: str) -> bytes:
        """A value of no other kind: an object that consists of its attributes."""
        kind = type(value)
        if isinstance(value, types.SimpleNamespace):
            return digest("object", kind.__qualname__, self.named(vars(value), where))
        if any(getattr(kind, name, None) is not getattr(object, name, None) for name in OWN):
            raise Unreadable(value, where)
        try:
            _, (_, *given), state, *_ = value.__reduce_ex__(4)  # of `object`: no pickle is made or loaded
        except TypeError:  # of a compiled library
            raise Unreadable(value, where) from None
        attributes, slots = state if isinstance(state, tuple) else (state, None)
        held = {**(attributes or {}), **(slots or {})}
        return digest("object", kind.__qualname__, self.each(given, where), self.named(held, where))

    def _held(self, value: Any, where: str) -> bytes:
        if isinstance(value, Tensor):
            return self._tensor(value, where)
        if isinstance(value, np.ndarray | np.generic):
            return self._array(value, where)
        if isinstance(value, Enum):
            return digest("enum", type(value).__qualname__, value.name)
        if isinstance(value, torch.ScriptObject):
            return digest("packed", str(value._type().qualified_name()), self.read(_state(value, where), where))
        if isinstance(value, dict | list | tuple | set | frozenset | deque | types.MappingProxyType):
            return self._container(value, where)
        if callable(value) and (part := self._called(value, where)) is not None:
            return part
        if isinstance(value, weakref.ref):
            return self.read(value(), where)
        if isinstance(value, slice):
            return self.each((value.start, value.stop, value.step), where)
        return self.other(value, where)

    def _container(self, value: Any, where: str) -> bytes:
        kind = type(value).__qualname__
        if isinstance(value, dict | types.MappingProxyType):
            parts = [self.read(getattr(value, "default_factory", None), where)]
            parts += [self.read(one, f"{where}[{key!r}]") for key, inner in value.items() for one in (key, inner)]
        elif isinstance(value, set | frozenset):
            parts = sorted(self.read(one, where) for one in value)
        else:
            parts = [self.each(value, where)]
        return digest("container", kind, *parts, self.named(getattr(value, "__dict__", {}), where))

    def _called(self, value: Any, where: str) -> bytes | None:
        """Something callable, by its name if it has one; None for an object with a `__call__`."""
        if isinstance(value, functools.partial):
            return digest("partial", self.each((value.func, value.args, value.keywords), where))
        if isinstance(value, types.MethodType):
            return digest("method", value.__func__.__qualname__, self.read(value.__self__, where))
        if isinstance(value, types.FunctionType):
            return self._function(value, where) if "<" in value.__qualname__ else digest("function", value.__qualname__)
        if isinstance(value, torch.jit.ScriptFunction):
            return digest("script", plain_names(str(value.code)))
        if isinstance(value, torch._ops.OpOverload | torch._ops.OpOverloadPacket | np.ufunc):
            return digest("operator", str(value))
        if isinstance(value, types.BuiltinFunctionType | types.BuiltinMethodType):
            own = value.__self__
            holder = None if own is None or isinstance(own, type | types.ModuleType) else own
            return digest("function", value.__qualname__, self.read(holder, where))
        return digest("class", value.__qualname__) if isinstance(value, type) else None

    def _function(self, value: types.FunctionType, where: str) -> bytes:
        cells = [_content(cell) for cell in value.__closure__ or ()]
        held = (value.__defaults__, value.__kwdefaults__, cells)
        return digest("code", self._code(value.__code__, where), self.each(held, where))

    def _code(self, code: types.CodeType, where: str) -> bytes:
        constants = [
            self._code(one, where) if isinstance(one, types.CodeType) else self.read(one, where)
            for one in code.co_consts
        ]
        return digest("code", code.co_code, *code.co_names, *constants)

    def _array(self, value: np.ndarray | np.generic, where: str) -> bytes:
        if isinstance(value, np.ma.MaskedArray):
            return digest("masked", self.each((value.data, np.ma.getmaskarray(value), value.fill_value), where))
        array = np.asarray(value)
        if array.nbytes > MOST_BYTES:
            raise Unreadable(value, where)
        self.numbers += array.size
        if array.dtype.hasobject:
            return digest("array", str(array.shape), self.each(array.reshape(-1).tolist(), where))
        return digest("array", array.dtype.str, str(array.shape), array.tobytes())

    def _tensor(self, value: Tensor, where: str) -> bytes:
        if value.is_meta or torch.nn.parameter.is_lazy(value):
            raise InputError(f"{where} is a tensor without numbers (meta or lazy): load or initialise it first")
        if _wraps(value):
            return self._wrapper(value, where)
        self.numbers += value.numel()
        if value.is_quantized:
            return digest("quantised", self.each(_quantised(value), where))
        if value.layout == torch.sparse_coo:
            whole = value.detach().coalesce()
            return digest("sparse", str(tuple(value.shape)), self.each((whole.indices(), whole.values()), where))
        if value.layout != torch.strided:
            raise Unreadable(value, where)
        return digest("tensor", str(value.dtype), str(tuple(value.shape)), raw(value))

    def _wrapper(self, value: Any, where: str) -> bytes:
        """A tensor that wraps several others, as the quantised weights of some libraries do."""
        names, context = value.__tensor_flatten__()
        inner = {name: getattr(value, name) for name in names}
        return digest("tensor", type(value).__qualname__, self.named(inner, where), self.read(context, where))


def digest(kind: str, *parts: str | bytes | memoryview) -> bytes:
    """SHA-256 over the parts, each with its length, so that no two lists of parts give the same bytes."""
    hashed = hashlib.sha256()
    for part in (kind, *parts):
        content = part.encode(errors="surrogatepass") if isinstance(part, str) else part
        hashed.update(len(content).to_bytes(8, "little"))
        hashed.update(content)
    return hashed.digest()


def raw(tensor: Tensor) -> memoryview:
    """The bytes in logical (row-major) order, whatever the strides and the device are."""
    plain = tensor.detach().as_subclass(Tensor).cpu().resolve_conj().resolve_neg()
    numbers: Any = plain.reshape(-1).view(torch.uint8).numpy()
    return memoryview(numbers)


def plain_names(code: str) -> str:
    """TorchScript code without the numbers that it adds to names that occur twice in one process."""
    return MANGLED.sub("", code)


def _wraps(value: object) -> bool:
    return is_traceable_wrapper_subclass(value)


def _content(cell: types.CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:  # not set yet
        return None


def _state(value: Any, where: str) -> object:
    """The state with which torch would save a packed object."""
    try:
        return value.__getstate__()
    except RuntimeError:  # of a class that was never meant to be stored
        raise Unreadable(value, where) from None


def _quantised(value: Tensor) -> list[object]:
    whole = [str(value.dtype), str(value.qscheme()), value.int_repr()]
    if value.qscheme() in (torch.per_tensor_affine, torch.per_tensor_symmetric):
        return [*whole, value.q_scale(), value.q_zero_point()]
    axis = value.q_per_channel_axis()
    return [*whole, value.q_per_channel_scales(), value.q_per_channel_zero_points(), axis]
