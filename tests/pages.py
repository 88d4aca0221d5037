"""The pages of README and docs, what stands in their fenced blocks, and a run of it."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import textwrap
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted(path for path in DOCS.rglob("*.md") if not any(part.startswith("_") for part in path.parts)),
]
FENCE = re.compile(r"^(?P<indent> *)(?P<ticks>`{3,})(?P<info>[^`]*)$")
NUMBER = re.compile(r"(?<![\w.])[-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?(?!\w)")

RULE = re.compile(r"[-─━|┃+=]{3,}")


class Block(NamedTuple):
    language: str
    line: int  # of its first line in the document
    text: str
    end: int  # the line of its closing fence


def blocks(document: Path) -> list[Block]:
    """The fenced blocks of a document, in order; those inside of a directive among them, but not directives."""
    found: list[Block] = []
    opened: tuple[str, str, int] | None = None  # its ticks, language and line
    container = 0  # directives around it
    lines = document.read_text().splitlines()
    for number, line in enumerate(lines, 1):
        fence = FENCE.match(line)
        if fence is None:
            continue
        info = fence["info"].strip()
        if opened is None:
            if info.startswith("{") and not info.startswith("{code"):
                container += 1  # what it holds may be blocks
            elif container and not info:
                container -= 1
            else:
                opened = (fence["ticks"], info.split()[0] if info else "", number)
        elif not info and len(fence["ticks"]) >= len(opened[0]):
            text = "\n".join(lines[opened[2] : number - 1])
            found.append(Block(opened[1], opened[2] + 1, f"{textwrap.dedent(text)}\n", number))
            opened = None
    return [block for block in found if not block.language.startswith("{")]


def prose(document: Path) -> str:
    """A document without its fenced blocks."""
    lines = document.read_text().splitlines()
    for block in blocks(document):
        lines[block.line - 2 : block.end] = [""] * (block.end - block.line + 2)
    return "\n".join(lines)


def commands(document: Path) -> Iterator[tuple[int, list[str]]]:
    """The `randsmooth` commands of a document: the line that each stands on, and its words."""
    for block in blocks(document):
        if block.language == "console":
            for line, text in enumerate(block.text.replace("\\\n", " ").splitlines(), block.line):
                words = shlex.split(text.removeprefix("$ "), comments=True)
                if words[:1] == ["randsmooth"]:
                    yield line, words[1:]


def outputs(document: Path) -> dict[int, Block]:
    """The ```text block that follows each Python block with nothing between them, by the line of the Python block."""
    lines = document.read_text().splitlines()
    return {
        code.line: shown
        for code, shown in pairwise(blocks(document))
        if (code.language, shown.language) == ("python", "text")
        and not "".join(lines[code.end : shown.line - 2]).strip()
    }


def run(document: Path) -> list[str]:
    """Run the Python blocks of a document in one namespace; what they print otherwise than the document shows."""
    namespace: dict[str, object] = {"__name__": "guide"}
    shown, differences = outputs(document), []
    for block in blocks(document):
        if block.language == "python":
            padded = "\n" * (block.line - 1) + block.text  # so that a traceback names the document's own line
            printed = io.StringIO()
            code = compile(padded, str(document), "exec", dont_inherit=True)  # annotations as a reader has them
            with contextlib.redirect_stdout(printed):
                exec(code, namespace)
            if block.line in shown and not same_meaning(shown[block.line].text, printed.getvalue()):
                where = f"{document.relative_to(ROOT)}:{shown[block.line].line}"
                differences.append(f"{where} shows\n{shown[block.line].text}but it prints\n{printed.getvalue()}")
    return differences


def same_meaning(shown: str, printed: str) -> bool:
    """Whether two outputs say the same: the same words, and numbers that differ in their last digits at most.

    A line `...` of what is shown stands for any lines.
    """
    parts = [words(part) for part in re.split(r"(?m)^ *\.\.\. *$", shown)]
    rest = words(printed)
    if len(parts) == 1:
        return alike(parts[0], rest)
    first, *middle, last = parts
    if not alike(first, rest[: len(first)]) or len(first) + len(last) > len(rest):
        return False
    if last and not alike(last, rest[-len(last) :]):
        return False
    rest = rest[len(first) : len(rest) - len(last)]
    for part in middle:
        places = range(len(rest) - len(part) + 1)
        at = next((i for i in places if alike(part, rest[i : i + len(part)])), None)
        if at is None:
            return False
        rest = rest[at + len(part) :]
    return True


def words(text: str) -> list[str]:
    """The numbers of a text and what stands between them, without spaces and without the lines of tables."""
    parts = re.split(rf"({NUMBER.pattern}|\s+)", text)
    return [part for part in parts if part and not part.isspace() and not RULE.fullmatch(part)]


def alike(these: list[str], those: list[str]) -> bool:
    """Whether two lists of words are the same, but for the last digits of numbers."""
    return len(these) == len(those) and all(a == b or close(a, b) for a, b in zip(these, those, strict=True))


def close(shown: str, printed: str) -> bool:
    """Whether two numbers are near each other: fractions in the last digit shown, whole numbers from 100 on by 1%.

    That is within five units of that digit, but no more than 5% of the number or, if that is more, one unit.
    """
    if not NUMBER.fullmatch(shown) or not NUMBER.fullmatch(printed):
        return False
    a, b = (float(text.replace(",", "")) for text in (shown, printed))
    digits, _, exponent = shown.partition("e")
    decimals = len(digits.partition(".")[2])
    if decimals or exponent:
        unit = 10.0 ** (int(exponent or 0) - decimals)
        return abs(a - b) <= 1.001 * min(5 * unit, max(unit, abs(a) / 20))
    return abs(a - b) <= (abs(a) / 100 if abs(a) >= 100 else 0)
