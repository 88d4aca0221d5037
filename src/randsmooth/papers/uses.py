"""The things to cite that a table, a model folder or a name tells of."""

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

# The kinds of things that other packages may add -> the registry that lists them.
REGISTRIES: dict[str, Any] = {
    "training method": METHODS,
    "data set": DATASETS,
    "rule": RULES,
    "noise": NOISES,
}


def uses_of(thing: str | Path) -> Iterator[Use]:
    """Yield the things to cite for one thing that a user named.

    Args:
        thing: the path of a model folder or of a file of certificates; or else a name,
            such as "macer" or "cifar10".

    Raises:
        Problem: the folder holds no model, the file no certificates, or the name is
            unknown.
    """
    path = Path(thing)
    if path.is_dir():
        yield from _of_model(path)
    elif path.is_file():
        yield from _of_table(path)
    else:
        yield from _of_name(str(thing))


def _of_name(thing: str) -> list[Use]:
    """Return the things of every kind with a name: ours, or else other packages'."""
    # A rule may be given with its setting, as in "radius=0.5".
    name = thing.partition("=")[0]
    ours = [Use(kind, name.lower()) for kind in KINDS]
    uses = [use for use in ours if use.known]
    if not uses:
        uses = [
            Use(kind, name) for kind, registry in REGISTRIES.items() if name in registry
        ]
    if not uses:
        unknown_name = unknown("name", name, dict.fromkeys(names_to_cite()))
        raise NotFound(f"no file or folder {thing}, and {unknown_name}")
    return uses


def _of_model(folder: Path) -> Iterator[Use]:
    """Yield the method, data set and network of the model in a folder."""
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
    """Yield the things behind a file of certificates."""
    table = read(path)
    header = table.header
    # The text of a published log does not say of which model it is. Its path may.
    if table.is_log:
        facts = path_facts(path)
        model = {"method": facts.method, "arch": facts.arch}
        header = Header(dataset=facts.dataset, model=model)
    yield from of_header(header)


def of_header(header: Header) -> Iterator[Use]:
    """Yield the things to cite for a table of certificates, as its header tells.

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
    if header.routing is not None:
        yield Use("part", "routed")
    # The header names a rule with its setting, as in "radius=0.5".
    rule = header.rule.partition("=")[0]
    if header.routing is not None:
        # The tables that it was made of tell rules and bounds of their own.
        rule = "fixed"
    # The rule "fixed" is that of CERTIFY, which is cited above.
    if rule != "fixed":
        yield Use("rule", rule)
    # Another rule has a bound of its own, unless it takes "any-class".
    if rule == "fixed" or header.bound == "any-class":
        # Published logs name no bound: theirs is the usual one.
        yield Use("bound", header.bound or "clopper-pearson")
    if header.sound:
        yield Use("part", "sound")
    # Gaussian noise, which is also that of published logs, is the one of CERTIFY.
    if header.noise is not None and not isinstance(header.noise, Gaussian):
        yield Use("noise", header.noise.name)
    # The models of router and experts are told by their own tables.
    model = {} if header.routing is not None else header.model or {}
    yield from _of_base(model)
    yield from _named("data set", header.dataset)
    # Any table gives both. Whether the user's paper reports them, no header can tell:
    # the reasons of these two say "where you report one".
    yield Use("part", "acr")
    yield Use("part", "p_a")


def _of_base(model: Mapping[str, Any]) -> Iterator[Use]:
    """Yield the parts of a base classifier, and the things behind their training.

    Args:
        model: what the header of a table says of the base classifier.
    """
    denoiser = model.get("denoiser")
    if isinstance(denoiser, dict):
        # Only a diffusion model has a timestep.
        is_diffusion_model = "timestep" in denoiser
        yield Use("part", "diffusion" if is_diffusion_model else "denoised")
        yield from _of_training(denoiser)
        classifier = model.get("classifier")
        yield from _of_training(classifier if isinstance(classifier, dict) else {})
        return
    if "ensemble" in model:
        yield Use("part", "ensemble")
    yield from _of_training(model)


def _of_training(facts: Mapping[str, Any]) -> Iterator[Use]:
    """Yield the things to cite for the training of a network.

    They are the method, the paper of its settings, the attack, the architecture and the
    data set.

    Args:
        facts: what a header or config.json says of the training.
    """
    yield from _named("training method", facts.get("method"))
    paper = str(facts.get("preset") or "").partition("/")[0]
    # A preset is called PAPER/METHOD. Those of ours and of users cite nothing.
    settings = Use("settings of", paper)
    if settings.known:
        yield settings
    hyperparameters = dict(facts.get("hyperparameters") or {})
    if str(hyperparameters.get("attack")).startswith("ddn"):
        yield Use("part", "ddn")
    # What users built themselves has no paper that could be listed as missing.
    network = Use("architecture", str(facts.get("arch")))
    if network.known:
        yield network
    yield from _named("data set", facts.get("dataset"))


def _named(kind: str, name: object) -> Iterator[Use]:
    """Yield the thing of a kind with a name; nothing for what is no name.

    What is no name is a fact that is missing, or the path of a user's own data.
    """
    if isinstance(name, str) and name and not re.search(r"[/\\.]", name):
        yield Use(kind, shortened(printable(name)))
