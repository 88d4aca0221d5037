"""What a log was made with, taken from the user, from its path or from its largest radii; never assumed.

A path says repository, sigma, data set, method and settings. And n of n successes certify sigma * Phi^-1(alpha^(1/n))
and no more: many images reach that, so the largest radius of a log reveals its budget. 3.81 sigma is n = 100,000 at
alpha 0.001, and 3.91 sigma is the same n at alpha 0.01.
"""

import csv
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from randsmooth import bounds
from randsmooth.certificates.evidence import ABSTAIN, Floats, name_images
from randsmooth.certificates.table import Certificates
from randsmooth.errors import BadValue
from randsmooth.escape import printable, shortened
from randsmooth.noise import Gaussian, check_sigma, round_down
from randsmooth.rules import MOST_SAMPLES

HERE = resources.files("randsmooth.certificates.logs")
KNOWN = tomllib.loads(HERE.joinpath("known.toml").read_text(encoding="utf-8"))
CLASSES: dict[str, int] = KNOWN["classes"]
DATASETS: dict[str, str] = {name: name for name in CLASSES} | KNOWN["dataset_aliases"]
CORRUPTED = ("cifar10c", "mnistc")  # whose files are called by the corruption

NUMBER = r"\d+(?:\.\d+)?"
FACTS = {
    name: re.compile(form.replace("{X}", NUMBER))
    for name, form in KNOWN["facts"].items()
}
OURS = re.compile(
    rf"(?P<dataset>.+)-sigma(?P<sigma>{NUMBER})"
)  # a folder whose logs are called by their method
ARCH = re.compile(
    r"(?:cifar_|cifar100_)?((?:resnet|densenet|vgg|wrn|lenet)\d*)", re.IGNORECASE
)
SEVERITY = re.compile(r"severity_(\d)")
RUN = re.compile(
    r"_?(\d+)(?:_o)?"
)  # `noise_0.50_4490`, and folders that are but a number: which of several runs
SUFFIXES = {".tsv", ".txt", ".csv", ".log"}  # of logs; `sigma_0.25` has none
PHRASES = {
    "sigma": "sigma",
    "n": "n",
    "alpha": "alpha",
    "dataset": "data set",
    "split": "split",
    "method": "method",
}

# A notation of settings each, and the method that it names. A group is called as the setting is here; `*_256` is a size
# in 1/256 of a pixel's range, {X} a number, as in known.toml.
with HERE.joinpath("notations.csv").open(encoding="utf-8") as file:
    LINES = list(csv.DictReader(file))
NOTATIONS = tuple(
    (re.compile(each["form"].replace("{X}", NUMBER), re.IGNORECASE), each["method"])
    for each in LINES
)
PIXEL = 256.0  # by what the released codes divide the size of an attack

Settings = dict[str, float | str]
T = TypeVar("T")


@dataclass(frozen=True)
class Repository:
    """A repository of certification logs.

    Attributes:
        name: OWNER/NAME on GitHub.
        method: the one that it is about, which a log is of whose path names none.
        shared: folder -> what all logs below it share and their paths do not say.
    """

    name: str
    method: str
    shared: Mapping[str, Mapping[str, str | float]] = field(default_factory=dict)


REPOSITORIES = tuple(Repository(**each) for each in KNOWN["repositories"])
NOWHERE = Repository("", "")


def split_at_repository(parts: Sequence[str]) -> tuple[Repository, list[str]]:
    """The repository that a path lies in, by the name of its folder, or NOWHERE; and the parts below that folder.

    The folder is called OWNER+NAME, or NAME as a clone is, or NAME-main as an archive; a NAME must have one of the
    folders below it that these repositories have, as `smoothmix` is also the name of a method. Without a repository,
    all parts are given back.

    Example:
        >>> found, below = split_at_repository(["logs", "smoothmix", "data", "certify", "mnist", "log"])
        >>> found.name, below
        ('jh-jeong/smoothmix', ['data', 'certify', 'mnist', 'log'])
    """
    for place, part in enumerate(parts):
        name, below = (
            re.sub("-(main|master)$", "", part.lower()),
            list(parts[place + 1 :]),
        )
        for one in REPOSITORIES:
            whole = one.name.lower()
            cloned = name == whole.partition("/")[2] and {*below[:1]} & {*KNOWN["tops"]}
            if cloned or name == whole.replace("/", "+"):
                return one, below
    return NOWHERE, list(parts)


