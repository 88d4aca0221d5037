"""The card of certificates: what was certified and what not, for people and for the hub."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, Literal

import yaml

from randsmooth import cards, data, metrics
from randsmooth.certificates import (
    Certificates,
    Header,
    HowToCertify,
    guarantee_of,
    precision_named,
    require_reachable,
)
from randsmooth.errors import BadValue, MissingValue, WrongTable
from randsmooth.escape import NOT_RECORDED, printable, shortened
from randsmooth.metrics import Estimate
from randsmooth.noise import (
    NORMS,
    Gaussian,
    HoldingFixed,
    Noise,
    PerFeature,
    WordAblation,
)
from randsmooth.number_text import shortest
from randsmooth.report.printed import (
    average_radius,
    percent,
    percent_ends,
    percent_with_ends,
)

# Stands for images without a name in the command that repeats a run.
UNNAMED_DATA = "DATA"

# What headers say of images that were given as objects, besides "the TensorDataset".
UNNAMED_SOURCES = ("arrays", "texts")

# The kind of a data set that is not on the hub, in a `model-index`.
CUSTOM_DATA = "custom"

# The name of the section in a card that is there already.
SECTION = "certificates of randsmooth"

# The task of the hub for images, and for rows of features.
TASKS = {
    "images": "image-classification",
    "rows": "tabular-classification",
    "texts": "text-classification",
}
# The field of a card that names its task.
PIPELINE = "pipeline_tag"

# The folder of a model on the hub whose files tell results of benchmarks.
RESULTS_FOLDER = ".eval_results"

# Decimals of the figures in the front matter: average radii in L-infinity are small.
DECIMALS = 5

# Characters of the hash of the weights: "sha256:" and 16 digits. A phone has room for them.
WEIGHTS_SHOWN = 23

# Fields of a header that a card lists, and their names there.
FACTS = {
    "selection": "selection of inputs",
    "n0": "n0, samples that pick the class",
    "n": "n, samples that bound p_A, at most",
    "alpha": "alpha, failure probability",
    "rule": "rule",
    "bound": "bound on p_A",
    "seed": "seed",
    "sound": "noisy inputs rounded exactly",
    "label_aware": "only the label is certified (evaluation only)",
    "source": "counts of another program",
    "precision": "precision",
    "device": "device",
    "versions": "versions",
}

# A selection of a header, such as "take 500 of 10000" -> the option that makes it.
OPTION_OF_SELECTION = {"take": "take", "one": "skip"}


@dataclass(frozen=True)
class CertifiedTable:
    """One table as a card tells it.

    Attributes:
        table: the certificates.
        summary: the metrics of the table.
        command: what repeats the run; empty where nothing does.
        language: the language of the command: sh or python.
    """

    table: Certificates
    summary: metrics.Summary
    command: str
    language: str

    @property
    def header(self) -> Header:
        return self.table.header

    @property
    def name(self) -> str:
        return self.table.name or "certificates"

    @property
    def inputs(self) -> Literal["images", "rows", "texts"]:
        """The word for the inputs: those with a unit for each coordinate are rows."""
        if self.table.norm == WordAblation.norm:
            return "texts"
        return "rows" if NORMS[self.table.norm].own_units else "images"

    @property
    def dataset(self) -> str:
        return dataset_name(self.header) or NOT_RECORDED

    @property
    def noise(self) -> str:
        return self.header.noise_title

    @property
    def guarantee(self) -> str:
        return guarantee_of(self.header)

    @property
    def radius_title(self) -> str:
        return NORMS[self.table.norm].title

    @property
    def version(self) -> str:
        return (self.header.versions or {}).get("randsmooth", "")

    @property
    def reached(self) -> dict[float, Estimate]:
        """Radius -> certified accuracy there, where the settings can certify anything."""
        return {
            radius: share
            for radius, share in self.summary.accuracy.items()
            if share is not None and metrics.can_certify(self.table, radius)
        }

    @property
    def accuracy(self) -> list[tuple[str, str]]:
        """Radii and certified accuracies, as printed."""
        return [
            (shortest(radius), percent_with_ends(share))
            for radius, share in self.reached.items()
        ]

    @property
    def p_a(self) -> list[tuple[str, str]]:
        """Levels of p_A and the shares of inputs, as printed."""
        return [
            (shortest(level), percent_with_ends(share))
            for level, share in self.summary.p_a.items()
        ]

    @property
    def sentences(self) -> list[str]:
        """Sentences on the average radius, and on what was not certified."""
        sentences = []
        if self.summary.acr is not None:
            radius = average_radius(self.summary.acr, self.table.norm)
            sentences.append(f"Average certified radius (ACR): {radius}.")
        if self.summary.abstention is not None:
            share = _share_words(self.summary.abstention)
            sentences.append(f"The vote abstains on {share}, which count as wrong.")
        if self.summary.declined is not None:
            share = _share_words(self.summary.declined)
            sentences.append(f"The model declines {share}.")
        if not self.table.labelled:
            sentences.append("The inputs have no labels: accuracy is not known.")
        sentences += [str(note) for note in self.header.notes]
        return sentences

    @property
    def facts(self) -> list[tuple[str, Any]]:
        """The settings that the header records, by name."""
        facts = []
        for field, name in FACTS.items():
            value = getattr(self.header, field)
            if value is not None and value is not False:
                facts.append((name, value))
        weights = (self.header.model or {}).get("weights")
        if weights is not None:
            # Long enough to know a model by; a table has the whole hash.
            facts.append(
                ("weights of the model", shortened(str(weights), WEIGHTS_SHOWN))
            )
        return facts


def card(
    tables: Certificates | Sequence[Certificates],
    onto: str = "",
    *,
    radii: Sequence[float] | None = None,
    commands: Mapping[str, str] | None = None,
    title: str | None = None,
) -> str:
    """Return a model card with what the tables certify, as the Hugging Face hub reads it.

    The front matter gets a `model-index` with the figures, and the Markdown a section for
    people. Nothing is sent anywhere.

    Args:
        tables: the certificates of one model.
        onto: the text of the card that the model has. Its own words stay. Certificates
            that it tells already are replaced. Default: a new card.
        radii: the radii of the certified accuracies; None for the usual ones.
        commands: name of a table -> the shell command that repeats it. Default: a call in
            Python.
        title: the name of the model in the front matter and a new card; default: that of
            the first table.

    Raises:
        Problem: there is no table, or one without images, without a noise, an n or an
            alpha, or `onto` has a front matter that is not YAML.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> table = from_radii([0.0, 0.3, 0.8], sigma=0.5, n=1000, alpha=0.001)
        >>> text = card(table.renamed("gaussian"))
        >>> results = cards.Card.parse(text).front["model-index"][0]["results"]
        >>> [metric["value"] for metric in results[0]["metrics"][:2]]
        [0.66667, 0.66667]
    """
    certified = _certified(tables, radii, commands)
    name = title or certified[0].name
    before = cards.Card.parse(onto)
    if not before.body.strip():
        before = cards.Card(before.front, f"# {_heading(name)}\n")
    section = cards.filled(
        "randsmooth.app",
        "cards",
        "certified.md.j2",
        {
            "certified": certified,
            "errs": any(one.header.alpha != 0.0 for one in certified),
            "rounds": not all(one.header.sound for one in certified),
        },
    )
    front = {
        "library_name": "randsmooth",
        PIPELINE: TASKS[certified[0].inputs],
        "tags": cards.TAGS,
        **before.front,
    }
    front["model-index"] = [{"name": name, "results": _results(certified, front)}]
    changed = before.with_section(SECTION, section)
    return cards.Card(front, changed.body).text


def benchmark_results(table: Certificates, benchmark: str, at: float) -> str:
    """Return the YAML of a file in .eval_results: certified accuracy in a benchmark.

    The hub shows such a file where the data set is registered as a benchmark there, with
    that task.

    Args:
        table: the certificates.
        benchmark: the id of the data set on the hub and of the task: "user/data:task".
        at: the radius of the certified accuracy.

    Raises:
        Problem: `benchmark` is not of that form, or the table has no labels.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> table = from_radii([0.0, 0.3, 0.8], sigma=0.5, n=1000, alpha=0.001)
        >>> text = benchmark_results(table, "user/digits:robust", at=0.25)
        >>> yaml.safe_load(text)[0]["value"]
        0.66667
    """
    dataset, _, task = benchmark.partition(":")
    if dataset.count("/") != 1 or not all([*dataset.split("/"), task]):
        raise BadValue(
            field="benchmark",
            value=benchmark,
            expected="must be the id of a data set on the hub and of a task, user/data:task",
        )
    (certified,) = _certified([table], [at], None)
    share = metrics.certified_accuracy(certified.table, at)
    low = round(share.low, DECIMALS)
    high = round(share.high, DECIMALS)
    settings = _settings_of_metric(certified)
    listed = ", ".join(f"{name} {value}" for name, value in settings.items())
    note = (
        f"certified accuracy, {certified.radius_title} {shortest(at)}, 95% interval "
        f"{low} to {high}, {share.images} {certified.inputs}, {listed}"
    )
    entry = {
        "dataset": {"id": dataset, "task_id": task},
        "value": round(share.value, DECIMALS),
        "notes": printable(note),
    }
    return yaml.safe_dump([entry], sort_keys=False, allow_unicode=True)


def dataset_name(header: Header) -> str | None:
    """Return the name of the data set, of a path its last part alone.

    A card is published, and its readers have no folders of this machine.
    """
    if header.dataset is None:
        return None
    return PurePath(header.dataset).name


def _typed_dataset(header: Header) -> str:
    """Return how the data set is typed; UNNAMED_DATA for images that have no name.

    Arrays, and data sets of torch, are recorded by what they are, which opens nothing.
    """
    name = dataset_name(header)
    if name is None or name in UNNAMED_SOURCES or name.startswith("the "):
        return UNNAMED_DATA
    return name


def repeating(header: Header) -> dict[str, Any] | None:
    """Return what `certify` is to be called with, to certify as a header says.

    Settings that are defaults are left out. Images without a name are called
    UNNAMED_DATA. The answer is None where `certify` did not
    make the counts: of a log, of another program's counts, and of a routed table.

    Example:
        >>> header = Header(
        ...     sigma=0.5, n=1000, alpha=0.001, dataset="mnist", selection="take 5 of 10000"
        ... )
        >>> repeating(header)
        {'dataset': 'mnist', 'sigma': '0.5', 'take': 5, 'n': 1000}
    """
    if header.noise is None or header.source or header.n is None:
        return None
    values: dict[str, Any] = {"dataset": _typed_dataset(header)}
    if header.split not in (None, "test"):
        values["split"] = header.split
    values |= _noise_setting(header.noise)
    values |= _selection_setting(header.selection)
    values |= _other_settings(header)
    for name in ("resize", "crop", "shard"):
        if getattr(header, name) is not None:
            values[name] = getattr(header, name)
    return values


def _certified(
    tables: Certificates | Sequence[Certificates],
    radii: Sequence[float] | None,
    commands: Mapping[str, str] | None,
) -> list[CertifiedTable]:
    """Return the tables as a card tells them.

    Raises:
        Problem: in the cases of `card`.
    """
    several = [tables] if isinstance(tables, Certificates) else tables
    if not several:
        raise MissingValue("a card needs a table of certificates", field="tables")
    certified = []
    for table in several:
        if not len(table):
            raise WrongTable(f"{table.name} holds no image: leave it out")
        require_reachable(table)
        language = "python"
        command = _call(table.header)
        if commands is not None:
            language = "sh"
            command = commands.get(table.name, "")
        summary = metrics.summarise(table, radii)
        # The command stands in a fence, which a line break in a name could end.
        command = printable(command)
        certified.append(CertifiedTable(table, summary, command, language))
    return certified


def _call(header: Header) -> str:
    """Return the call in Python that certifies as a header says; empty if none does."""
    settings = repeating(header)
    if settings is None:
        return ""
    dataset = settings.pop("dataset")
    words = ["model", "(x, y)" if dataset == UNNAMED_DATA else repr(dataset)]
    words += [f"{name}={value!r}" for name, value in settings.items()]
    return f"rs.certify({', '.join(words)})"


def _noise_setting(noise: Noise) -> dict[str, str]:
    """Return the option that gives a noise, sigma or noise, and its value as typed."""
    if isinstance(noise, HoldingFixed):
        # Which columns are held fixed follows from the data.
        return _noise_setting(noise.noise)
    if isinstance(noise, PerFeature):
        return {"sigma": f"{shortest(noise.times)}std"}
    if isinstance(noise, Gaussian):
        return {"sigma": shortest(noise.sigma)}
    return {"noise": noise.text}


def _share_words(share: Estimate) -> str:
    """Return a share with its interval, as it stands in a sentence."""
    low, high = percent_ends(share)
    return f"{percent(share)}% ({low}% to {high}%)"


def _selection_setting(selection: str | None) -> dict[str, int]:
    """Return the option that selects images as a header says; empty where all are.

    Example:
        >>> _selection_setting("one in 20 of 364"), _selection_setting("all 364")
        ({'skip': 20}, {})
    """
    words = (selection or "").split()
    option = OPTION_OF_SELECTION.get(words[0]) if words else None
    if option is None:
        return {}
    # The number stands before "of" and the size of the split.
    return {option: int(words[-3])}


def _other_settings(header: Header) -> dict[str, Any]:
    """Return the settings of a header besides the noise that are no defaults."""
    facts: dict[str, Any] = {
        name: getattr(header, name) for name in HowToCertify.model_fields
    }
    if header.precision is not None:
        facts["precision"] = precision_named(header.precision)
    if header.alpha == 0.0:
        # A rule that counts all copies sets these itself.
        for name in ("n0", "n", "alpha"):
            del facts[name]
    # The seed of `certify` is 0, and its backend torch, where none is given.
    defaults = {**dict(HowToCertify()), "seed": 0, "backend": "torch"}
    return {
        name: value
        for name, value in facts.items()
        if value is not None and value != defaults[name]
    }


def _heading(name: str) -> str:
    """Return the heading of a new card."""
    return f"{cards.cell(name)}: certificates by randomized smoothing"


def _results(
    certified: Sequence[CertifiedTable], front: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Return the results of a `model-index`, one for each table."""
    return [
        {
            "task": {"type": front[PIPELINE], "name": "Certified classification"},
            "dataset": _dataset(one),
            "metrics": _metrics(one),
        }
        for one in certified
    ]


