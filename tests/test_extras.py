"""What each extra installs, and what is said where one is missing: packages are refused in a fresh interpreter."""

import ast
import re
import shlex
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest

import randsmooth
from fresh import commands, python
from randsmooth import extras
from randsmooth.extras import EXTRAS, MissingPackage, install_command, needs

ROOT = Path(randsmooth.__file__).parent
PROJECT = tomllib.loads((ROOT.parents[1] / "pyproject.toml").read_text())["project"]
# Distributions that are not named as they are imported.
DISTRIBUTIONS = {"PIL": "pillow", "sklearn": "scikit-learn", "yaml": "pyyaml"}
BROUGHT = {
    "markupsafe",
    "pydantic_core",
    "starlette",
}  # by jinja2, pydantic and gradio

LOG = "idx\tlabel\tpredict\tradius\tcorrect\ttime\n0\t3\t3\t0.742\t1\t0:00:03\n1\t8\t-1\t0.0\t0\t0:00:03\n"
JUDGED = ["--sigma", "0.5", "--n", "1000", "--alpha", "0.001"]

# What a verb says can be done without the package.
INSTEAD = {
    "compare": "; `randsmooth evaluate A B` prints the paired comparison without it",
    "slurm": "; processes of this machine (workers) run the same",
}


def packages_of(extra: str) -> set[str]:
    return {package for package, its in EXTRAS.items() if its == extra}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with two logs."""
    for name in ("gaussian", "ours"):
        (tmp_path / f"{name}.tsv").write_text(LOG)
    return tmp_path


ONLY_POSIX = {"fcntl", "resource", "pwd", "grp", "termios", "pty"}  # what Windows lacks
NEEDS_NOTHING = [
    ["--help"],
    ["evaluate", "gaussian.tsv", "ours.tsv", *JUDGED],
    ["leaderboard", ".", *JUDGED],
    ["verify", "gaussian.tsv"],
    ["export", "gaussian.tsv", "--out", "again.tsv"],
    ["data", "list"],
    ["reproduce", "--list"],
    ["cite", "gaussian.tsv", "macer"],
    ["completion", "bash"],
]
NEEDS_REPORT = [
    ["compare", "gaussian.tsv", "ours.tsv", *JUDGED, "--figures", "pdf"],
    ["evaluate", "gaussian.tsv", *JUDGED, "--format", "latex"],
]
HEAVY = {"torch", "lightning_fabric", "datasets", "tensorboard"}
NEEDS = [
    ("torch", ["train", "digits", "--sigma", "0.5"]),
    ("torch", ["certify", "user/name", "--dataset", "digits"]),
    ("torch", ["predict", "user/name", "image.png"]),
    ("report", ["quickstart"]),
    ("torch", ["explain", "user/name", "digits:3"]),
    ("serve", ["serve", "user/name"]),
    ("cluster", ["certify", "user/name", "--dataset", "digits", "--ray", "auto"]),
    (
        "slurm",
        [
            "certify",
            "user/name",
            "--dataset",
            "digits",
            "--slurm",
            "--array",
            "2",
            "--time",
            "9",
        ],
    ),
    ("report", ["compare", "gaussian.tsv", "ours.tsv", *JUDGED]),
    ("report", ["reproduce", "acr/table2", "--from", "."]),
]


def test_certificates_are_read_judged_and_ranked_without_any_extra_on_any_system(
    folder: Path,
) -> None:
    ended = commands(NEEDS_NOTHING, folder, without={*EXTRAS} | ONLY_POSIX)
    ended += commands(NEEDS_REPORT, folder, without=HEAVY)
    for words, (code, said, _) in zip(NEEDS_NOTHING + NEEDS_REPORT, ended, strict=True):
        assert code == 0 and "pip install" not in said, (words, said)


def test_a_verb_names_the_extra_that_it_lacks(folder: Path) -> None:
    before = sorted(folder.iterdir())
    for extra in dict.fromkeys(extra for extra, _ in NEEDS):
        lines = [words for its, words in NEEDS if its == extra]
        for words, (code, said, _) in zip(
            lines, commands(lines, folder, without=packages_of(extra)), strict=True
        ):
            instead = INSTEAD.get(words[0], INSTEAD.get(extra, ""))
            assert (
                code == 2 and said.count("\n") == 1 and "needs the package" in said
            ), (words, said)
            assert said.endswith(f"{install_command(extra)}{instead}\n"), (words, said)
        assert sorted(folder.iterdir()) == before, (
            extra
        )  # nothing is begun that cannot be ended


def test_a_data_set_of_the_hub_is_refused_before_torch_is_loaded(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RANDSMOOTH_DATA", raising=False)
    lines = [["train", "mnist", "--sigma", "0.5"]]
    ((code, said, loaded),) = commands(
        lines, folder, without={"datasets"}, watched={"torch"}
    )
    assert (
        code == 2
        and not loaded
        and f"{install_command('hub')}. Or run `hf download ylecun/mnist" in said
    )


IMPORTS = """
import importlib, pkgutil, warnings
warnings.simplefilter("ignore")
import randsmooth
from randsmooth.extras import EXTRAS
for module in pkgutil.walk_packages(randsmooth.__path__, "randsmooth."):
    if not module.name.endswith("__main__"):
        try:
            importlib.import_module(module.name)
        except ModuleNotFoundError as error:  # of an extra that is not installed
            assert (error.name or "").partition(".")[0] in EXTRAS, error