def in_repository(path: Path) -> Path:
    """`path` as it lies in its repository, `OWNER+NAME/data/...`; itself where it lies in none of REPOSITORIES.

    A user may stand in the clone.

    Example:
        >>> print(in_repository(Path("smoothing/data/certify/cifar10/resnet110/noise_0.25/test/sigma_0.25")))
        locuslab+smoothing/data/certify/cifar10/resnet110/noise_0.25/test/sigma_0.25
    """
    repository, below = split_at_repository(path.absolute().parts)
    return (
        path
        if repository is NOWHERE
        else Path(repository.name.replace("/", "+"), *below)
    )


@dataclass(frozen=True)
class PathFacts:
    """The facts in a path; None or empty where it says nothing, or contradicts itself.

    Attributes:
        sigma: of the certification.
        training_sigma: that of the training: where the path names both, or in a repository, where one is of both.
        n: samples per image.
        alpha: probability that a certificate is wrong.
        dataset, split, method: by their names here; the split of corrupted images is the corruption and its severity.
        arch: the architecture.
        settings: hyperparameters, by their names here.
        run: which of several runs with the same settings, such as its seed.
        repository: OWNER/NAME of the released repository that the path lies in.
        by_repository: which of these facts all logs there share, so that the path need not say them.
        other_parts: parts of the path that say something else, such as a variation of the method.
        filed_by_user: whether the path is DATASET-sigmaSIGMA/METHOD.tsv, where a user filed it.

    Example:
        >>> print(path_facts(Path("cifar10-sigma0.5/macer.tsv")).in_words())
        sigma 0.5, data set cifar10, method macer as the path says
    """

    sigma: float | None = None
    training_sigma: float | None = None
    n: int | None = None
    alpha: float | None = None
    dataset: str = ""
    split: str = ""
    method: str = ""
    arch: str = ""
    settings: Settings = field(default_factory=dict)
    run: str = ""
    repository: str = ""
    by_repository: tuple[str, ...] = ()
    other_parts: tuple[str, ...] = ()
    filed_by_user: bool = False

    @property
    def model(self) -> dict[str, Any]:
        """What is known of the base classifier, for a header; empty facts are left out."""
        facts: dict[str, Any] = {
            "method": self.method,
            "hyperparameters": dict(self.settings),
            "arch": self.arch,
        }
        variation = shortened(printable(", ".join(self.other_parts)))
        facts |= {
            "run": self.run,
            "variation": variation,
            "repository": self.repository,
            "sigma": self.training_sigma,
        }
        return {
            key: value for key, value in facts.items() if value not in (None, "", {})
        }

    def in_words(self) -> str:
        """The facts in one phrase, `sigma 0.5, data set cifar10 as the path says`; empty without any."""
        parts = []
        for shared, by in (
            (False, "as the path says"),
            (True, f"as all logs there of {self.repository} have it"),
        ):
            names = [name for name in PHRASES if (name in self.by_repository) == shared]
            known = {
                name: value
                for name in names
                if (value := getattr(self, name)) not in (None, "")
            }
            said = [f"{PHRASES[name]} {_shown(value)}" for name, value in known.items()]
            parts += [f"{', '.join(said)} {by}"] * bool(said)
        return "; ".join(parts)


def _shown(value: float | str) -> str:
    return (
        f"{value:,}"
        if isinstance(value, int)
        else value
        if isinstance(value, str)
        else f"{value:g}"
    )


