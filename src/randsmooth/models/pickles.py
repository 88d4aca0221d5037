"""What a pickle of torch's would make, counted without making any of it.

`torch.load(..., weights_only=True)` calls no code of a stranger, but some of what it
does call makes gigabytes of a few bytes: `bytearray(10**10)`, or a tensor that is
larger than its storage.
"""

from __future__ import annotations

import pickletools
from collections.abc import Callable, Mapping
from typing import IO, Any

from randsmooth.documents import shown
from randsmooth.errors import Problem, WrongFile
from randsmooth.models.pickle_calls import (
    WIDTHS,
    Calls,
    Container,
    Storage,
)

# The most instructions of a pickle.
MOST_INSTRUCTIONS = 2**22

# What a damaged pickle makes Python raise here.
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

# Instructions that do nothing here.
IGNORED = ("PROTO", "STOP")
# Those that push their argument.
PUSHING = (
    "BININT",
    "BININT1",
    "BININT2",
    "BINFLOAT",
    "BINUNICODE",
    "SHORT_BINSTRING",
    "LONG1",
)
# Those that push a constant, and those that push an empty container.
CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False, "EMPTY_TUPLE": ()}
CONTAINERS = {"EMPTY_LIST": "list", "EMPTY_DICT": "dictionary", "EMPTY_SET": "set"}


class Damaged(WrongFile):
    """What is no pickle."""


