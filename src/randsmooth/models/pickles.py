"""What a pickle of torch's would make, counted without making any of it.

`torch.load(..., weights_only=True)` calls no code of a stranger, but some of what it does call makes gigabytes of a
few bytes: `bytearray(10**10)`, or a tensor that is larger than its storage.
"""

from __future__ import annotations

import math
import pickletools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import IO, Any, NamedTuple

import torch

from randsmooth.documents import shown
from randsmooth.errors import Problem, WrongFile

MOST_STEPS = 2**22  # instructions of a pickle
MOST_ODD_KEYS = 1_000  # keys whose hashes a stranger can choose, so that all of them are compared with each other
MOST_SHARING = 8  # how often all the bytes of a file may be used by its tensors
SMALL = 2**16  # bytes of a file that may be used more often
HASHED_AS_IT_IS = 2**60  # smaller whole numbers have hashes of their own

STORAGES = {
    **{
        "Double": 8,
        "Float": 4,
        "Half": 2,
        "BFloat16": 2,
        "ComplexDouble": 16,
        "ComplexFloat": 8,
    },
    **{"Long": 8, "Int": 4, "Short": 2, "Char": 1, "Byte": 1, "Bool": 1},
}
# Bytes of an element, by the name of a storage or type.
WIDTHS = {f"torch.{name}Storage": width for name, width in STORAGES.items()}
WIDTHS["torch.storage.UntypedStorage"] = 1
TYPES = {
    str(kind): kind.itemsize
    for name in dir(torch)
    if isinstance(kind := getattr(torch, name), torch.dtype)
}

BROKEN = (
    ValueError,
    TypeError,
    KeyError,
    IndexError,
    AttributeError,
    EOFError,
    OverflowError,
    RecursionError,
)


class Damaged(WrongFile):
    """What is no pickle."""


class Name(NamedTuple):
    """A class or function, which is not imported."""

    full: str


class Storage(NamedTuple):
    """Memory for so many elements."""

    elements: int
    width: int


@dataclass
class Container:
    """A list, dictionary or set, of which only the number of parts is known; of `odd` ones the hash can be chosen."""

    kind: str
    parts: int = 0
    odd: int = 0

    def add(self, part: object) -> None:
        """Count an element, or a key."""
        self.parts += 1
        plain = isinstance(part, str | bytes | bool | None) or (
            isinstance(part, int) and abs(part) < HASHED_AS_IT_IS
        )
        self.odd += not plain
        if self.odd > MOST_ODD_KEYS and self.kind != "list":
            raise WrongFile(
                f"a {self.kind} has more than {MOST_ODD_KEYS:,} keys that are no texts or numbers"
            )


class Tensor(NamedTuple):
    """A tensor, of which nothing is asked."""


OTHER = Tensor()