def _dataset(certified: CertifiedTable) -> dict[str, Any]:
    """Return the data set of a result: by its id on the hub, where it has one."""
    spec = data.DATASETS.get(certified.header.dataset or "")
    name = printable(certified.dataset)
    facts = {
        "type": CUSTOM_DATA if spec is None or spec.hub is None else spec.hub,
        "name": name,
    }
    if certified.header.split is not None:
        facts["split"] = printable(certified.header.split)
    return facts


def _metrics(certified: CertifiedTable) -> list[dict[str, Any]]:
    """Return the metrics of a result, each with its settings and interval."""
    norm = NORMS[certified.table.norm]
    settings = _settings_of_metric(certified)
    entries = [
        _metric(
            "certified_accuracy",
            f"Certified accuracy, {norm.radius} {shortest(radius)}",
            share,
            {"radius": radius, "norm": certified.table.norm, **settings},
        )
        for radius, share in certified.reached.items()
    ]
    for level, share in certified.summary.p_a.items():
        title = f"Share with p_A of at least {shortest(level)}"
        entries.append(_metric("p_a_share", title, share, {"p_a": level, **settings}))
    summary = certified.summary
    if summary.acr is not None:
        title = f"Average certified {norm.radius} (ACR)"
        entries.append(
            _metric("average_certified_radius", title, summary.acr, settings)
        )
    if summary.abstention is not None:
        entries.append(_metric("abstention", "Abstains", summary.abstention, settings))
    return entries


def _metric(
    kind: str, title: str, estimate: Estimate, settings: Mapping[str, Any]
) -> dict[str, Any]:
    """Return an entry of a `model-index`: a figure with its 95% interval."""
    args = {
        **settings,
        "interval_95": [round(estimate.low, DECIMALS), round(estimate.high, DECIMALS)],
        "inputs": estimate.images,
    }
    return {
        "type": kind,
        "name": title,
        "value": round(estimate.value, DECIMALS),
        "args": args,
    }


def _settings_of_metric(certified: CertifiedTable) -> dict[str, Any]:
    """Return the settings without which a certified figure means nothing."""
    header = certified.header
    settings = {
        "noise": printable(certified.noise),
        "n": header.n,
        "alpha": header.alpha,
        "rule": header.rule,
    }
    return {name: value for name, value in settings.items() if value is not None}