def stem_of(path: Path) -> str:
    """What a log is called: its name without its suffix.

    Example:
        >>> stem_of(Path("runs/macer.tsv")), stem_of(Path("runs/sigma_0.25"))
        ('macer', 'sigma_0.25')
    """
    return path.stem if path.suffix in SUFFIXES else path.name


def path_facts(path: Path) -> PathFacts:
    """The facts in `path`, which is like `cifar10-sigma0.5/macer.tsv` or as the released repositories lay out theirs.

    Where both `noise_` and `sigma_` occur, the first is of the training and the second of the certification.

    Example:
        >>> facts = path_facts(Path("logs/cifar10/noise_0.50/consistency/num_2/lbd_10.0/N_1000.tsv"))
        >>> facts.dataset, facts.sigma, facts.n, facts.method, facts.settings
        ('cifar10', 0.5, 1000, 'consistency', {'m': 2, 'lbd': 10.0})
        >>> path_facts(Path("jh-jeong+smoothmix/data/certify/mnist/cohen/noise_0.25_393")).model
        {'method': 'gaussian', 'run': '393', 'repository': 'jh-jeong/smoothmix', 'sigma': 0.25}
    """
    parts = [*path.parts[:-1], stem_of(path)]
    folder = OURS.fullmatch(path.parent.name)
    if folder is not None:
        dataset, method = _dataset(folder["dataset"]), method_named(parts[-1])
        return PathFacts(
            float(folder["sigma"]), dataset=dataset, method=method, filed_by_user=True
        )
    repository, parts = split_at_repository(parts)
    shared: dict[str, Any] = {
        key: x for part in parts for key, x in repository.shared.get(part, {}).items()
    }
    dataset = (
        shared.get("dataset")
        or _one({_dataset(p) for p in parts if p.lower() in DATASETS})
        or ""
    )
    named = _method(parts, repository.method)
    texts = {
        name: [x for part in parts for x in form.findall(part)]
        for name, form in FACTS.items()
    }
    told = {
        name: _one({(int if name == "n" else float)(x) for x in found})
        for name, found in texts.items()
    }
    sigma, noise = told.pop("sigma"), told.pop("noise")
    # `noise_0.00` is of a training without noise.
    known = next(
        (x for x in (sigma, noise or None, shared.get("sigma")) if x is not None), None
    )
    settings, run, other = _settings(parts, dataset)
    facts: dict[str, Any] = told | {
        "settings": settings,
        "run": run,
        "other_parts": other,
        "dataset": dataset,
    }
    facts["training_sigma"] = (
        noise if sigma is not None else known if repository.name else None
    )  # one sigma is of both
    facts["split"] = _split(
        parts[1:] if repository.name else parts, dataset
    )  # `test/certify` is where results go
    facts["arch"] = (
        _one({match[1].lower() for part in parts if (match := ARCH.fullmatch(part))})
        or ""
    )
    facts["by_repository"] = (
        *shared,
        *(["method"] if repository.method and not named else []),
    )
    return PathFacts(
        known, **facts, method=named or repository.method, repository=repository.name
    )


def method_named(name: str) -> str:
    """The name that a method has here, for the `name` that a log or a paper gives it.

    Example:
        >>> method_named("Cohen"), method_named("consistency")
        ('gaussian', 'consistency')
    """
    plain = name.lower().strip()
    return str(KNOWN["method_aliases"].get(plain, plain))


def _dataset(name: str) -> str:
    return DATASETS.get(name.lower(), name)


def _one(values: set[T]) -> T | None:
    return next(iter(values)) if len(values) == 1 else None


def _split(parts: Sequence[str], dataset: str) -> str:
    if dataset in CORRUPTED:
        severity = _one(
            {int(found[1]) for part in parts if (found := SEVERITY.fullmatch(part))}
        )
        return parts[-1] if severity is None else f"{parts[-1]}, severity {severity}"
    return _one({part for part in parts if part in ("train", "test")}) or ""


