"""What is cited for what: every name of ours has an entry, tables and models say what they used, BibTeX is BibTeX."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

import randsmooth
from randsmooth.certificates import CONFIDENCE_BOUNDS, RULES, Header
from randsmooth.data import DATASETS
from randsmooth.errors import InputError
from randsmooth.methods import METHODS
from randsmooth.models.registry import ARCHITECTURES
from randsmooth.papers import Bibliography, Reference, cited
from randsmooth.papers.bibliography import AUTHORS, PAPERS, the_program
from randsmooth.papers.citations import ORIGINS, Use, bibliography_of, of_header
from randsmooth.training.presets import PRESETS

ROOT = Path(randsmooth.__file__).parents[2]
ENTRY = re.compile(r"@(\w+)\{([\w-]+),\n((?:  \w+ = \{.*\},\n)+)\}")
NEEDED = {
    "inproceedings": {"booktitle"},
    "article": {"journal"},
    "techreport": {"institution"},
    "misc": {"howpublished"},
    "software": {"version"},
}


def keys(found: Bibliography) -> list[str]:
    return [one.reference.key for one in found.citations]


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("training method", [name for name in METHODS if METHODS.source(name) == "randsmooth"]),
        ("rule", [name for name in RULES if RULES.source(name) == "randsmooth"]),
        ("bound", CONFIDENCE_BOUNDS),
        ("data set", [name for name in DATASETS if DATASETS.source(name) == "randsmooth"]),
        ("settings of", {one.name.partition("/")[0] for one in PRESETS} - {"randsmooth"}),
    ],
)
def test_every_name_of_ours_has_its_papers(kind: str, names: list[str]) -> None:
    assert set(ORIGINS[kind]) == {*names}


def test_every_architecture_has_its_papers() -> None:
    ours = [name for name in ARCHITECTURES if ARCHITECTURES.source(name) == "randsmooth"]
    for name in [*ours, "resnet152", "wrn16-4", "dncnn-17x64"]:
        assert cited([name]).unlisted == (), name


def test_every_entry_is_cited_for_something_and_every_key_has_an_entry() -> None:
    used = {key for names in ORIGINS.values() for keys in names.values() for key in keys}
    networks = {
        key for name in ("lenet", "resnet20", "densenet40", "wrn28-10", "dncnn-17x64") for key in keys(cited([name]))
    }
    assert used <= set(PAPERS)
    assert set(PAPERS) == (used | networks) - {"randsmooth"}


@pytest.mark.parametrize("reference", [the_program(), *PAPERS.values()], ids=lambda reference: reference.key)
def test_an_entry_is_whole_bibtex_in_plain_letters(reference: Reference) -> None:
    text = reference.bibtex()
    found = ENTRY.fullmatch(text)
    assert found is not None, text
    assert text.isascii()
    assert text.count("{") == text.count("}")
    fields = {line.split(" = ")[0].strip() for line in found[3].splitlines()}
    assert {"author", "title", "year"} | NEEDED[found[1]] <= fields
    assert re.fullmatch(r"\d+--\d+", reference.fields.get("pages", "1--2"))


def test_the_method_of_a_paper_and_the_paper_name_the_same_people() -> None:
    for name, (key,) in ORIGINS["training method"].items():
        first = METHODS[name].source.split(",")[0].split(" ")[0]
        assert first in PAPERS[key].authors[0], name
        assert str(PAPERS[key].year) in METHODS[name].source, name


def test_a_header_names_what_made_it() -> None:
    model: dict[str, object] = {
        "method": "smoothadv",
        "preset": "macer/smoothadv",
        "arch": "resnet110",
        "dataset": "cifar10",
    }
    model |= {"hyperparameters": {"attack": "ddn"}}
    uses = [*of_header(Header(rule="radius=0.5", bound="any-class", sound=True, dataset="cifar10", model=model))]
    assert uses == [
        Use("part", "certify"),
        Use("rule", "radius"),
        Use("bound", "any-class"),
        Use("part", "sound"),
        Use("training method", "smoothadv"),
        Use("settings of", "macer"),
        Use("part", "ddn"),
        Use("architecture", "resnet110"),
        Use("data set", "cifar10"),
        Use("data set", "cifar10"),
        Use("part", "acr"),
        Use("part", "p_a"),
    ]


@pytest.mark.parametrize(
    ("model", "named"),
    [
        (
            {"denoiser": {"arch": "dncnn-17x64"}, "classifier": {"arch": "resnet20"}},
            {"salman2020denoised", "zhang2017beyond", "he2016deep"},
        ),
        ({"denoiser": {"arch": "one step of the diffusion model UNet", "timestep": 3}}, {"carlini2023free"}),
        (
            {"arch": "Ensemble", "notes": ["an ensemble of 3: the mean of the members' logits"], "method": "macer"},
            {"horvath2022boosting", "zhai2020macer"},
        ),
    ],
)
def test_parts_around_a_network_are_cited(model: dict[str, object], named: set[str]) -> None:
    assert named <= set(keys(bibliography_of(of_header(Header(model=model)))))


def test_what_another_package_brings_is_left_to_its_author(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(METHODS, "_added", {"mine-to-cite": METHODS["gaussian"]})
    found = cited(["mine-to-cite"])
    assert keys(found) == ["randsmooth"]
    assert found.unlisted == ("the training method mine-to-cite (from this program)",)
    assert "cite what its author names" in found.text()
    assert found.bibtex().splitlines()[-1].startswith("% ")


def test_a_comment_begins_no_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(METHODS, "_added", {"a@{b": METHODS["gaussian"]})
    assert cited(["a@{b"]).bibtex().count("@") == 1


def test_the_papers_of_a_published_log_follow_from_its_path(logs: Path) -> None:
    (log,) = (logs / "cifar10-sigma0.5").glob("macer.tsv")
    assert keys(cited([log])) == [
        *(
            "randsmooth",
            "cohen2019certified",
            "clopper1934use",
            "zhai2020macer",
            "krizhevsky2009learning",
            "sun2025acr",
        ),
    ]


def test_a_name_that_nobody_knows_is_refused() -> None:
    with pytest.raises(
        InputError, match="no file or folder smothmix, and unknown name 'smothmix': did you mean 'smoothmix'"
    ):
        cited(["smothmix"])


def test_the_repository_is_cited_as_the_program_is() -> None:
    lines = dict(re.findall(r"^([a-z-]+): (.+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE))
    program, urls = the_program(), tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["urls"]
    assert lines["version"] == randsmooth.__version__
    assert lines["title"].strip('"') == program.title
    assert lines["repository-code"].strip('"') == urls["Repository"]
    assert f'- name: "{AUTHORS}"' in (ROOT / "CITATION.cff").read_text()
