"""What a table, a model or a name stands on."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from randsmooth.certificates import Header, path_facts, read
from randsmooth.data import DATASETS
from randsmooth.documents import parse_json, read_file
from randsmooth.errors import NotFound, WrongFile, article, unknown
from randsmooth.escape import printable, shortened
from randsmooth.methods import METHODS
from randsmooth.noise import NOISES, Gaussian
from randsmooth.papers.citation_needs import KINDS, Use, names_to_cite
from randsmooth.rules import RULES

# Bytes of the largest config.json that is read (4 MiB).
MOST_CONFIG_BYTES = 2**22

# The kinds of things that other packages bring, too.
REGISTRIES: dict[str, Any] = {
    "training method": METHODS,
    "data set": DATASETS,
    "rule": RULES,
    "noise": NOISES,
}


def uses_of(thing: str | Path) -> Iterator[Use]:
    """Return the citable things behind one thing that a user named.

    Raises:
        Problem: it is neither a file of certificates, nor a model folder, nor a name
            that is known.
    """
    path = Path(thing)
    if path.is_dir():
        yield from _of_model(path)
    elif path.is_file():
        yield from _of_table(path)
    else:
        yield from _of_name(str(thing))


def _of_name(thing: str) -> list[Use]:
    """Return everything that is called so: things of ours, or else of other packages."""
    name = thing.partition("=")[0]
    ours = [Use(kind, name.lower()) for kind in KINDS]
    uses = [use for use in ours if use.known]
    if not uses:
        uses = [
            Use(kind, name) for kind, registry in REGISTRIES.items() if name in registry
        ]
    if not uses:
        expected = unknown("name", name, dict.fromkeys(names_to_cite()))
        raise NotFound(f"no file or folder {thing}, and {expected}")
    return uses


def _of_model(folder: Path) -> Iterator[Use]:
    """Return how a model folder was trained, on what, with which network."""
    path = folder / "config.json"
    config = parse_json(read_file(path, MOST_CONFIG_BYTES), path)
    if (
        not isinstance(config, dict)
        or not isinstance(config.get("provenance"), dict)
        or "arch" not in config
    ):
        raise WrongFile(
            f"{folder} is {article('folder')} without a config.json "
            "of a model of randsmooth"
        )
    yield from _of_training({**config["provenance"], "arch": config["arch"]})
    # Only the configuration of a denoiser has channels.
    if "channels" in config:
        yield Use("part", "denoised")


def _of_table(path: Path) -> Iterator[Use]:
    table = read(path)
    header = table.header
    if table.is_log:
        place = path_facts(path)
        model = {"method": place.method, "arch": place.arch}
        header = Header(dataset=place.dataset, model=model)
    yield from of_header(header)


def of_header(header: Header) -> Iterator[Use]:
    """Yield the citable things behind a table of certificates, by its header.

    Example:
        >>> for use in of_header(Header(rule="grid", sound=True, dataset="mnist")):
        ...     print(use.kind, use.name)
        part certify
        rule grid
        part sound
        data set mnist
        part acr
        part p_a
    """
    yield Use("part", "certify")
    rule = header.rule.partition("=")[0]
    # The rule "fixed" is that of CERTIFY, which is cited above.
    if rule != "fixed":
        yield Use("rule", rule)
    if rule == "fixed" or header.bound == "any-class":
        bound = Use("bound", str(header.bound))
        # A log has a word of its own for the usual one.
        yield bound if bound.known else Use("bound", "clopper-pearson")
    if header.sound:
        yield Use("part", "sound")
    if header.noise is not None and not isinstance(header.noise, Gaussian):
        yield Use("noise", header.noise.name)
    yield from _of_base(header.model or {})
    yield from _named("data set", header.dataset)
    yield Use("part", "acr")
    yield Use("part", "p_a")


def _of_base(model: Mapping[str, Any]) -> Iterator[Use]:
    """Return the parts of the base classifier of a table, and how each was trained."""
    denoiser = model.get("denoiser")
    if isinstance(denoiser, dict):
        in_one_step = "timestep" in denoiser
        yield Use("part", "diffusion" if in_one_step else "denoised")
        yield from _of_training(denoiser)
        classifier = model.get("classifier")
        yield from _of_training(classifier if isinstance(classifier, dict) else {})
        return
    noted = any(
        str(note).startswith("an ensemble of") for note in model.get("notes") or ()
    )
    if noted or model.get("arch") == "Ensemble":
        yield Use("part", "ensemble")
    yield from _of_training(
        {key: value for key, value in model.items() if value != "Ensemble"}
    )


def _of_training(facts: Mapping[str, Any]) -> Iterator[Use]:
    """Yield the citable things known of a network's training.

    That is method, its settings, attack, architecture and data set.
    """
    yield from _named("training method", facts.get("method"))
    paper = str(facts.get("preset") or "").partition("/")[0]
    preset = Use("settings of", paper)
    if preset.known:
        yield preset
    hyperparameters = dict(facts.get("hyperparameters") or {})
    if str(hyperparameters.get("attack")).startswith("ddn"):
        yield Use("part", "ddn")
    network = Use("architecture", str(facts.get("arch")))
    if network.known:
        yield network
    yield from _named("data set", facts.get("dataset"))


def _named(kind: str, name: object) -> Iterator[Use]:
    """Return a thing of a kind, where it has a name.

    A path of a user's own data is none.
    """
    if isinstance(name, str) and name and not re.search(r"[/\\.]", name):
        yield Use(kind, shortened(printable(name)))