def _method(parts: Sequence[str], own: str) -> str:
    """The one method that the path names. Consistency stands before what it is added to."""
    named = {name for part in parts if (name := _method_in(part, own))}
    if "consistency" in named:
        named = (
            {"smoothadv+consistency"}
            if named == {"consistency", "smoothadv"}
            else named - {"gaussian"}
        )
    return _one(named) or ""


def _method_in(part: str, own: str) -> str:
    """The method that a part names; `own` is that of the repository, which alone says whose "ours" is."""
    name = own if part.lower() == "ours" else method_named(part)
    return _notation(part)[1] or (name if name in KNOWN["methods"] else "")


def _settings(
    parts: Sequence[str], dataset: str
) -> tuple[Settings, str, tuple[str, ...]]:
    """The settings, the run and the other parts, from the data set or method on (anything may stand before)."""
    known = [
        bool(
            p.lower() in DATASETS
            or _method_in(p, "")
            or _notation(p)[0]
            or p == "ablation"
        )
        for p in parts
    ]
    left = parts[known.index(True) :] if any(known) else []
    if dataset in CORRUPTED:  # the split says them
        left = [part for part in left[:-1] if not SEVERITY.fullmatch(part)]
    settings, runs, other = Settings(), list[str](), list[str]()
    for part in left:
        for form in FACTS.values():
            part = form.sub("", part)
        found, run = _notation(part)[0], RUN.fullmatch(part)
        plain = part.lower() in {
            "",
            *KNOWN["plain"],
            *DATASETS,
            *KNOWN["methods"],
            *KNOWN["method_aliases"],
        }
        settings |= found
        if run and not found:
            runs.append(run[0].strip("_"))
        elif not (found or plain or ARCH.fullmatch(part)):
            other.append(part.strip("_"))
    return settings, "-".join(runs), tuple(other)


@lru_cache(maxsize=4096)
def _notation(part: str) -> tuple[Settings, str]:
    """The settings that a part of a path gives and the method that it names; nothing where it is no known notation.

    Example:
        >>> _notation("pgd_255.0_10_10")
        ({'eps': 0.99609375, 'T': 10, 'warmup': 10}, '')
        >>> _notation("smix_1.0_8_m1")
        ({'alpha': 1.0, 'T': 8, 'start': 1.0}, 'smoothmix')
        >>> _notation("mnist")
        ({}, '')
    """
    for form, method in NOTATIONS:
        if found := form.fullmatch(part):
            given = {
                key: text for key, text in found.groupdict().items() if text is not None
            }
            one = (
                {"m": "1"} if "attack" in given and "several" not in given else {}
            )  # noise an image, by their names
            return dict(
                _setting(key, text, given)
                for key, text in (given | one).items()
                if key != "several"
            ), method
    return {}, ""


def _setting(key: str, text: str, given: Mapping[str, str]) -> tuple[str, float | str]:
    """The name here and the value of one group."""
    if key == "more":
        return key, "self-training"
    if not text.replace(".", "", 1).isdigit():
        return key, text if key == "pretrained" else text.lower().replace("_", " ")
    value = float(text) if "." in text else int(text)
    if (
        key == "start_steps"
    ):  # how far SmoothMix moves the clean end: that many steps of size alpha
        return "start", value * float(given["alpha"])
    if key == "deferred":  # so many epochs pass without MACER's robustness term
        return "lbd_from", value + 1
    return key.removesuffix("_256"), value / PIXEL if key.endswith("_256") else value