class Rehearsal:
    """The instructions of a pickle, done with stand-ins.

    Args:
        size: bytes of the whole file.
        records: the size of each record of tensors by its name; None where they follow the pickle one after the other.

    Attributes:
        storages: the storages that it asks for, by their keys; parts of others among them.
        roots: the keys of those that are no parts.
    """

    def __init__(self, size: int, records: Mapping[str, int] | None = None) -> None:
        self.size, self.records = size, records
        self.storages = dict[str, Storage]()
        self.roots = set[str]()
        self.made = 0  # bytes and parts that calls make
        self.used = 0  # bytes of the file that tensors use

    def run(self, file: IO[bytes]) -> Any:
        """The stand-in for what the next pickle in `file` makes.

        Raises:
            Problem: it asks for code, for more than the file has, or it is damaged.
        """
        self.stack: list[Any] = []
        self.marks: list[list[Any]] = []
        self.memo: dict[int, Any] = {}
        try:
            for step, (operation, argument, _) in enumerate(pickletools.genops(file)):
                if step >= MOST_STEPS:
                    raise WrongFile(
                        f"its pickle has more than {MOST_STEPS:,} instructions"
                    )
                self._do(operation.name, argument)
            return self.stack.pop()
        except Problem:
            raise
        except BROKEN as error:
            raise Damaged(
                f"its pickle is damaged ({shown(error) or type(error).__name__})"
            ) from error

    def _do(self, name: str, argument: Any) -> None:
        if name in VALUES:
            self.stack.append(argument)
        elif name in CONSTANTS:
            self.stack.append(CONSTANTS[name])
        elif name in CONTAINERS:
            self.stack.append(Container(CONTAINERS[name]))
        elif name in ("BINGET", "LONG_BINGET"):
            self.stack.append(self.memo[argument])
        elif name in ("BINPUT", "LONG_BINPUT"):
            self.memo[argument] = self.stack[-1]
        elif name in STEPS:
            STEPS[name](self, argument)
        elif name not in ("PROTO", "STOP"):
            raise WrongFile(
                f"its pickle has the instruction {name}, which torch does not read"
            )

    def push_mark(self, _: Any) -> None:
        self.marks.append(self.stack)
        self.stack = []

    def _since_mark(self) -> list[Any]:
        parts = self.stack
        self.stack = self.marks.pop()
        return parts

    def make_tuple(self, _: Any) -> None:
        parts = self._since_mark()
        self.stack.append(tuple(parts))

    def make_short_tuple(self, length: int) -> None:
        self.stack[-length:] = [tuple(self.stack[-length:])]

    def append(self, _: Any) -> None:
        part = self.stack.pop()
        self._container("list").add(part)

    def append_all(self, _: Any) -> None:
        parts = self._since_mark()
        container = self._container("list")
        for part in parts:
            container.add(part)

    def set_item(self, _: Any) -> None:
        self.stack.pop()
        key = self.stack.pop()
        self._container("dictionary").add(key)

    def set_items(self, _: Any) -> None:
        parts = self._since_mark()
        container = self._container("dictionary")
        for key in parts[::2]:
            container.add(key)

    def _container(self, kind: str) -> Container:
        container = self.stack[-1]
        if not isinstance(container, Container) or container.kind != kind:
            raise ValueError(f"no {kind} where one is filled")
        return container

    def push_name(self, argument: str) -> None:
        module, _, name = argument.partition(" ")
        full = f"{module.replace('__builtin__', 'builtins')}.{name}"
        if full not in WIDTHS and full not in TYPES and full not in CALLS:
            why = (
                "and only plain tensors are read"
                if full.startswith(REBUILDS)
                else "which is code"
            )
            raise WrongFile(f"it asks for {shown(full)}, {why}")
        self.stack.append(Name(full))

    def call(self, _: Any) -> None:
        arguments, called = self.stack.pop(), self.stack.pop()
        if (
            not isinstance(called, Name)
            or called.full not in CALLS
            or not isinstance(arguments, tuple)
        ):
            raise WrongFile(
                f"it calls {shown(getattr(called, 'full', called))}, which is not called here"
            )
        self.stack.append(CALLS[called.full](self, *arguments))

    def set_state(self, _: Any) -> None:
        self.stack.pop()
        self._container(
            "dictionary"
        )  # torch gives an OrderedDict attributes, such as _metadata

    def push_storage(self, _: Any) -> None:
        """The storage that a persistent id names: ("storage", type, key, device, elements), and old files' views."""
        word, kind, key, _, elements, *views = self.stack.pop()
        view = views[0] if views else None
        if text(word) != "storage" or not isinstance(elements, int) or elements < 0:
            raise ValueError("it names no storage")
        storage = Storage(elements, WIDTHS[kind.full])
        key = text(key)
        size = storage.elements * storage.width
        if size > self.size or (
            self.records is not None and self.records.get(key) != size
        ):
            raise WrongFile(
                f"the storage {shown(repr(key))} is not as large as its record"
            )
        self._check_known(key, storage)
        self.roots.add(key)
        if view is not None:
            part, offset, length = view
            if not 0 <= offset <= offset + length <= elements:
                raise WrongFile(
                    f"a part of the storage {shown(repr(key))} lies outside of it"
                )
            storage = Storage(length, storage.width)
            self._check_known(text(part), storage)
        self.stack.append(storage)

    def _check_known(self, key: str, storage: Storage) -> None:
        """Raise Problem where another storage had this key before: torch takes the first one."""
        if self.storages.setdefault(key, storage) != storage:
            raise WrongFile(f"the storage {shown(repr(key))} has two sizes")

    # --- what may be called -----------------------------------------------------------------------------------------

    def _copy(self, size: int) -> None:
        self.made += size
        if self.made > self.size + SMALL:
            raise WrongFile("what its calls make is larger than the file")

    def make_collection(self, kind: str, parts: Any = None) -> Container:
        """A dictionary or a set of the parts of a list or of another one."""
        made = Container(kind)
        if parts is not None:
            if not isinstance(parts, Container):
                raise ValueError(f"a {kind} of no parts")
            self._copy(parts.parts)
            made.parts, made.odd = parts.parts - 1, parts.odd
            made.add("")
        return made

    def make_bytes(self, plain: Any = "", coding: Any = "latin1") -> bytes:
        """Bytes, which protocol 2 writes as a text."""
        if not isinstance(plain, str | bytes) or coding not in ("latin1", "latin-1"):
            raise WrongFile(
                "it asks for bytes of a number, or in another encoding than latin1"
            )
        self._copy(len(plain))
        return b""

    def make_complex(self, *parts: Any) -> complex:
        if not all(isinstance(part, int | float) for part in parts):
            raise ValueError("no complex number")
        return 0j

    def make_size(self, sides: Any) -> Any:
        if not isinstance(sides, tuple):
            raise ValueError("no size of a tensor")
        return sides

    def make_device(self, *_: Any) -> Tensor:
        return OTHER

    def make_view(
        self, storage: Storage, offset: Any, sides: Any, strides: Any, *_: Any
    ) -> Tensor:
        return self._typed_view(storage, offset, sides, strides, storage.width)

    def make_view_of_type(
        self,
        storage: Storage,
        offset: Any,
        sides: Any,
        strides: Any,
        grad: Any,
        hooks: Any,
        kind: Any,
        *_: Any,
    ) -> Tensor:
        return self._typed_view(storage, offset, sides, strides, TYPES[kind.full])

    def _typed_view(
        self, storage: Storage, offset: Any, sides: Any, strides: Any, width: int
    ) -> Tensor:
        """A tensor. torch would make its storage larger where it reaches beyond."""
        numbers = [offset, *sides, *strides]
        if len(sides) != len(strides) or not all(
            isinstance(each, int) and each >= 0 for each in numbers
        ):
            raise ValueError("a tensor has no shape")
        elements = math.prod(sides)
        last = offset + sum(
            (side - 1) * stride for side, stride in zip(sides, strides, strict=True)
        )
        if elements and (last + 1) * width > storage.elements * storage.width:
            raise WrongFile(
                f"a tensor of shape {shown(sides)} that is not stored whole"
            )
        self._use(elements * width, sides)
        return OTHER

    def _use(self, size: int, sides: Any) -> None:
        self.used += size
        if self.used > MOST_SHARING * self.size + SMALL:
            raise WrongFile(
                f"a tensor of shape {shown(sides)} that is not stored whole, or is stored for many"
            )

    def make_parameter(self, tensor: Any, *_: Any) -> Tensor:
        if not isinstance(tensor, Tensor):
            raise ValueError("a parameter is no tensor")
        return tensor


