"""The wheel and the sdist, built here without a network: what they hold, and what an index shows of them."""

import re
import sys
import tomllib
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml

import check_release
from addresses import fill, stage
from build_packages import build, faults, metadata_of, relative_links, tracked
from environment import Failed
from models.refusing import refusal
from randsmooth.extras import EXTRAS

ROOT = Path(__file__).parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = PYPROJECT["project"]
CONDA = {"lazy-loader": "lazy_loader"}  # where conda-forge has another name
BUILDERS = ("hatchling", "hatch_fancy_pypi_readme")


REPOSITORY, AUTHOR = "https://example.org/somebody/smoothing", "Ada Lovelace"


def readme_of_index(text: str, pyproject: str) -> str:
    """The README as the build makes it."""
    hooks = tomllib.loads(pyproject)["tool"]["hatch"]["metadata"]["hooks"]
    for one in hooks["fancy-pypi-readme"]["substitutions"]:
        text = re.sub(one["pattern"], one["replacement"], text)
    return text


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    """The sources as a release has them."""
    names = {
        "pyproject.toml",
        "CITATION.cff",
        "README.md",
        "src/randsmooth/papers/references.bib",
    }
    sources = stage({*names, "release/conda/recipe.yaml"}, ROOT, tmp_path / "sources")
    fill(sources, REPOSITORY, AUTHOR)
    return sources


def test_the_sources_name_no_address_and_a_release_names_the_one_it_is_given_everywhere(
    filled: Path,
) -> None:
    places = (
        "pyproject.toml",
        "CITATION.cff",
        "release/conda/recipe.yaml",
        "src/randsmooth/papers/references.bib",
    )
    for place in places:
        assert not re.search(
            r"https?://(?!doi|arxiv|www|docs)\S*randsmooth", (ROOT / place).read_text()
        ), place
        assert REPOSITORY in (filled / place).read_text(), place
        assert "developers" not in (filled / place).read_text(), place
    assert set(
        tomllib.loads((filled / "pyproject.toml").read_text())["project"]["urls"]
    ) >= {"Repository", "Issues"}
    assert (
        yaml.safe_load((filled / "CITATION.cff").read_text())["repository-code"]
        == REPOSITORY
    )
    recipe = yaml.safe_load((filled / "release/conda/recipe.yaml").read_text())
    assert recipe["extra"]["recipe-maintainers"] == ["somebody"] and {
        "url",
        "sha256",
    } == set(recipe["source"])
    for repository, author in (
        ("", AUTHOR),
        ("smoothing", AUTHOR),
        (REPOSITORY, " "),
        (REPOSITORY, 'A "B"'),
    ):
        assert re.search(
            "no (address|name)", refusal(fill, filled, repository, author, kind=Failed)
        )


def test_every_link_and_picture_of_the_readme_leads_somewhere_on_an_index(
    filled: Path,
) -> None:
    readme = (ROOT / "README.md").read_text()
    assert len(relative_links(readme)) > 20  # what would be broken
    bare = readme_of_index(readme, (ROOT / "pyproject.toml").read_text())
    released = readme_of_index(readme, (filled / "pyproject.toml").read_text())
    assert relative_links(bare) == relative_links(released) == []
    assert "docs/images/p_a_curves.png)" in bare  # its place in the sdist
    assert f"]({REPOSITORY}/raw/v$HFPR_VERSION/docs/images/p_a_curves.png)" in released
    fenced = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
    assert fenced.findall(bare) == fenced.findall(readme)  # no code is changed


def test_the_conda_recipe_asks_for_what_the_package_asks_for() -> None:
    recipe = yaml.safe_load((ROOT / "release" / "conda" / "recipe.yaml").read_text())
    ours = [re.fullmatch(r"([\w-]+)(>=.+)", line) for line in PROJECT["dependencies"]]
    wanted = {f"{CONDA.get(one[1], one[1])} {one[2]}" for one in ours if one}
    assert {*recipe["requirements"]["run"]} == {"python >=${{ python_min }}", *wanted}
    built = {
        line.replace(">=", " >=") for line in PYPROJECT["build-system"]["requires"]
    }
    assert built <= {*recipe["requirements"]["host"]}
    assert f">={recipe['context']['python_min']}" == PROJECT["requires-python"]
    assert (
        f"torch>={recipe['requirements']['run_constraints'][0].partition('>=')[2]}"
        in PROJECT["optional-dependencies"]["torch"]
    )


def test_the_image_installs_extras_that_there_are() -> None:
    extras = re.search(
        r"^ARG EXTRAS=(.+)$", (ROOT / "Dockerfile").read_text(), re.MULTILINE
    )
    assert extras is not None
    assert set(extras[1].split(",")) <= {*EXTRAS.values()}


def test_a_version_without_a_date_cannot_be_released(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## 0.1.0 (unreleased)\n")
    monkeypatch.setattr(check_release, "ROOT", tmp_path)
    monkeypatch.setattr(check_release, "version", lambda: "0.1.0")
    assert "which is no date" in refusal(check_release.check_changelog, kind=Failed)
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## 0.1.0 (2026-01-31)\n")
    assert check_release.check_changelog() == "2026-01-31"
    monkeypatch.setattr(check_release, "version", lambda: "0.2.0")
    assert "not with 0.2.0" in refusal(check_release.check_changelog, kind=Failed)


@pytest.mark.slow
def test_wheel_and_sdist_hold_what_they_should_and_a_worse_one_is_found_out(
    tmp_path: Path,
) -> None:
    if missing := [name for name in BUILDERS if find_spec(name) is None]:
        pytest.skip(f"not installed: {', '.join(missing)}")
    wheel, sdist = build(tmp_path, python=sys.executable)
    assert faults(wheel, sdist) == []
    worse = tmp_path / "worse" / wheel.name
    worse.parent.mkdir()
    with zipfile.ZipFile(wheel) as good, zipfile.ZipFile(worse, "w") as bad:
        for name in good.namelist():
            if name != "randsmooth/py.typed":
                content = good.read(name)
                bad.writestr(
                    name, content + b"[here](docs/data.md)" * name.endswith("METADATA")
                )
    said = [
        "the README of the wheel links to docs/data.md",
        "the wheel lacks randsmooth/py.typed",
    ]
    assert faults(worse, sdist) == said
    facts = metadata_of(wheel)
    assert facts["Description-Content-Type"] == "text/markdown"
    assert facts.get_all("Project-URL") is None
    sources = stage(tracked(), ROOT, tmp_path / "sources")
    fill(sources, REPOSITORY, AUTHOR)
    (tmp_path / "released").mkdir()
    wheel, sdist = build(tmp_path / "released", python=sys.executable, sources=sources)
    assert faults(wheel, sdist, REPOSITORY) == [] and faults(wheel, sdist)
    facts = metadata_of(wheel)
    assert facts["Author"] == AUTHOR
    assert f"/v{facts['Version']}/docs/images/p_a_curves.png" in str(
        facts.get_payload()
    )