COMMON_ALPHA = 0.001  # at which most papers certify
USUAL_N = (
    100,
    200,
    500,
    1000,
    2000,
    5000,
    10_000,
    20_000,
    50_000,
    100_000,
    200_000,
    500_000,
    1_000_000,
)
USUAL_ALPHA = (0.0001, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.025, 0.05, 0.1)
TOP = 64  # how many of the largest radii are compared with a budget's: smaller ones lie too close together
ROUNDED = 0.005  # a log prints three significant digits, perhaps rounded up
FINEST = 1e-6  # what `write_tsv` rounds down to
SMALLEST = 1e-300  # q, in place of 0, which certifies everything
FINE = 7  # decimals: with as many or more, a radius may be off by FINEST
STANDARD = Gaussian(1.0)
LOOSEST = 0.5  # an alpha above any in use
PILE = (
    0.02  # of the images, so many at one radius are at the end of what can be certified
)

Budget = tuple[int, float]


def infer(
    table: Certificates,
    path: Path | str,
    *,
    sigma: float | None = None,
    n: int | None = None,
    alpha: float | None = None,
) -> Certificates:
    """Complete a log with the facts that it does not hold (sigma, n, alpha, data set), and judge it at alpha 0.001.

    Arguments take precedence over what the path says (see `path_facts`). If neither gives n and alpha, they are taken
    from the largest radii, provided that exactly one usual budget explains these. If that alpha is not 0.001, the log
    is judged again at 0.001 (see `log_at_alpha`). The header's notes say where each fact comes from; what stays unknown
    stays None. A table of counts is returned unchanged.

    Raises:
        Problem: the radii cannot come from the given sigma, n and alpha.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> table = infer(from_radii([0.2, 1.91, 1.91]), "cifar10-sigma0.5/macer.tsv")
        >>> table.header.dataset, table.header.sigma, table.header.n, table.header.alpha
        ('cifar10', 0.5, 100000, 0.001)
    """
    if not table.is_log:
        return table
    _check_own_sigma(table, sigma)
    known = _placed(table, path_facts(Path(path)), sigma=sigma, n=n, alpha=alpha)
    require_reachable(known)
    made = _budgeted(known)
    made = _noted(made, _doubt(made))
    return (
        made
        if alpha is not None or made.header.alpha is None
        else log_at_alpha(made, COMMON_ALPHA)
    )


def _check_own_sigma(table: Certificates, sigma: float | None) -> None:
    """Raise Problem where a `sigma` is given that is not the one that the log itself states."""
    own = table.header.sigma
    if sigma is not None and own is not None and sigma != own:
        raise BadValue(
            f"{table.name}: it says itself that sigma is {own:g}: leave sigma out; got sigma={sigma:g}"
        )


def _placed(
    table: Certificates, place: PathFacts, **given: float | None
) -> Certificates:
    """The table with the facts that were given, then with those that its path says, after those of its own."""
    known = table.assuming(**given)  # type: ignore[arg-type]
    if table.sigmas is not None:
        place = replace(place, sigma=None)  # that of the training, or of the search
    budget = {
        name: getattr(place, name)
        for name in given
        if getattr(known.header, name) is None
    }
    made = known.assuming(**budget)
    facts = {
        "dataset": place.dataset or None,
        "split": place.split or None,
        "model": place.model or None,
    }
    new = {
        key: value for key, value in facts.items() if getattr(made.header, key) is None
    }
    used: dict[str, Any] = dict.fromkeys(given, None) | budget
    said = replace(place, **used).in_words()
    trained = (
        ""
        if place.training_sigma in (None, made.header.sigma)
        else f"trained at sigma {place.training_sigma:g}"
    )
    return _noted(made, said, trained, **new)


def _budgeted(table: Certificates) -> Certificates:
    """The table with n and alpha, as far as they follow from its radii."""
    known: dict[str, Any] = {"n": table.header.n, "alpha": table.header.alpha}
    lacking = [name for name, value in known.items() if value is None]
    judged = _radii_and_sigma(table)
    if judged is None or not lacking or len(table) == 0:
        return table
    found = possible_budgets(*judged, **known)
    largest = f"{table.radius.max():g}"
    if table.header.sigma is None:
        largest = f"{(judged[0] / judged[1]).max():.4g} sigma"
    if len(found) != 1:
        said = f"{' and '.join(lacking)} not known: the largest radius, {largest}, is not the most of any one usual"
        return _noted(table, f"{said} budget; shown as logged, not re-bound")
    facts = dict(zip(known, found[0], strict=True))
    said = " and ".join(f"{name} {facts[name]:,}" for name in lacking)
    return _noted(
        table,
        f"{said}: the largest radius, {largest}, is the most that these certify",
        **facts,
    )


