"""The content of fitted scikit-learn estimators, and of what follows their interface, as a hash."""

from __future__ import annotations

from typing import Any

import numpy as np

from randsmooth.models.canonical import Reader, Unreadable, digest

# Packages whose objects hold, in what they would be pickled as, all that decides their answers.
TRUSTED = {"sklearn", "numpy", "scipy", "xgboost", "lightgbm"}
RANDOM = (np.random.RandomState, np.random.Generator, np.random.BitGenerator)
VERSION = "_sklearn_version"  # of the library that fitted it: it is recorded elsewhere, and changes no answer


class ContentReader(Reader):
    """Reads estimators too, by what they would be pickled as; no pickle is made or loaded."""

    def other(self, value: Any, where: str) -> bytes:
        if isinstance(value, bytearray | memoryview):
            return digest("bytes", bytes(value))
        if callable(value) and hasattr(value, "__qualname__"):  # a function of a compiled library
            return digest("function", str(value.__qualname__))
        if isinstance(value, RANDOM):
            return digest("no matter")  # a classifier that drew numbers would not give the same answer twice
        if not any(base.__module__.partition(".")[0] in TRUSTED for base in type(value).__mro__):
            return super().other(value, where)
        try:
            made, given, *rest = value.__reduce_ex__(4)
        except (TypeError, ValueError):  # of a compiled library, or a name alone
            raise Unreadable(value, where) from None
        state, items, pairs = (*rest, None, None, None)[:3]
        if isinstance(state, dict):
            state = {name: held for name, held in state.items() if name != VERSION}
        parts = (made, given, state, list(items or ()), list(pairs or ()))
        return digest("content", type(value).__qualname__, self.each(parts, where))

    def _array(self, value: np.ndarray | np.generic, where: str) -> bytes:
        names = np.asarray(value).dtype.names
        if names is None:
            return super()._array(value, where)
        return digest("fields", self.named({name: np.asarray(value)[name] for name in names}, where))  # no padding
