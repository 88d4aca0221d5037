"""The pages of README and docs, what stands in their fenced blocks, and a run of it."""

import ast
import contextlib
import io
import re
import shlex
import textwrap
from collections.abc import Iterator
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted(
        path
        for path in DOCS.rglob("*.md")
        if not any(part.startswith("_") for part in path.parts)
    ),
]
FENCE = re.compile(r"^(?P<indent> *)(?P<ticks>`{3,})(?P<info>[^`]*)$")
NUMBER = re.compile(r"(?<![\w.])[-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?(?!\w)")

# Packages that only users of them have: a block that imports one runs where it is installed.
OF_USERS = ("ada_verona", "art", "lightning", "mlflow", "robustbench", "wandb")

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
            found.append(
                Block(opened[1], opened[2] + 1, f"{textwrap.dedent(text)}\n", number)
            )
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
            for line, text in enumerate(
                block.text.replace("\\\n", " ").splitlines(), block.line
            ):
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


def lacking(block: Block) -> list[str]:
    """The packages that a Python block imports, among `OF_USERS`, and that are not installed."""
    if block.language != "python":
        return []
    imported = set()
    for node in ast.walk(ast.parse(block.text)):
        if isinstance(node, ast.Import):
            imported |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported.add((node.module or "").partition(".")[0])
    return [name for name in OF_USERS if name in imported and find_spec(name) is None]


def run(document: Path) -> list[str]:
    """Run the Python blocks of a document in one namespace; what they print otherwise than the document shows.

    Blocks that lack a package of `OF_USERS` are left out.
    """
    namespace: dict[str, object] = {"__name__": "guide"}
    shown, differences = outputs(document), []
    for block in blocks(document):
        if block.language == "python" and not lacking(block):
            padded = (
                "\n" * (block.line - 1) + block.text
            )  # so that a traceback names the document's own line
            printed = io.StringIO()
            code = compile(
                padded, str(document), "exec", dont_inherit=True
            )  # annotations as a reader has them
            with contextlib.redirect_stdout(printed):
                exec(code, namespace)
            if block.line in shown and not same_meaning(
                shown[block.line].text, printed.getvalue()
            ):
                where = f"{document.relative_to(ROOT)}:{shown[block.line].line}"
                differences.append(
                    f"{where} shows\n{shown[block.line].text}but it prints\n{printed.getvalue()}"
                )
    return differences


def same_meaning(shown: str, printed: str) -> bool:
    """Whether two outputs say the same: the same words, and numbers that differ in their last digits at most.

    A line `...` of what is shown stands for any lines. Spaces and the lines of tables count for nothing.
    """
    shown, printed = (
        " ".join(re.sub(r"[\[\](){}]", r" \g<0> ", RULE.sub(" ", text)).split())
        for text in (shown, printed)
    )
    between = [re.escape(part).replace(r"\.\.\.", ".*") for part in NUMBER.split(shown)]
    said = re.fullmatch(f"({NUMBER.pattern})".join(between), printed, re.DOTALL)
    return said is not None and all(map(close, NUMBER.findall(shown), said.groups()))


def close(shown: str, printed: str) -> bool:
    """Whether two numbers are near each other: fractions in the last digit shown, whole numbers from 100 on by 1%.

    That is within five units of that digit, but no more than 5% of the number or, if that is more, one unit.
    """
    a, b = (float(text.replace(",", "")) for text in (shown, printed))
    digits, _, exponent = shown.partition("e")
    decimals = len(digits.partition(".")[2])
    if decimals or exponent:
        unit = 10.0 ** (int(exponent or 0) - decimals)
        return abs(a - b) <= 1.001 * min(5 * unit, max(unit, abs(a) / 20))
    return abs(a - b) <= (abs(a) / 100 if abs(a) >= 100 else 0)