def _doubt(table: Certificates) -> str:
    """Said of a log whose sigma, n and alpha certify no such large radii, or more than those at which its pile up."""
    header, largest = table.header, float(np.max(table.radius, initial=0.0))
    judged = _radii_and_sigma(table)
    if judged is None or header.n is None or header.alpha is None or largest == 0.0:
        return ""
    if not _explains(_largest(header.n, header.alpha), *_in_sigmas(*judged)):
        noise = "" if header.sigma is None else f"sigma {header.sigma:g}, "
        bound = (
            f"the exact bound gives at {noise}n {header.n:,} and alpha {header.alpha:g}"
        )
        return f"some of the largest radii are none that {bound}: another bound made them, or they were changed"
    if header.sigma is None:
        return ""
    most, many = (
        Gaussian(header.sigma).largest_radius(header.n, header.alpha),
        int((table.radius == largest).sum()),
    )
    if largest > most * (1.0 - ROUNDED) or many < PILE * len(table):
        return ""
    budget = f"sigma {header.sigma:g}, n {header.n:,} and alpha {header.alpha:g} certify up to {round_down(most, 3)}"
    return f"{many:,} images share the largest radius, {largest:g}, though {budget}: check sigma, n and alpha"


def log_at_alpha(table: Certificates, alpha: float) -> Certificates:
    """Judge a log at another alpha: n_A of each image is recovered from its radius, and its bound computed again.

    Images that are no longer certified at `alpha` abstain. The new radii are as exact as the log's printed ones.

    Raises:
        Problem: sigma, n or alpha of the log is unknown, or `alpha` lies outside [1e-15, 1).

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> table = from_radii([0.005, 1.0], sigma=0.5, n=1000, alpha=0.01)
        >>> log_at_alpha(table, 0.001).radius.round(3).tolist()
        [0.0, 0.965]
    """
    n, made = table.header.n, table.header.alpha
    bounds.check_level(alpha)
    if made == alpha:
        return table
    sigma = _sigma_of_each(table)
    if sigma is None or n is None or made is None:
        raise BadValue(
            f"{table.name}: another alpha needs the sigma, n and alpha that the log was made with"
        )
    n_a = bounds.successes_of_q(table.stated_q, n, made)
    q = bounds.q_upper(n_a, n, alpha)
    radius = sigma * STANDARD.radius(q)
    held = (table.predict != ABSTAIN) & (radius > 0.0)
    judged = replace(
        table,
        predict=np.where(held, table.predict, ABSTAIN),
        radius=np.where(held, radius, 0.0),
        q=None if table.q is None else q,
    )
    acr, logged = ((each.radius * each.correct).mean() for each in (judged, table))
    note = f"made at alpha {made:g}, re-bound at {alpha:g}: ACR {acr:.3f}, as logged {logged:.3f}"
    return _noted(judged, note, alpha=alpha)


def _noted(table: Certificates, *notes: str, **facts: object) -> Certificates:
    header = table.header
    return replace(
        table,
        header=header.replace(**facts, notes=(*header.notes, *filter(None, notes))),
    )


def _radii_and_sigma(table: Certificates) -> tuple[Floats, float | Floats] | None:
    """What says a log's radii in units of sigma: radii, and the sigma of all or (N,) of each; None where nothing does.

    Without a sigma, the bounds on p_A do, where the log states them.
    """
    if table.sigmas is not None:
        return table.radius, table.sigmas
    if table.header.sigma is not None:
        return table.radius, table.header.sigma
    return None if table.q is None else (STANDARD.radius(table.q), 1.0)


