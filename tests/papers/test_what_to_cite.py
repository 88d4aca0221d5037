"""What is cited for what: every name of ours has an entry, tables and models say what they used, BibTeX is BibTeX."""

import re
from pathlib import Path

import pytest

import randsmooth
from models.refusing import refusal
from randsmooth.certificates import Header
from randsmooth.data import DATASETS
from randsmooth.methods import METHODS
from randsmooth.models.registry import ARCHITECTURES
from randsmooth.papers import Bibliography, cited
from randsmooth.papers.citation_needs import NEEDS
from randsmooth.papers.references import references
from randsmooth.papers.uses import of_header
from randsmooth.papers.what_to_cite import bibliography_of
from randsmooth.rules import CONFIDENCE_BOUNDS, RULES
from randsmooth.training.presets import PRESETS

ROOT = Path(randsmooth.__file__).parents[2]
NEEDED = {
    "inproceedings": {"booktitle"},
    "article": {"journal"},
    "techreport": {"institution"},
}
NEEDED |= {"misc": {"howpublished"}, "software": {"version"}}


def keys(found: Bibliography) -> list[str]:
    return [one.reference.key for one in found.citations]


def test_every_name_of_ours_has_its_papers_and_every_entry_its_use() -> None:
    ours = {
        kind: {name for name in registry if registry.source(name) == "randsmooth"}
        for kind, registry in (
            ("training method", METHODS),
            ("rule", RULES),
            ("data set", DATASETS),
        )
    }
    ours["bound"] = {*CONFIDENCE_BOUNDS}
    ours["settings of"] = {one.name.partition("/")[0] for one in PRESETS} - {
        "randsmooth"
    }
    for kind, names in ours.items():
        known = {name for need in NEEDS if need.kind == kind for name in need.names}
        assert known == names, kind
    networks = [
        name for name in ARCHITECTURES if ARCHITECTURES.source(name) == "randsmooth"
    ]
    for name in [*networks, "resnet152", "wrn16-4", "dncnn-17x64"]:
        assert cited([name]).unlisted == (), name
    used = {key for need in NEEDS for key in need.keys}
    assert {*references()} == used | {"randsmooth"}


def test_an_entry_is_whole_bibtex_in_plain_letters() -> None:
    file = (ROOT / "src/randsmooth/papers/references.bib").read_text()
    assert file.count("\n@") == len(references())
    for key, reference in references().items():
        text = reference.bibtex()
        assert f"\n{text}\n" in file, key  # nothing of it is lost in reading
        assert text.isascii() and text.count("{") == text.count("}"), key
        assert {"author", "title", "year"} | NEEDED[reference.kind] <= {
            *reference.fields
        }, key
        assert re.fullmatch(r"\d+--\d+", reference.fields.get("pages", "1--2")), key
        assert not re.search(r"[\\{}]", reference.text()), key


def test_the_method_of_a_paper_and_the_paper_name_the_same_people() -> None:
    for need in NEEDS:
        if need.kind != "training method":
            continue
        (name,) = need.names
        key = need.keys[0]
        first, fields = (
            METHODS[name].source.split(",")[0].split(" ")[0],
            references()[key].fields,
        )
        assert first in fields["author"].split(" and ")[0], name
        assert fields["year"] in METHODS[name].source, name


def test_parts_around_a_network_are_cited() -> None:
    assert keys(cited(["p_A"])) == keys(cited(["p_a"]))
    behind = {"denoiser": {"arch": "dncnn-17x64"}, "classifier": {"arch": "resnet20"}}
    diffused = {
        "denoiser": {"arch": "one step of the diffusion model UNet", "timestep": 3}
    }
    ensemble = {
        "arch": "Ensemble",
        "ensemble": 3,
        "method": "macer",
    }
    for model, named in (
        (behind, "salman2020denoised zhang2017beyond he2016deep"),
        (diffused, "carlini2023free"),
        (ensemble, "horvath2022boosting zhai2020macer"),
    ):
        assert {*named.split()} <= {
            *keys(bibliography_of(of_header(Header(model=model))))
        }, model


def test_what_another_package_brings_is_left_to_its_author(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(METHODS, "_added", {})
    METHODS.add("mine", METHODS["gaussian"])
    METHODS.add("a@{b", METHODS["gaussian"])
    found = cited(["mine"])
    assert keys(found) == ["randsmooth"]
    assert found.unlisted == ("the training method mine (from this program)",)
    assert found.unlisted[0] in found.text()
    assert found.bibtex().splitlines()[-1].startswith("% ")
    assert cited(["a@{b"]).bibtex().count("@") == 1  # a comment begins no entry


def test_the_papers_of_a_published_log_follow_from_its_path(logs: Path) -> None:
    (log,) = (logs / "cifar10-sigma0.5").glob("macer.tsv")
    certified = [
        "cohen2019certified",
        "clopper1934use",
        "zhai2020macer",
        "krizhevsky2009learning",
        "sun2025acr",
    ]
    assert keys(cited([log])) == ["randsmooth", *certified]


def test_a_name_that_nobody_knows_is_refused() -> None:
    assert "'smoothmix'" in refusal(lambda: cited(["smothmix"]))
