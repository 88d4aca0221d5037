"""Seeded choices, and the values to try: an input follows from (seed, reader, number) alone."""

from __future__ import annotations

import math
import os
import pickle
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any, TypeVar

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

T = TypeVar("T")

DRAWN = 200  # values that hypothesis draws for a run
DEPTHS = (40, 400, 1_000, 5_000, 100_000)  # of brackets within each other

NUMBERS: tuple[Any, ...] = (
    *(0, -0.0, 1, -1, 2, 3, 10, 255, 256, 1_000, 10_000, 10**6, 10**9),
    *(2**31 - 1, 2**31, 2**53, 2**63 - 1, 2**63, -(2**63) - 1, 2**64, 10**18, 10**30, 10**400),
    *(0.5, -0.5, 1e-300, 5e-324, 1e-9, 1.0, 1e9, 1e18, 1e300, 1.7976931348623157e308),
    *(math.nan, math.inf, -math.inf, True, False, None),
)
TEXTS = (
    *("", " ", "\0", "\n", "\x1b[2J", "\ud800", "\N{RIGHT-TO-LEFT OVERRIDE}x", "NaN", "-inf", "1e999", "9" * 5_000),
    *("é" * 50, "a" * 100_000, "../../etc/passwd", "/dev/zero", "None", "true", "1", "1.5", "0x10", "~", "[", "{", '"'),
    *("fixed", "grid", "grid=1e-9", "grid=0", "radius=1e9", "radius=nan", "tolerance=1e-12", "tolerance=1e9"),
    *("anytime=1e300", "union=1e-300", "two-sided", "randomised", "resnet8", "resnet9998", "small-cnn", "cuda"),
)


class Words:
    """Sentences of a format that a plain value cannot say: `encoded` puts them in place of their names."""

    def __init__(self, *said: str) -> None:
        self.said = said

    def name(self, index: int) -> str:
        return f"@said {index}@"

    def put_into(self, text: str) -> str:
        for index, said in enumerate(self.said):
            for quoted in (f'"{self.name(index)}"', f"'{self.name(index)}'", self.name(index)):
                text = text.replace(quoted, said)
        return text


_NESTED = [text for depth in DEPTHS for text in ("[" * depth + "]" * depth, '{"a":' * depth + "0" + "}" * depth)]
JSON = Words(*_NESTED, "[" * 100_000, "NaN", "Infinity", "1e999", "9" * 5_000, '{"a": 1, "a": 2}', "01", "'x'", "")
YAML = Words(
    *_NESTED,
    *("!!int ''", "!!float ''", "!!timestamp ''", "!!bool ''", "!!binary '*'", "!!null x", "!!set {a}", "!!omap [1]"),
    *("0000-00-00", "2001-13-45", "2001-01-01 99:99:99", "!!timestamp 2001-02-30", "190:20:30", "0o8", "0b2", "1_0"),
    *("&a [*a]", "&a {b: *a}", "*nothing", "{<<: {a: 1}}", "? [a]", "!!python/object:os.system x", "!unknown x"),
    *(".inf", "-.inf", ".nan", "1e3", "=", "%", "@x", "\t- x", "|2\n  a", "'", '"\\x', "{a: 1, a: 2}", "yes", "off"),
)


class Draw:
    """A source of choices that is the same for the same address, wherever and whenever it is made."""

    def __init__(self, run: int, *address: object) -> None:
        self.random = Random("/".join(map(str, (run, *address))))
        self.values = values(run)

    def below(self, end: int) -> int:
        return self.random.randrange(end) if end > 0 else 0

    def pick(self, choices: Sequence[T]) -> T:
        return choices[self.below(len(choices))]

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def bytes(self, count: int) -> bytes:
        return self.random.randbytes(count)

    def number(self) -> Any:
        return self.pick(NUMBERS)

    def value(self) -> Any:
        """A number, a text, or what hypothesis drew."""
        return self.pick(self.pick((NUMBERS, TEXTS, self.values)))


_drawn: dict[int, list[Any]] = {}


def values(run: int) -> list[Any]:
    """JSON-like values that hypothesis draws for a run: they are built up from small ones, each a variation.

    Hypothesis takes words from the modules that are loaded: in a process of its own it draws the same ones every time.
    """
    if run not in _drawn:
        here = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
        command = [sys.executable, "-m", "fuzz.draw", str(run)]
        _drawn[run] = pickle.loads(subprocess.run(command, env=here, check=True, stdout=subprocess.PIPE).stdout)
    return _drawn[run]


def remember(run: int, drawn: list[Any]) -> None:
    """Take the values of a run from another process, which drew them already."""
    _drawn[run] = drawn


def _values(run: int) -> list[Any]:
    plain = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
    nested = st.recursive(
        plain,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
        max_leaves=6,
    )
    found: list[Any] = []

    @seed(run)
    @settings(
        max_examples=DRAWN,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(nested)
    def collect(value: Any) -> None:
        found.append(value)

    collect()
    return found


if __name__ == "__main__":
    sys.stdout.buffer.write(pickle.dumps(_values(int(sys.argv[1]))))
