"""What is done in an environment with nothing but the installed package: by the command line, as users do."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import NamedTuple

from environment import Environment, Failed

LOG = "idx\tlabel\tpredict\tradius\tcorrect\ttime\n" + "".join(
    f"{i}\t{i % 10}\t{i % 10 if i % 4 else -1}\t{0.2 * (i % 4):.3}\t{int(i % 4 > 0)}\t0:00:03\n"
    for i in range(40)
)
COUNTS = "idx,label,picked,counts_0,counts_1\n" + "".join(
    f"{i},{i % 2},{i % 2},{900 - 800 * (i % 2)},{100 + 800 * (i % 2)}\n"
    for i in range(6)
)
COUNTED = """
import randsmooth as rs
counts = {"counts": [[900, 100], [100, 900]], "label": [0, 1], "picked": [0, 1]}
rs.certificates.write_parquet(rs.from_counts(counts, sigma=0.5), "counts.parquet")
"""
JUDGED = ("--sigma", "0.5", "--n", "1000", "--alpha", "0.001")
ALL_VERBS = """
import json
from randsmooth.cli.verbs import VERBS
print(json.dumps([verb.name.split() for verb in VERBS]))
"""
# Every module of the package can be imported, but for those that need a package of an extra that is not there.
ALL_MODULES = """
import pkgutil, importlib
import randsmooth
from randsmooth.extras import EXTRAS
count = lacking = 0
for module in pkgutil.walk_packages(randsmooth.__path__, "randsmooth."):
    if module.name.endswith("__main__"):
        continue
    try:
        importlib.import_module(module.name)
        count += 1
    except ImportError as error:
        name = getattr(error, "package", None) or (error.name or "").partition(".")[0]
        if name not in EXTRAS:
            raise
        lacking += 1
print(count, "modules imported,", lacking, "need an extra")
assert count > 100
"""


class Use(NamedTuple):
    """Something to do in an environment that has the extras in `needs`, and none of those in `lacks`."""

    run: Callable[[Environment], None]
    needs: frozenset[str] = frozenset()
    lacks: frozenset[str] = frozenset()


def _core(empty: Environment) -> None:
    """Everything that needs no extra."""
    empty.run("python", "-m", "pip", "check")
    empty.run("randsmooth", "--version")
    empty.run("randsmooth", "--help")
    for words in json.loads(empty.run("python", "-c", ALL_VERBS)):
        empty.run("randsmooth", *words, "--help")
    empty.run("python", "-c", ALL_MODULES, minutes=10)
    for name in ("gaussian", "ours"):
        (empty.place / f"{name}.tsv").write_text(LOG)
    empty.run("randsmooth", "evaluate", "gaussian.tsv", "ours.tsv", *JUDGED)
    empty.run("randsmooth", "leaderboard", ".", *JUDGED)
    empty.run("python", "-c", COUNTED)
    empty.run("randsmooth", "evaluate", "counts.parquet")
    empty.run("randsmooth", "export", "gaussian.tsv", "--out", "again.tsv")
    empty.run("randsmooth", "verify", "counts.parquet", "gaussian.tsv")
    empty.run("randsmooth", "data", "list")
    empty.run("randsmooth", "methods")
    empty.run("randsmooth", "reproduce", "--list")
    empty.run("randsmooth", "cite", "counts.parquet", "macer", "--format", "bibtex")
    empty.run("randsmooth", "completion", "bash")
    typed = {
        "_RANDSMOOTH_COMPLETE": "complete_bash",
        "COMP_WORDS": "randsmooth data li",
        "COMP_CWORD": "2",
    }
    if empty.run("randsmooth", variables=typed).split() != ["list"]:
        raise Failed("a shell is not told how `randsmooth data li` goes on")
    if "nothing is broken" not in empty.run("randsmooth", "doctor", "--quick"):
        raise Failed("randsmooth doctor --quick finds something broken")


def _torch(empty: Environment) -> None:
    """Training, certifying and asking a model."""
    train = (
        "train",
        "digits",
        "--sigma",
        "0.25",
        "--epochs",
        "1",
        "--take",
        "200",
        "--out",
        "model",
    )
    empty.run("randsmooth", *train, minutes=10)
    empty.run(
        "randsmooth",
        "certify",
        "model",
        "--take",
        "4",
        "--n",
        "1000",
        "--out",
        "model.parquet",
    )
    empty.run("randsmooth", "evaluate", "model.parquet")
    empty.run("randsmooth", "cite", "model", "model.parquet")
    empty.run("randsmooth", "methods", "amplify")
    empty.run("randsmooth", "verify", "model", "model.parquet", "demo", "demo-amplify")
    empty.run("randsmooth", "certify", "demo", "--take", "4", "--n", "1000")
    empty.run("randsmooth", "explain", "demo", "digits:17", "--n", "1000")
    empty.run("randsmooth", "doctor")


def _report(empty: Environment) -> None:
    """Pages with plots, and tables that pandas reads."""
    empty.run(
        "randsmooth",
        "compare",
        "gaussian.tsv",
        "ours.tsv",
        *JUDGED,
        "--out",
        "page.html",
        "--figures",
        "png",
    )
    if not (empty.place / "page.html").is_file():
        raise Failed("compare wrote no page")
    (empty.place / "counts.csv").write_text(COUNTS)
    empty.run(
        "randsmooth",
        "from-counts",
        "counts.csv",
        "--sigma",
        "0.5",
        "--out",
        "read.parquet",
    )


def _quickstart(empty: Environment) -> None:
    """The first command that a user runs, as it is."""
    empty.run("randsmooth", "quickstart", minutes=20)
    if not (empty.place / "runs" / "quickstart" / "report.html").is_file():
        raise Failed("quickstart wrote no report")


def _without_report(empty: Environment) -> None:
    """What needs the extra that is missing says so, and begins nothing."""
    said = empty.run("randsmooth", "quickstart", code=2)
    if "[report]" not in said or (empty.place / "runs").exists():
        raise Failed(
            f"quickstart without plots should name the extra before it begins; it said {said}"
        )


TORCH, REPORT = frozenset({"torch"}), frozenset({"report"})
USES = (
    Use(_core),
    Use(_torch, needs=TORCH),
    Use(_report, needs=REPORT),
    Use(_quickstart, needs=TORCH | REPORT),
    Use(_without_report, needs=TORCH, lacks=REPORT),
)