class Rehearsal:
    """The instructions of the pickles in a file, done with stand-ins.

    A pickle is a program for a machine with a stack: it pushes values, marks a place,
    and takes what lies above the mark for a tuple or for the parts of a container
    (`pickletools` describes each instruction).

    Args:
        size: bytes of the whole file.
        records: the size of each record of tensors by its name; None where they follow
            the pickle one after the other.

    Attributes:
        storages: the storages that it asks for, by their keys; parts of others among
            them.
        roots: the keys of those that are no parts.
    """

    def __init__(self, size: int, records: Mapping[str, int] | None = None) -> None:
        self.size = size
        self.records = records
        self.storages = dict[str, Storage]()
        self.roots = set[str]()
        self._calls = Calls(size)
        self._instructions: dict[str, Callable[[Any], None]] = {
            "BINGET": self._recall,
            "LONG_BINGET": self._recall,
            "BINPUT": self._remember,
            "LONG_BINPUT": self._remember,
            "MARK": self._mark,
            "TUPLE": self._make_tuple,
            "TUPLE1": lambda _: self._make_short_tuple(1),
            "TUPLE2": lambda _: self._make_short_tuple(2),
            "TUPLE3": lambda _: self._make_short_tuple(3),
            "APPEND": self._append,
            "APPENDS": self._append_all,
            "SETITEM": self._set_item,
            "SETITEMS": self._set_items,
            "GLOBAL": self._push_name,
            "REDUCE": self._call,
            "BUILD": self._set_state,
            "BINPERSID": self._push_storage,
        }

    def run(self, file: IO[bytes]) -> Any:
        """Return the stand-in for what the next pickle in `file` makes.

        Raises:
            WrongFile: it asks for code, for more than the file has, or it is damaged.
        """
        self._stack: list[Any] = []
        # One stack for each mark.
        self._stacks_below: list[list[Any]] = []
        self._memo: dict[int, Any] = {}
        try:
            for number, step in enumerate(pickletools.genops(file)):
                if number >= MOST_INSTRUCTIONS:
                    raise WrongFile(
                        f"its pickle has more than {MOST_INSTRUCTIONS:,} instructions"
                    )
                instruction, argument, _ = step
                self._do(instruction.name, argument)
            return self._stack.pop()
        except Problem:
            raise
        except BROKEN as error:
            reason = shown(error) or type(error).__name__
            raise Damaged(f"its pickle is damaged ({reason})") from error

    def _do(self, name: str, argument: Any) -> None:
        """Do one instruction."""
        if name in PUSHING:
            self._stack.append(argument)
        elif name in CONSTANTS:
            self._stack.append(CONSTANTS[name])
        elif name in CONTAINERS:
            self._stack.append(Container(CONTAINERS[name]))
        elif name in self._instructions:
            self._instructions[name](argument)
        elif name not in IGNORED:
            raise WrongFile(
                f"its pickle has the instruction {name}, which torch does not read"
            )

    def _recall(self, place: int) -> None:
        self._stack.append(self._memo[place])

    def _remember(self, place: int) -> None:
        self._memo[place] = self._stack[-1]

    def _mark(self, _: Any) -> None:
        self._stacks_below.append(self._stack)
        self._stack = []

    def _above_mark(self) -> list[Any]:
        """Take the values above the last mark."""
        parts = self._stack
        self._stack = self._stacks_below.pop()
        return parts

    def _make_tuple(self, _: Any) -> None:
        parts = self._above_mark()
        self._stack.append(tuple(parts))

    def _make_short_tuple(self, length: int) -> None:
        self._stack[-length:] = [tuple(self._stack[-length:])]

    def _append(self, _: Any) -> None:
        part = self._stack.pop()
        self._container("list").add(part)

    def _append_all(self, _: Any) -> None:
        parts = self._above_mark()
        container = self._container("list")
        for part in parts:
            container.add(part)

    def _set_item(self, _: Any) -> None:
        self._stack.pop()
        key = self._stack.pop()
        self._container("dictionary").add(key)

    def _set_items(self, _: Any) -> None:
        keys_and_values = self._above_mark()
        container = self._container("dictionary")
        for key in keys_and_values[::2]:
            container.add(key)

    def _container(self, kind: str) -> Container:
        """Return the container on top of the stack, which must be of this kind."""
        container = self._stack[-1]
        if not isinstance(container, Container) or container.kind != kind:
            raise ValueError(f"no {kind} where one is filled")
        return container

    def _push_name(self, argument: str) -> None:
        module, _, name = argument.partition(" ")
        # As Python 2 called it.
        module = module.replace("__builtin__", "builtins")
        self._stack.append(self._calls.check_name(f"{module}.{name}"))

    def _call(self, _: Any) -> None:
        arguments = self._stack.pop()
        called = self._stack.pop()
        self._stack.append(self._calls.call(called, arguments))

    def _set_state(self, _: Any) -> None:
        """Give an object attributes, as torch gives an OrderedDict its _metadata."""
        self._stack.pop()
        self._container("dictionary")

    def _push_storage(self, _: Any) -> None:
        """Push the storage that a persistent id names.

        An id is ("storage", type, key, device, elements), and in old files also a view:
        None, or the key, offset and length of a part.
        """
        word, kind, written_key, _, elements, *views = self._stack.pop()
        if _text(word) != "storage" or not isinstance(elements, int) or elements < 0:
            raise ValueError("it names no storage")
        key = _text(written_key)
        storage = Storage(elements, WIDTHS[kind.full])
        self._check_is_stored(key, storage)
        self._check_one_size(key, storage)
        self.roots.add(key)

        view = views[0] if views else None
        if view is not None:
            storage = self._part(view, key, storage)
        self._stack.append(storage)

    def _check_is_stored(self, key: str, storage: Storage) -> None:
        """Raise WrongFile where a storage is larger than its part of the file."""
        size = storage.elements * storage.width
        fits = size <= self.size
        if self.records is not None:
            fits = fits and self.records.get(key) == size
        if not fits:
            raise WrongFile(
                f"the storage {shown(repr(key))} is not as large as its record"
            )

    def _check_one_size(self, key: str, storage: Storage) -> None:
        """Raise WrongFile where another storage had this key before.

        torch takes the first one.
        """
        if self.storages.setdefault(key, storage) != storage:
            raise WrongFile(f"the storage {shown(repr(key))} has two sizes")

    def _part(self, view: Any, key: str, storage: Storage) -> Storage:
        """Return the part of a storage that a view names."""
        part_key, offset, length = view
        if not 0 <= offset <= offset + length <= storage.elements:
            raise WrongFile(
                f"a part of the storage {shown(repr(key))} lies outside of it"
            )
        part = Storage(length, storage.width)
        self._check_one_size(_text(part_key), part)
        return part


def _text(value: str | bytes) -> str:
    """Return a text, which Python 2 wrote as bytes."""
    return value.decode("ascii") if isinstance(value, bytes) else value