def _sigma_of_each(table: Certificates) -> float | Floats | None:
    """The sigma of all images, or (N,) of each, also as their radii and bounds on p_A say it; None where nothing does.

    It is 0 where a log that states bounds alone certifies nothing.
    """
    if table.sigmas is not None:
        return table.sigmas
    if table.header.sigma is not None or table.q is None:
        return table.header.sigma
    scaled = STANDARD.radius(table.q)
    return np.divide(table.radius, scaled, out=np.zeros(len(table)), where=scaled > 0.0)


def possible_budgets(
    radius: Floats,
    sigma: float | Floats,
    n: int | None = None,
    alpha: float | None = None,
) -> list[Budget]:
    """The usual budgets (n, alpha) whose largest radii are those of a log.

    Args:
        radius: (N,) as the log prints them. If a single image has the largest, no budget is inferred.
        sigma: of the log, or (N,) of each image.
        n, alpha: if known, only budgets with these are tried.

    Example:
        >>> possible_budgets(np.array([0.2, 1.91, 1.91]), sigma=0.5)  # 1.91 is 3.81 sigma
        [(100000, 0.001)]
    """
    for each in np.unique(sigma).tolist():
        check_sigma(each)
    for rounded in (False, True)[: 1 + np.ndim(sigma)]:
        scaled, off = _in_sigmas(radius, sigma, rounded=rounded)
        if len(scaled) == 0 or (radius / sigma >= scaled[0] - off[0]).sum() < 2:
            continue
        budgets = [
            (m, a)
            for m in ([n] if n else USUAL_N)
            for a in ([alpha] if alpha else USUAL_ALPHA)
        ]
        # Few are near, and looked at more closely.
        near = [one for one in budgets if abs(_largest(*one)[0] - scaled[0]) <= off[0]]
        found = [one for one in near if _explains(_largest(*one), scaled, off)]
        if found:
            return found
    return []


def _in_sigmas(
    radius: Floats, sigma: float | Floats, *, rounded: bool = True
) -> tuple[Floats, Floats]:
    """The radii above 0 in units of sigma, each once, the largest first; and by how much each may be off.

    The sigmas (N,) of images may be `rounded` as the radii are.
    """
    above = radius > 0.0
    sigmas = np.broadcast_to(sigma, radius.shape)[above]
    scaled, rows = np.unique(radius[above] / sigmas, return_index=True)
    off = _rounding(radius[above])[rows] / sigmas[rows]
    if np.ndim(sigma) and rounded:
        off += scaled * np.minimum(_rounding(sigmas)[rows] / sigmas[rows], ROUNDED)
    return scaled[::-1], off[::-1]


def _explains(there: Floats, radii: Floats, off: Floats) -> bool:
    """Whether those of `radii` that lie near the largest of `there` equal one of these, to within `off`."""
    near = radii >= there[-1]
    return bool(np.all(np.abs(radii[near][:, None] - there).min(axis=1) <= off[near]))