"""


def test_everything_is_imported_without_what_windows_lacks() -> None:
    python(IMPORTS, without=ONLY_POSIX)


def test_a_public_name_says_which_extra_it_lacks() -> None:
    with pytest.raises(
        AssertionError,
        match=r"certification\.certify needs the package torch, which is not installed",
    ):
        python("import randsmooth\nrandsmooth.certify", without={"torch"})


def test_an_import_error_of_another_package_is_not_taken_for_a_missing_extra() -> None:
    with (
        pytest.raises(
            ModuleNotFoundError, match="No module named 'nowhere_to_be_found'"
        ),
        needs("this test"),
    ):
        import nowhere_to_be_found  # type: ignore[import-not-found]  # noqa: F401
    sentence = f"this test needs the package torch, which is not installed: {install_command('torch')}"
    with (
        pytest.raises(MissingPackage, match=re.escape(sentence)),
        needs("this test"),
        needs("randsmooth.something"),
    ):
        raise ModuleNotFoundError(name="torch.nn")


def imported() -> set[str]:
    """The packages that src/randsmooth imports, beside its own and those of Python."""
    found = set()
    for path in ROOT.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = (
                [alias.name for alias in node.names]
                if isinstance(node, ast.Import)
                else []
            )
            names += (
                [node.module]
                if isinstance(node, ast.ImportFrom) and node.module
                else []
            )
            found |= {name.partition(".")[0] for name in names}
    return found - {*sys.stdlib_module_names, "randsmooth", "_typeshed"}


def installs(requirements: list[str]) -> set[str]:
    """The names of distributions in a list of requirements, as package indices spell them."""
    return {
        re.split(r"[>=<\[; ]", line)[0].lower().replace("_", "-")
        for line in requirements
    }


def test_whatever_is_imported_is_a_dependency_of_the_base_or_of_its_extra() -> None:
    base, extras = installs(PROJECT["dependencies"]), PROJECT["optional-dependencies"]
    for package in imported() - BROUGHT:
        name = DISTRIBUTIONS.get(package, package).lower().replace("_", "-")
        there = base if package not in EXTRAS else installs(extras[EXTRAS[package]])
        assert name in there, (
            f"{package} is imported, and {EXTRAS.get(package, 'the base')} does not install it"
        )
    assert {*EXTRAS} - {"tensorboard"} <= imported()  # that one is imported by torch
    assert not base & {DISTRIBUTIONS.get(package, package) for package in EXTRAS}
    (everything,) = PROJECT["optional-dependencies"]["all"]
    assert set(re.findall(r"\w+", everything.partition("[")[2])) == {
        *EXTRAS.values()
    } - {"timm"}  # needs torchvision


NOTED = {  # what pip noted -> what the command names
    None: "'randsmooth[hub]'",
    '{"url": "file:///home/me/a%20clone", "dir_info": {}}': "'randsmooth[hub] @ file:///home/me/a%20clone'",
    '{"url": "https://a/rs", "vcs_info": {"vcs": "git", "commit_id": "a1"}}': "'randsmooth[hub] @ git+https://a/rs@a1'",
    '{"url": "file:///rs-0.1.whl", "archive_info": {}}': "'randsmooth[hub] @ file:///rs-0.1.whl'",
}


def test_an_extra_is_installed_from_where_randsmooth_came(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert (
        install_command("hub")
        == f"pip install -e {shlex.quote(f'{ROOT.parents[1]}[hub]')}"
    )
    monkeypatch.setattr(extras, "__file__", "/site-packages/randsmooth/extras.py")
    for noted, named in NOTED.items():
        pip = SimpleNamespace(read_text=lambda name, noted=noted: noted)
        monkeypatch.setattr(
            "importlib.metadata.distribution", lambda name, pip=pip: pip
        )
        assert install_command("hub") == f"pip install {named}", noted


def test_versions_of_packages_with_entries_are_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, group in (
        ("my-noise", "randsmooth.noises"),
        ("another", "console_scripts"),
    ):
        info = tmp_path / f"{name}-0.3.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.3\n"
        )
        (info / "entry_points.txt").write_text(f"[{group}]\nmine = module:Mine\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert extras.versions()["my-noise"] == "0.3" and "another" not in extras.versions()


def test_openvino_reports_nothing_to_its_makers() -> None:
    pytest.importorskip("openvino")
    stub = "import randsmooth.certification, openvino.tools.ovc.telemetry_utils as used; print(used.tm.__name__)"
    assert python(stub).strip() == "openvino.tools.ovc.telemetry_stub"
