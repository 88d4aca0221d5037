"""What the calls in a pickle of torch's would make: stand-ins, and their sizes.

Nothing is imported or called. A call is refused that would make more than the file has.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch

from randsmooth.documents import shown
from randsmooth.errors import WrongFile

# The most "odd" keys of a container: keys whose hashes a stranger can choose. If all have
# one hash, Python compares each with all others, which takes hours for a million.
MOST_ODD_KEYS = 1_000
# Whole numbers below this one have different hashes.
HASHED_AS_IT_IS = 2**60

# The tensors of a file may use its bytes MOST_SHARING times, and SMALL bytes beyond
# that.
MOST_SHARING = 8
SMALL = 2**16

# Bytes of an element, by the name of a storage.
WIDTHS = {
    "torch.DoubleStorage": 8,
    "torch.FloatStorage": 4,
    "torch.HalfStorage": 2,
    "torch.BFloat16Storage": 2,
    "torch.ComplexDoubleStorage": 16,
    "torch.ComplexFloatStorage": 8,
    "torch.LongStorage": 8,
    "torch.IntStorage": 4,
    "torch.ShortStorage": 2,
    "torch.CharStorage": 1,
    "torch.ByteStorage": 1,
    "torch.BoolStorage": 1,
    "torch.storage.UntypedStorage": 1,
}
# The same by the name of a type, as "torch.float32".
TYPES = {
    str(value): value.itemsize
    for value in vars(torch).values()
    if isinstance(value, torch.dtype)
}

# The beginnings of names of functions by which torch makes tensors of other kinds, such as
# sparse ones.
REBUILDS = ("torch._utils.", "torch._tensor.", "torch.Tensor")


class Name(NamedTuple):
    """A class or function, which is not imported."""

    full: str


class Storage(NamedTuple):
    """Memory for so many elements, each of `width` bytes."""

    elements: int
    width: int


class TensorStandIn(NamedTuple):
    """A tensor, whatever its shape: no later call needs to know it."""


TENSOR = TensorStandIn()


@dataclass
class Container:
    """A list, dictionary or set, of whose parts only the number is kept.

    Attributes:
        kind: "list", "dictionary" or "set".
        parts: the number of its elements, or keys.
        odd: how many of these are odd: a stranger may have chosen their hashes.
    """

    kind: str
    parts: int = 0
    odd: int = 0

    def add(self, part: object) -> None:
        """Count an element, or a key."""
        self.parts += 1
        if not _has_own_hash(part):
            self.odd += 1
        if self.odd > MOST_ODD_KEYS and self.kind != "list":
            raise WrongFile(
                f"a {self.kind} has more than {MOST_ODD_KEYS:,} keys that are "
                "neither texts nor numbers"
            )


def _has_own_hash(part: object) -> bool:
    """Return whether different parts of this kind nearly always have different hashes."""
    # Python mixes a secret into the hash of a text. That of a small number is the number.
    if isinstance(part, int):
        return abs(part) < HASHED_AS_IT_IS
    return isinstance(part, str | bytes | None)


class Calls:
    """What the calls of the pickles in one file would make, and how much of it.

    Args:
        size: bytes of the whole file.

    Attributes:
        made: how many bytes and parts of containers the calls so far would make.
        used: how many bytes the tensors so far use; a byte that two of them share is
            counted twice.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.made = 0
        self.used = 0
        self._functions: dict[str, Callable[..., Any]] = {
            "collections.OrderedDict": self._dictionary,
            "collections.Counter": self._dictionary,
            "builtins.set": self._set,
            "builtins.bytearray": self._bytes,
            "_codecs.encode": self._bytes,
            "builtins.complex": self._complex,
            "torch.Size": self._torch_size,
            "torch.device": self._device,
            "torch._utils._rebuild_tensor": self._view,
            "torch._utils._rebuild_tensor_v2": self._view,
            "torch._utils._rebuild_tensor_v3": self._view_of_type,
            "torch._utils._rebuild_parameter": self._parameter,
        }

    def check_name(self, full: str) -> Name:
        """Return the stand-in for a class or function.

        Args:
            full: its module and name.

        Raises:
            WrongFile: files of plain tensors do not need it.
        """
        if full in WIDTHS or full in TYPES or full in self._functions:
            return Name(full)
        reason = "which is code"
        if full.startswith(REBUILDS):
            reason = "and only plain tensors are read"
        raise WrongFile(f"it asks for {shown(full)}, {reason}")

    def call(self, called: Any, arguments: Any) -> Any:
        """Return the stand-in for what a call makes.

        Args:
            called: the stand-in for a class or function.
            arguments: the stand-ins for its arguments, in a tuple.

        Raises:
            WrongFile: it would make too much, or the function is not known.
        """
        # Types and storages have names too, but only functions are called.
        known = isinstance(called, Name) and called.full in self._functions
        if not known or not isinstance(arguments, tuple):
            name = getattr(called, "full", called)
            raise WrongFile(f"it calls {shown(name)}, which is not called here")
        return self._functions[called.full](*arguments)

    def _count_made(self, size: int) -> None:
        """Count the bytes or parts that a call makes.

        Raises:
            WrongFile: all calls together make more than the file has bytes.
        """
        self.made += size
        if self.made > self.size + SMALL:
            raise WrongFile("its calls make more than the file holds")

    def _dictionary(self, parts: Any = None) -> Container:
        return self._collection("dictionary", parts)

    def _set(self, parts: Any = None) -> Container:
        return self._collection("set", parts)

    def _collection(self, kind: str, parts: Any) -> Container:
        """Return a dictionary or a set of the parts of a container."""
        collection = Container(kind)
        if parts is None:
            return collection
        if not isinstance(parts, Container):
            raise ValueError(f"a {kind} of no parts")

        self._count_made(parts.parts)
        collection.parts = parts.parts - 1
        collection.odd = parts.odd
        # The last part is added by itself, as a text, since `add` checks how many parts
        # are odd.
        collection.add("")
        return collection

    def _bytes(self, plain: Any = "", coding: Any = "latin1") -> bytes:
        """Return the stand-in for bytes, which protocol 2 of pickle writes as a text."""
        # `bytearray(10**10)`, of a number, would make so many zeros.
        if not isinstance(plain, str | bytes) or coding not in ("latin1", "latin-1"):
            raise WrongFile(
                "it asks for bytes of a number, or in another encoding than latin1"
            )
        self._count_made(len(plain))
        return b""

    def _complex(self, *parts: Any) -> complex:
        if not all(isinstance(part, int | float) for part in parts):
            raise ValueError("no complex number")
        return 0j

    def _torch_size(self, sides: Any) -> Any:
        if not isinstance(sides, tuple):
            raise ValueError("no size of a tensor")
        return sides

    def _device(self, *_: Any) -> TensorStandIn:
        return TENSOR

    def _view(
        self, storage: Storage, offset: Any, sides: Any, strides: Any, *_: Any
    ) -> TensorStandIn:
        """Return the stand-in for a tensor that has the type of its storage."""
        return self._tensor(storage, offset, sides, strides, storage.width)

    def _view_of_type(
        self,
        storage: Storage,
        offset: Any,
        sides: Any,
        strides: Any,
        requires_grad: Any,
        hooks: Any,
        dtype: Name,
        *_: Any,
    ) -> TensorStandIn:
        """Return the stand-in for a tensor that has another type than its storage.

        Arguments are those of torch's `_rebuild_tensor_v3`, in its order.
        """
        return self._tensor(storage, offset, sides, strides, TYPES[dtype.full])

    def _tensor(
        self,
        storage: Storage,
        offset: int,
        sides: Sequence[int],
        strides: Sequence[int],
        width: int,
    ) -> TensorStandIn:
        """Return the stand-in for a tensor, which must lie within its storage.

        torch would enlarge the storage of a tensor that reaches beyond it.

        Args:
            storage: the storage that holds the elements of the tensor.
            offset: the place of the first element in the storage.
            sides: the shape of the tensor.
            strides: for each side, the distance in the storage of two neighbours along it.
            width: bytes of an element.

        Raises:
            WrongFile: it does not, or the tensors so far use the bytes of the file too
                often.
        """
        numbers = [offset, *sides, *strides]
        are_whole = all(isinstance(number, int) and number >= 0 for number in numbers)
        if len(sides) != len(strides) or not are_whole:
            raise ValueError("a tensor has no shape")

        elements = math.prod(sides)
        pairs = zip(sides, strides, strict=True)
        last = offset + sum((side - 1) * stride for side, stride in pairs)
        # An empty tensor uses nothing of its storage.
        if elements and (last + 1) * width > storage.elements * storage.width:
            raise WrongFile(
                f"a tensor of shape {shown(sides)} that is not stored whole"
            )
        self.used += elements * width
        if self.used > MOST_SHARING * self.size + SMALL:
            raise WrongFile(
                f"a tensor of shape {shown(sides)} that is not stored whole, or is "
                "stored for many"
            )
        return TENSOR

    def _parameter(self, tensor: Any, *_: Any) -> TensorStandIn:
        """Return the stand-in for an `nn.Parameter`, which is that of its tensor."""
        if not isinstance(tensor, TensorStandIn):
            raise ValueError("a parameter is not a tensor")
        return tensor
