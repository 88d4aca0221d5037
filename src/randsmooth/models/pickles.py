"""A rehearsal of a pickle of torch's, which counts what it would make and makes nothing.

`torch.load(..., weights_only=True)` calls no code of a stranger. But some of the calls that
it does can turn a few bytes into gigabytes: `bytearray(10**10)`, or a tensor that is larger
than its storage.
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

# Errors that Python raises in this module where a pickle is damaged.
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

# Instructions of pickle that need nothing done.
IGNORED = ("PROTO", "STOP")
# Instructions that push their argument on the stack.
PUSHING = (
    "BININT",
    "BININT1",
    "BININT2",
    "BINFLOAT",
    "BINUNICODE",
    "SHORT_BINSTRING",
    "LONG1",
)
# Instructions that push a constant, and instructions that push an empty container.
CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False, "EMPTY_TUPLE": ()}
CONTAINERS = {"EMPTY_LIST": "list", "EMPTY_DICT": "dictionary", "EMPTY_SET": "set"}


class Damaged(WrongFile):
    """A file holds something that is no pickle."""


class Rehearsal:
    """A machine that runs the pickles in a file with stand-ins in place of values.

    A pickle is a program for a machine with a stack. It pushes values and marks places in
    the stack. It makes a tuple, or the parts of a container, of what lies above the last
    mark (`pickletools` describes each instruction).

    Args:
        size: bytes of the whole file.
        records: the name of each record with the numbers of a storage -> its bytes; None
            for an old file, in which these numbers follow the pickles one after the other.

    Attributes:
        storages: the storages that the pickles ask for, by their keys, among them parts of
            others.
        roots: the keys of the storages that are not parts of others.
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

        Storages are remembered from one pickle to the next, the stack is not.

        Raises:
            WrongFile: the pickle asks for code or for more than the file has, or is
                damaged.
        """
        # What lies above the last mark.
        self._stack: list[Any] = []
        # What lies below each mark, the last one at the end.
        self._stacks_below: list[list[Any]] = []
        # Values that the pickle keeps under a number, to use them again.
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

    def _recall(self, number: int) -> None:
        self._stack.append(self._memo[number])

    def _remember(self, number: int) -> None:
        self._memo[number] = self._stack[-1]

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
        # The value lies above its key. Only keys are hashed, which a stranger may make dear.
        self._stack.pop()
        key = self._stack.pop()
        self._container("dictionary").add(key)

    def _set_items(self, _: Any) -> None:
        keys_and_values = self._above_mark()
        container = self._container("dictionary")
        for key in keys_and_values[::2]:
            container.add(key)

    def _container(self, kind: str) -> Container:
        """Return the container on top of the stack, which must be of the kind `kind`."""
        container = self._stack[-1]
        if not isinstance(container, Container) or container.kind != kind:
            raise ValueError(f"no {kind} where one is filled")
        return container

    def _push_name(self, argument: str) -> None:
        """Push the stand-in for a class or function, written "module name"."""
        module, _, name = argument.partition(" ")
        # Protocol 2 writes the name that this module had in Python 2.
        module = module.replace("__builtin__", "builtins")
        self._stack.append(self._calls.check_name(f"{module}.{name}"))

    def _call(self, _: Any) -> None:
        arguments = self._stack.pop()
        called = self._stack.pop()
        self._stack.append(self._calls.call(called, arguments))

    def _set_state(self, _: Any) -> None:
        """Let a dictionary have attributes, as torch gives an OrderedDict its _metadata.

        The attributes are on top of the stack, and are not needed.
        """
        self._stack.pop()
        # This only checks that nothing else gets attributes.
        self._container("dictionary")

    def _push_storage(self, _: Any) -> None:
        """Push the stand-in for the storage that a persistent id names.

        An id is ("storage", type, key, device, elements). In old files a sixth entry
        follows: None, or the key, offset and length of a part of the storage.
        """
        word, type_name, written_key, _, elements, *views = self._stack.pop()
        if _text(word) != "storage" or not isinstance(elements, int) or elements < 0:
            raise ValueError("it names no storage")
        key = _text(written_key)
        storage = Storage(elements, width=WIDTHS[type_name.full])
        self._check_is_stored(key, storage)
        self._check_one_size(key, storage)
        self.roots.add(key)

        view = views[0] if views else None
        if view is not None:
            storage = self._part(view, key, storage)
        self._stack.append(storage)

    def _check_is_stored(self, key: str, storage: Storage) -> None:
        """Raise WrongFile where a storage is larger than the file, or not as its record."""
        size = storage.elements * storage.width
        fits = size <= self.size
        if self.records is not None:
            fits = fits and self.records.get(key) == size
        if not fits:
            raise WrongFile(
                f"the storage {shown(repr(key))} is not as large as its record"
            )

    def _check_one_size(self, key: str, storage: Storage) -> None:
        """Raise WrongFile where a storage of another size had this key before.

        torch would take the first one for both.
        """
        if self.storages.setdefault(key, storage) != storage:
            raise WrongFile(f"the storage {shown(repr(key))} has two sizes")

    def _part(self, view: Any, key: str, storage: Storage) -> Storage:
        """Return the part of a storage that a view names.

        Args:
            view: the key, offset and length of the part.
            key: the key of the storage.
            storage: the storage.
        """
        part_key, offset, length = view
        if not 0 <= offset <= offset + length <= storage.elements:
            raise WrongFile(
                f"a part of the storage {shown(repr(key))} lies outside of it"
            )
        part = Storage(length, storage.width)
        self._check_one_size(_text(part_key), part)
        return part


def _text(value: str | bytes) -> str:
    """Return a text as `str`; a pickle of Python 2 has it as bytes."""
    return value.decode("ascii") if isinstance(value, bytes) else value