def text(value: str | bytes) -> str:
    """Python 2 wrote bytes."""
    return value.decode("ascii") if isinstance(value, bytes) else value


REBUILDS = (
    "torch._utils.",
    "torch._tensor.",
    "torch.Tensor",
)  # what torch has called for other tensors
VALUES = (
    "BININT",
    "BININT1",
    "BININT2",
    "BINFLOAT",
    "BINUNICODE",
    "SHORT_BINSTRING",
    "LONG1",
)
CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False, "EMPTY_TUPLE": ()}
CONTAINERS = {"EMPTY_LIST": "list", "EMPTY_DICT": "dictionary", "EMPTY_SET": "set"}
STEPS: dict[str, Callable[[Rehearsal, Any], None]] = {
    "MARK": Rehearsal.push_mark,
    "TUPLE": Rehearsal.make_tuple,
    "TUPLE1": lambda self, _: self.make_short_tuple(1),
    "TUPLE2": lambda self, _: self.make_short_tuple(2),
    "TUPLE3": lambda self, _: self.make_short_tuple(3),
    "APPEND": Rehearsal.append,
    "APPENDS": Rehearsal.append_all,
    "SETITEM": Rehearsal.set_item,
    "SETITEMS": Rehearsal.set_items,
    "GLOBAL": Rehearsal.push_name,
    "REDUCE": Rehearsal.call,
    "BUILD": Rehearsal.set_state,
    "BINPERSID": Rehearsal.push_storage,
}
CALLS: dict[str, Callable[..., Any]] = {
    "collections.OrderedDict": lambda self, *parts: self.make_collection(
        "dictionary", *parts
    ),
    "collections.Counter": lambda self, *parts: self.make_collection(
        "dictionary", *parts
    ),
    "builtins.set": lambda self, *parts: self.make_collection("set", *parts),
    "builtins.bytearray": Rehearsal.make_bytes,
    "_codecs.encode": Rehearsal.make_bytes,
    "builtins.complex": Rehearsal.make_complex,
    "torch.Size": Rehearsal.make_size,
    "torch.device": Rehearsal.make_device,
    "torch._utils._rebuild_tensor": Rehearsal.make_view,
    "torch._utils._rebuild_tensor_v2": Rehearsal.make_view,
    "torch._utils._rebuild_tensor_v3": Rehearsal.make_view_of_type,
    "torch._utils._rebuild_parameter": Rehearsal.make_parameter,
}
