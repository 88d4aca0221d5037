"""One package that cannot be imported does not stop a listing, nor a verb that does not need it."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from cli.run import Run
from randsmooth.data import DATASETS
from randsmooth.methods import METHODS
from randsmooth.registry import Registry
from randsmooth.rules import RULES

REGISTRIES: Mapping[str, Registry[Any]] = {
    "randsmooth.methods": METHODS,
    "randsmooth.datasets": DATASETS,
    "randsmooth.rules": RULES,
}
GOOD = '''
from randsmooth.data import DatasetSpec
from randsmooth.rules import RuleEntry

class Method:
    """Good method."""
    source = "Doe 2026"

dataset = DatasetSpec(
    name="good", shape=(1, 2, 2), classes=("a", "b"), mean=None, std=None, augment="none", arch="small-cnn", hub=None,
    sizes={"test": 1}, description="Good data.",
)
rule = RuleEntry(kind="good_module:Rule", usage="good", help="good rule.")
'''


def forget() -> None:
    for registry in REGISTRIES.values():
        vars(registry).pop("_others", None)


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A package whose modules are good and one whose module cannot be imported, which also has one of our names."""
    own = {group: next(iter(registry)) for group, registry in REGISTRIES.items()}
    for package, name, module in (("fine", "good", "good_module"), ("shaky", "bad", "no_such_module")):
        info = tmp_path / f"{package}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        lines = []
        for group, attribute in zip(REGISTRIES, ("Method", "dataset", "rule"), strict=True):
            lines += [f"[{group}]", f"{name} = {module}:{attribute}"]
            lines += [f"{own[group]} = {module}:{attribute}"] if package == "shaky" else []
        (info / "entry_points.txt").write_text("\n".join(lines))
    (tmp_path / "good_module.py").write_text(GOOD)
    monkeypatch.syspath_prepend(tmp_path)
    forget()
    yield
    forget()
    for registry in REGISTRIES.values():
        vars(registry)["_loaded"].pop("good", None)


def test_a_listing_goes_on(cli: Run, installed: None) -> None:
    cases: list[tuple[list[str], str, str, str]] = [
        (["methods"], "method", "ICML 2025", "Good method."),
        (["data", "list"], "data set", "mnist", "Good data. (from fine)"),
        (["certify", "--help"], "rule", "dense", "good: good rule."),
    ]
    for words, kind, ours, good in cases:
        code, out, err = cli(*words)
        assert code == 0 and ours in out and good in out
        said = " ".join(out.split())
        assert f"{kind} 'bad' of the package shaky cannot be loaded (no_such_module:" in said
        assert "ModuleNotFoundError: No module named 'no_such_module'): update or uninstall that package" in said
        notes = [line for line in err.splitlines() if line.startswith(f"note: {kind} ")]
        assert len(notes) == 1 and "of the package shaky is left out" in notes[0]