@cache
def _largest(n: int, alpha: float) -> Floats:
    """The radii, in units of sigma, that n, n - 1, ... of n successes certify."""
    return Gaussian(1.0).radius(
        bounds.q_upper(np.arange(n, max(n // 2, n - TOP), -1), n, alpha)
    )


def _rounding(radii: Floats) -> Floats:
    """By how much each radius may be off as printed: half a unit of the last digit that any of its magnitude shows."""
    rounded = np.array(
        [np.abs(np.round(radii, d) - radii) <= 1e-12 * radii for d in range(FINE)]
        + [radii > 0.0]
    )
    decimals = np.argmax(rounded, axis=0)
    magnitude = np.floor(np.log10(radii))
    shown = np.array([decimals[magnitude == m].max() for m in magnitude])
    return np.asarray(np.maximum(0.5 * 10.0**-shown, FINEST) * (1.0 + 1e-6))


def require_reachable(table: Certificates) -> None:
    """Raise Problem for a log whose radii cannot come from its sigma, n and alpha. A table of counts passes.

    And so does one with radii in another norm, whose own were in reach.

    Either a radius is above the largest that they certify, or another usual budget explains the largest radii and this
    one does not. An unknown n or alpha is taken to be one that certifies the most: MOST_SAMPLES samples, alpha LOOSEST.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> require_reachable(from_radii([1.0], sigma=0.5, n=1000, alpha=0.001))
        >>> require_reachable(from_radii([4.0], sigma=0.5, n=1000, alpha=0.001, name="log"))
        Traceback (most recent call last):
            ...
        randsmooth.errors.BadValue: log: the radius of image 0 is above 1.231, the most that n=1000 and ...
    """
    header = table.header
    judged = _radii_and_sigma(table)
    if not table.is_log or judged is None or table.converted is not None:
        return
    _check_stated(table)
    found = possible_budgets(*judged)
    if (
        len(found) == 1
        and (header.n or found[0][0], header.alpha or found[0][1]) != found[0]
    ):
        those = f"its radii are those of n={found[0][0]} at alpha={found[0][1]:g}; give these, or leave n and alpha out"
        raise BadValue(
            f"{table.name}: not made with n={header.n}, alpha={header.alpha}: {those}"
        )
    _check_reach(table)


def _check_reach(table: Certificates) -> None:
    """Raise Problem for a radius that no samples of the known sigma, n and alpha certify."""
    header = table.header
    sigma = _sigma_of_each(table)
    if sigma is None:
        return
    margin = 1.0 + ROUNDED
    if table.sigmas is not None:
        margin += ROUNDED  # sigmas are rounded, too
    most = sigma * STANDARD.largest_radius(
        header.n or MOST_SAMPLES, header.alpha or LOOSEST
    )
    wrong = np.flatnonzero(table.radius > most * margin)
    if len(wrong):
        n_words, alpha_words = (
            f"{k}={v}" if v else f"any {k}"
            for k, v in (("n", header.n), ("alpha", header.alpha))
        )
        first = [
            float(each)
            for each in np.broadcast_to(np.array([most, sigma]).T, (len(table), 2))[
                wrong[0]
            ]
        ]
        reach = f"{round_down(first[0], 3)}, the most that {n_words} and {alpha_words} certify"
        above = f"{table.name}: the radius of {name_images(table.idx[wrong])} is above {reach} at sigma={first[1]:g}"
        raise BadValue(
            f"{above}; give those that the log was made with, or no n and alpha"
        )


def _check_stated(table: Certificates) -> None:
    """Raise Problem where a column of bounds on p_A says other radii than the log's, at the sigma that is known."""
    sigma = table.header.sigma if table.sigmas is None else table.sigmas
    if table.q is None or sigma is None or len(table) == 0:
        return
    p_lower = 1.0 - table.q
    off = _rounding(np.maximum(p_lower, FINEST))
    low = sigma * STANDARD.radius(np.minimum(table.q + off, 1.0)) * (1.0 - ROUNDED)
    high = (
        sigma * STANDARD.radius(np.maximum(table.q - off, SMALLEST)) * (1.0 + ROUNDED)
    )
    wrong = np.flatnonzero(
        (table.radius > 0.0) & ((table.radius < low) | (table.radius > high))
    )
    if len(wrong):
        row = wrong[0]
        own = float(np.broadcast_to(sigma, p_lower.shape)[row])
        says = f"its column pABar, {p_lower[row]:.6g}, says {float(own * STANDARD.radius(table.q[row])):.3f}"
        raise BadValue(
            f"{table.name}: image {table.idx[row]} has radius {table.radius[row]:g}, and at sigma={own:g} {says}, "
            f"so too for {len(wrong):,} of {len(table):,} images: give the sigma that the log was made with"
        )
