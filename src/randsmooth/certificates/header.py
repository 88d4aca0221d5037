"""What a table of certificates is about, and what it guarantees in words."""

from __future__ import annotations

import hashlib
import platform
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

from pydantic import (
    AfterValidator,
    PlainSerializer,
    PlainValidator,
    Strict,
    WithJsonSchema,
    model_serializer,
)

from randsmooth.certificates.facts import MOST_HEADER_BYTES, Facts, check_facts
from randsmooth.certificates.settings import CertificationSettings, precision_named
from randsmooth.documents import parse_json, shown
from randsmooth.errors import (
    BadValue,
    Conflict,
    MissingValue,
    Problem,
    Setting,
    WrongFile,
    WrongTable,
)
from randsmooth.noise import (
    NOISES,
    NORMS,
    Gaussian,
    Noise,
    UnderNoise,
    noise_from,
    sigma_of,
)
from randsmooth.notes import Note
from randsmooth.rules import RULES, Rule, make_rule

# The number of the format of tables and journals; others are refused.
VERSION = 1

# The bound of headers that name none: published logs.
CLOPPER_PEARSON = "clopper-pearson"

# The facts of a header that say by which machine the rows were made.
OF_THE_MACHINE = ("device", "instructions", "versions")

# Sentences that a label-aware header adds to its guarantee.
LABEL_AWARE = (
    " For evaluation only: images whose picked class is not the label were given up."
)
LABEL_TESTED = (
    " For evaluation only: no class was picked, the samples test each image's label."
)

# The note that the base classifier's answers depend on the batch.
BATCH_MATTERS = Note("batch_matters")

# The notes on what was done to a table since it was made (see `Certificates.at`), each
# with the names of its facts, which are numbers.
CHANGE_NOTES = {
    "thinned": {"before", "now", "seed"},
    "alpha_recomputed": {"before", "now"},
}


def _noise_itself(value: object) -> Noise | None:
    """Return a value of the field `noise`, which must be a noise already, or None.

    Raises:
        BadValue: the value is something else, such as the text of a noise.
    """
    if value is None or isinstance(value, Noise):
        return value
    raise BadValue(
        field="noise",
        value=value,
        expected="must be a noise, such as noise.Uniform(0.6)",
    )


NoiseItself = Annotated[Noise | None, PlainValidator(_noise_itself)]


def _note_itself(value: object) -> Note:
    """Return one of a header's notes; kind and facts, as `Note.to_dict` has them, stand
    for one.

    `parse_header` leaves out notes of a file that are not randsmooth's own.

    Raises:
        BadValue: the value stands for no note, or a fact is beyond the limits of a
            header.
    """
    note = value if isinstance(value, Note) else _note_from(value)
    if note is None:
        raise BadValue(field="notes", value=value, expected="must be notes")
    check_facts(note.facts.items())
    return note


def _note_from(stored: object) -> Note | None:
    """Return the note that kind and facts stand for; None if there is none such."""
    if not isinstance(stored, Mapping) or set(stored) != {"kind", "facts"}:
        return None
    try:
        return Note.from_dict(stored)
    except (KeyError, TypeError):
        # The kind is unknown, or a fact is missing or of another type.
        return None


NoteItself = Annotated[
    Note,
    PlainValidator(_note_itself),
    PlainSerializer(Note.to_dict),
    WithJsonSchema(
        {
            "type": "object",
            "properties": {"kind": {"type": "string"}, "facts": {"type": "object"}},
            "required": ["kind", "facts"],
        }
    ),
]


def _routing_itself(value: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return the routing of a header, once its entries are of the right kinds.

    Raises:
        BadValue: it does not name a norm, a router and experts.
    """
    if value is None:
        return None
    experts = value.get("experts")
    listed = list(experts) if isinstance(experts, list | tuple) else []
    entries = [value.get("router"), *listed]
    sources = [entry for entry in entries if isinstance(entry, dict)]
    are_all_facts = len(sources) == len(entries)
    if not listed or not are_all_facts or value.get("norm") not in NORMS:
        raise BadValue(
            field="routing",
            value=value,
            expected="must name a norm, a router and its experts",
        )
    for source in sources:
        # Raises for facts that are those of no noise.
        noise_of_entry(source)
    return value


Routing = Annotated[dict[str, Any] | None, AfterValidator(_routing_itself)]

# Lists are taken as tuples, as JSON has no tuples.
Texts = Annotated[tuple[str, ...], Strict(False)]


class Machine(Facts):
    """A machine that made rows of a table.

    The machines of one table may differ in these facts, but not in the outputs that the
    base classifier gives on them.

    Attributes:
        host: eight digits of a hash of the machine's name, which tell machines apart
            without naming them.
        device, instructions: the processor of the machine and the instructions used, as
            in a header.
        versions: the versions of the libraries that it made the counts with.

    Example:
        >>> versions = {"torch": "2.10.0"}
        >>> machine = Machine(
        ...     host="5d1f7c0a", device="cpu", instructions="AVX2", versions=versions
        ... )
        >>> machine.host
        '5d1f7c0a'
    """

    field_is: ClassVar[str] = "fact of a machine"

    host: str | None = None
    device: str | None = None
    instructions: str | None = None
    versions: dict[str, str] | None = None

    @classmethod
    def of(cls, header: Header, host: str | None = None) -> Self:
        """Return the machine that a header describes."""
        return cls(
            host=host,
            device=header.device,
            instructions=header.instructions,
            versions=header.versions,
        )

    @classmethod
    def here(cls, header: Header) -> Self:
        """Return this machine, in a process that made `header`.

        Example:
            >>> Machine.here(Header(device="cpu")).device
            'cpu'
        """
        name = platform.node()
        # A hash tells machines apart, and does not publish their names.
        return cls.of(header, host=hashlib.sha256(name.encode()).hexdigest()[:8])


class RunFacts(Facts):
    """The facts of a header besides the noise.

    None means that the source (a published log) does not say.

    Types are taken as they are ("1", 1.0 and True are no 1), and every fact has a limit
    (see `check_facts`), so that what is in a header can be trusted to be of the right
    size, can be written, and is read as it was written.

    Attributes:
        version: the format of the table, 1.
        n0: samples per image that picked the class. Counts of another program may come
            without it, and 0 says that no samples picked a class: counts0 then marks
            with a 1 the class that the other samples bound. That is the label, under a
            label-aware header, else the most frequent one.
        n: the most further samples per image, which bounded the probability of the
            class.
        alpha: probability that one image's certificate is wrong.
        bound: the confidence bound on p_A, of the fixed rule (see `CONFIDENCE_BOUNDS`).
        rule: how many samples each image takes (see `make_rule`).
        guarantee: one sentence that says what a certificate guarantees; on reading it
            is made anew from the rule.
        label_aware: an image whose picked class is not its label took no further
            samples; with n0 = 0, the label itself was tested. For evaluation only.
        source: where the counts come from, if another program made them (see
            `from_counts`).
        lumped: whether only the picked class was counted; the last column then counts
            all other answers together.
        routing: of a routed table, which tables it was made of (see `routing.route`):
            the norm of the radii, and for the router and each expert the name and the
            digest of its file, its noise and the alpha that its certificates were
            judged at. The noise, n0 and n of the header are then unknown.
        seed: seed of the noise streams.
        sound: the base classifier rounds to the grid k/255 first, so that its noise is
            exact.
        dataset: name or path of the data set.
        split: the split of the data set.
        selection: the images that were chosen of the split, and how.
        shard: the share of these images that the rows are about, "3/16"; None for all
            of them.
        command: the words of the command that makes the shards, where one does, but for
            --shard and --out.
        resize, crop: how the images were brought to one size before any noise was
            added, where a user asked for it: "256" is the length of the shorter side,
            "224x192" are height and width.
        data: a hash of the images and their labels; in the header of a shard, of the
            images of this shard.
        classes: class names, in the order of the counts.
        refusal: the number of the class that stands for declined answers; None where
            the base classifier does not decline.
        model: the base classifier: hash of its weights, its identity (a hash of all
            that it holds), what its user calls it, architecture and how it was trained.
        behaviour: hashes of the answers of the base classifier to a few noisy images,
            to the last bit. "made-up images" need no data. "own images" are some of
            those that were selected, the same ones for every shard.
        backend, precision, batch: the arithmetic that the base classifier is defined
            by.
        device, instructions: the processor that computed the answers, and its
            instructions, on which their last bits depend.
        versions: the versions of the libraries that made the counts.
        machines: the machines that made the rows, where several took part. Then device,
            instructions and versions above belong to the process that made this header,
            and the column `machine` says which machine made each row.
        notes: remarks of the rule on a run, the remark that answers depend on the batch
            (`BATCH_MATTERS`), and the changes to the table since (counts thinned,
            another alpha); all others are left out on reading.
    """

    field_is: ClassVar[str] = "fact of a header"

    version: int = VERSION
    n0: int | None = None
    n: int | None = None
    alpha: float | None = None
    bound: str | None = None
    rule: str = "fixed"
    guarantee: str | None = None
    label_aware: bool = False
    source: str | None = None
    lumped: bool = False
    routing: Routing = None
    seed: int | None = None
    sound: bool = False
    dataset: str | None = None
    split: str | None = None
    selection: str | None = None
    shard: str | None = None
    command: Texts | None = None
    resize: str | None = None
    crop: str | None = None
    data: str | None = None
    classes: Texts | None = None
    refusal: int | None = None
    model: dict[str, Any] | None = None
    behaviour: dict[str, str] | None = None
    backend: str | None = None
    precision: str | None = None
    batch: int | None = None
    device: str | None = None
    instructions: str | None = None
    versions: dict[str, str] | None = None
    machines: Annotated[
        tuple[Annotated[Machine, Strict(False)], ...], Strict(False)
    ] = ()
    notes: Annotated[tuple[NoteItself, ...], Strict(False)] = ()


class StoredHeader(RunFacts):
    """A header as files have it: the noise is an entry sigma, or an entry distribution.

    Attributes:
        sigma: standard deviation of the noise, in units of pixels in [0, 1].
        noise: how a sample's noise is addressed and generated.
        distribution: the noise itself, by its `Noise.facts`, where it is not Gaussian
            of one sigma.

    Example:
        >>> StoredHeader(sigma=0.5, n=1000).header().noise
        Gaussian(sigma=0.5)
    """

    sigma: float | None = None
    noise: str | None = None
    distribution: dict[str, Any] | None = None

    def header(self) -> Header:
        """Return the header, with its noise as an object, that these entries stand for.

        Raises:
            Problem: sigma or distribution stands for no noise, or both are given.
        """
        if self.sigma is not None and self.distribution is not None:
            raise Conflict(
                "sigma and distribution differ: a header has one of them", field="sigma"
            )
        noise_of_samples: Noise | None = None
        if self.sigma is not None:
            noise_of_samples = Gaussian(self.sigma)
        elif self.distribution is not None:
            noise_of_samples = noise_from(self.distribution)
        # A file calls `noise` what a `Header` calls `drawn_by`.
        return Header(**_run_facts(self), noise=noise_of_samples, drawn_by=self.noise)


class Header(RunFacts, UnderNoise):
    """The facts shared by all rows of a table.

    None means that the source (a published log) does not say.

    Args:
        sigma: the spelling of Gaussian noise: `sigma=0.5` is `noise=Gaussian(0.5)`.

    Attributes:
        noise: the noise of the samples.
        drawn_by: how a sample's noise is addressed and generated.

    All other fields are those of `RunFacts`. `StoredHeader` is a header as files have
    it.

    Raises:
        Problem: a fact that is unknown, of another type, or beyond its limit.

    Example:
        >>> header = Header(sigma=0.5, n0=100, n=10_000, alpha=0.001, bound="clopper-pearson")
        >>> header.noise, header.replace(n=1000).n
        (Gaussian(sigma=0.5), 1000)
        >>> Header(n="1000")
        Traceback (most recent call last):
        randsmooth.errors.BadValue: ...
    """

    noise: NoiseItself = None
    drawn_by: str | None = None

    if TYPE_CHECKING:
        # `UnderNoise` takes sigma as well, which is no field: a type checker would
        # refuse it.
        def __init__(self, *, sigma: float | None = None, **facts: Any) -> None: ...

    @classmethod
    def _noise_named(cls, sigma: object, noise: object) -> object:
        """Return the noise that `sigma` or `noise` means, as `UnderNoise` does.

        It is asked before the fields are checked. Settings take a sigma as text, such
        as "0.25std"; a header refuses it.
        """
        if isinstance(sigma, str):
            raise BadValue(field="sigma", value=sigma, expected="must be a number")
        return super()._noise_named(sigma, noise)

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> Header:
        """Return the header whose `facts` a file has.

        Raises:
            Problem: a fact that is unknown, of another type, or beyond its limit.

        Example:
            >>> Header.from_facts({"distribution": {"name": "uniform", "lam": 0.6}}).noise
            Uniform(lam=0.6)
        """
        return StoredHeader(**facts).header()

    def facts(self) -> dict[str, Any]:
        """Return the facts as a file has them.

        Example:
            >>> facts = Header(sigma=0.5).facts()
            >>> facts["sigma"], facts["distribution"], facts["noise"]
            (0.5, None, None)
        """
        return self.model_dump()

    @model_serializer
    def _as_in_files(self) -> StoredHeader:  # type: ignore[override]
        """Return the entries that a file has for this header."""
        # Gaussian noise of one sigma has the entry sigma, any other noise this one.
        distribution = None
        if self.noise is not None and self.sigma is None:
            distribution = self.noise.facts()
        # All facts were checked when this header was made: nothing is validated again.
        return StoredHeader.model_construct(
            **_run_facts(self),
            sigma=self.sigma,
            noise=self.drawn_by,
            distribution=distribution,
        )

    @property
    def sigma(self) -> float | None:
        """The standard deviation of Gaussian noise.

        It is None under another noise, and where the noise is not known.
        """
        return sigma_of(self.noise)

    @property
    def refusal_name(self) -> str | None:
        """The name of the class of declined answers; None where no answer may decline."""
        if self.refusal is None or not self.classes:
            return None
        return self.classes[self.refusal]

    @property
    def selected(self) -> int:
        """The sum of an image's counts0: n0, or the 1 that marks its class.

        It is 0 where neither is known.
        """
        if self.n0:
            return self.n0
        # Where n0 is 0, or another program did not say it, a 1 marks the class.
        marks_the_class = self.source is not None or self.n0 == 0
        return int(marks_the_class)

    @property
    def settled(self) -> bool:
        """Whether the noise, n and alpha are known; a log may not say them.

        Without them, no rule can judge counts.
        """
        return None not in (self.noise, self.n, self.alpha)

    def known_noise(self) -> Noise:
        """Return the noise of the samples, which must be known.

        Raises:
            MissingValue: it is not known; a log may not say its sigma.
        """
        if self.noise is None:
            raise MissingValue(
                "a table proves nothing without the sigma of its noise",
                field="sigma",
                fix=("give the ", Setting("sigma"), " of a log"),
            )
        return self.noise

    @property
    def norm(self) -> str:
        """The norm of the radii: L2 where no noise is known, as in logs."""
        if self.routing is not None:
            return str(self.routing["norm"])
        return Gaussian.norm if self.noise is None else self.noise.norm

    @property
    def noise_title(self) -> str:
        """The noise as reports print it, with the norm of its radii.

        It is empty where the noise is not known, and lists the experts' noises for a
        routed table.

        Example:
            >>> from randsmooth.noise import Uniform
            >>> Header(sigma=0.5).noise_title, Header(noise=Uniform(0.6)).noise_title
            ('sigma 0.5', 'uniform 0.6 (L1)')
        """
        if self.routing is not None:
            return routed_noises(self.routing)
        return "" if self.noise is None else self.noise.title_with_norm

    @property
    def gives_up_others(self) -> bool:
        """Whether an image was given up once the class picked was not its label."""
        return self.label_aware and self.n0 != 0

    @property
    def count_columns(self) -> int:
        """How many numbers the counts of an image are; 0 where the header does not say.

        They are one for each class, and one more, for all other answers, where only the
        picked class was counted. A row of a routed table has one for each expert
        instead.
        """
        if self.routing is not None:
            return len(self.routing["experts"])
        return len(self.classes) + self.lumped if self.classes else 0

    @property
    def settings(self) -> CertificationSettings:
        """The settings that this certification was made with, for another like it.

        Raises:
            Problem: the header does not tell them, as that of a log, or they are no
                longer usable.
        """
        needed = {
            "sigma": self.noise,
            "n0": self.n0,
            "n": self.n,
            "alpha": self.alpha,
            "precision": self.precision,
        }
        for name, value in needed.items():
            if value is None:
                raise WrongTable(f"the header does not say its {name} (of a TSV log?)")
        facts = {
            name: getattr(self, name) for name in CertificationSettings.model_fields
        }
        facts["bound"] = self.bound or CLOPPER_PEARSON
        facts["precision"] = precision_named(self.precision or "")
        return CertificationSettings(**facts)


def noise_of_entry(entry: Mapping[str, Any]) -> str:
    """Return the noise of a router or an expert in a routed header, as reports print it.

    Example:
        >>> noise_of_entry({"noise": {"name": "uniform", "lam": 0.6}})
        'uniform 0.6 (L1)'
        >>> noise_of_entry({"noise": None})
        'noise not known'
    """
    facts = entry.get("noise")
    return "noise not known" if facts is None else noise_from(facts).title_with_norm


def routed_noises(routing: Mapping[str, Any]) -> str:
    """Return the noises of the experts of a routed table, as reports print them.

    Example:
        >>> experts = [{"noise": Gaussian(sigma).facts()} for sigma in (0.25, 0.5)]
        >>> routed_noises({"experts": experts})
        'routed: sigma 0.25, 0.5'
    """
    titles = [noise_of_entry(expert) for expert in routing["experts"]]
    first, *others = titles
    # "sigma" is said once where all of them have one.
    if all(title.startswith("sigma ") for title in titles):
        others = [title.removeprefix("sigma ") for title in others]
    return f"routed: {', '.join([first, *others])}"


def _run_facts(header: RunFacts) -> dict[str, Any]:
    """Return the facts besides the noise, which files and `Header` spell alike."""
    return {name: getattr(header, name) for name in RunFacts.model_fields}


def rule_of(header: Header) -> Rule:
    """Return the rule that `header` names.

    Raises:
        Problem: the noise, n or alpha is unknown, or there is no such rule or bound.

    Example:
        >>> rule_of(Header(sigma=0.5, n=1000, alpha=0.001)).name
        'fixed'
    """
    if header.noise is None or header.n is None or header.alpha is None:
        raise WrongTable(
            "judging counts needs the noise or sigma, n and alpha in the header"
        )
    bound = header.bound or CLOPPER_PEARSON
    return make_rule(
        header.rule, noise=header.noise, n=header.n, alpha=header.alpha, bound=bound
    )


def guarantee_of(header: Header) -> str:
    """Return what a certificate under `header` guarantees, in sentences.

    The first sentence is the rule's. The other ones name the conditions on which it
    depends.

    Raises:
        Problem: the header names no rule that `rule_of` can make.

    Example:
        >>> print(guarantee_of(Header(sigma=0.5, n=1000, alpha=0.001)))
        Each certificate is wrong with probability at most 0.001: 1000 samples per image, p_A is bounded by ...
    """
    if header.routing is not None:
        if header.alpha is None:
            raise WrongTable("a routed table without alpha guarantees nothing")
        return (
            f"Each certificate is wrong with probability at most {header.alpha:g}: the "
            "router and each expert that it rests on keep this level, and the least of "
            "their radii is certified."
        )
    guarantee = rule_of(header).guarantee()
    if header.label_aware:
        # Without samples that pick a class, the label itself is tested.
        guarantee += LABEL_TESTED if header.n0 == 0 else LABEL_AWARE
    fixed_columns = header.known_noise().held_columns
    if fixed_columns:
        guarantee += (
            " It is about changes of the other columns alone: "
            f"{', '.join(fixed_columns)} are held fixed."
        )
    if header.known_noise().counts_words:
        guarantee += (
            " It is about replacing words of a text by others, as many as there were: "
            "nothing is said of inserted or deleted ones."
        )
    if header.source:
        guarantee += f" {_condition_on_counts(header)}"
    return guarantee


def _condition_on_counts(header: Header) -> str:
    """Return the conditions that counts of another program must meet.

    Nobody can check them here.
    """
    noise = "Gaussian noise of this sigma"
    if header.sigma is None:
        noise = f"the noise {header.known_noise().title}"
    picked = ", and the class was picked without them"
    if header.bound == "any-class":
        # This bound holds for the most frequent class of these very samples.
        picked = ""
    return (
        "That holds if the counts, which another program made, are of independent samples "
        f"of {noise}{picked}."
    )


def parse_header(text: str | bytes, path: Path) -> Header:
    """Return the header in `text`, with its guarantee and notes made anew.

    Args:
        text: the header as JSON.
        path: the file that it was read from, for errors.

    Raises:
        Problem: it is damaged, in another format, beyond the limits of a header, or
            names a rule of a package that is not installed.

    Example:
        >>> text = Header(sigma=0.5, n0=100, n=1000, alpha=0.001).model_dump_json()
        >>> parse_header(text, Path("run.parquet")).n
        1000
        >>> parse_header('{"version": 99}', Path("run.parquet"))
        Traceback (most recent call last):
            ...
        randsmooth.errors.WrongFile: run.parquet is in format 99; this randsmooth reads format 1: upgrade it
    """
    damaged = f"{path} has a damaged header: it"
    if len(text) > MOST_HEADER_BYTES:
        raise WrongFile(
            f"{damaged} takes {len(text):,} bytes; expected at most "
            f"{MOST_HEADER_BYTES:,}"
        )
    raw = parse_json(text, damaged)
    if not isinstance(raw, dict):
        raise WrongFile(f"{damaged} is not a mapping of names to facts")
    version = raw.get("version")
    # True == 1 == 1.0: only the number 1 itself is the format 1.
    if type(version) is not int or version != VERSION:
        raise WrongFile(
            f"{path} is in format {shown(repr(version))}; this randsmooth reads format "
            f"{VERSION}: upgrade it",
            file=path,
        )
    _check_installed(raw, path)
    stored_notes = raw.pop("notes", [])
    try:
        return _with_words_made_anew(Header.from_facts(raw), stored_notes, path)
    except Problem as error:
        raise WrongFile(f"{path} has a damaged header: {error}", file=path) from error


def _check_installed(raw: dict[str, Any], path: Path) -> None:
    """Raise WrongFile for a noise or a rule of a package that is not installed."""
    distribution = raw.get("distribution")
    noise = None
    if isinstance(distribution, dict):
        noise = distribution.get("name")
    # A routed table names no rule: each of its tables has one.
    if raw.get("routing") is not None:
        return
    # A rule may have a setting, such as radius=0.5.
    rule = str(raw.get("rule", "fixed")).partition("=")[0]
    for kind, name, known in (("noise", noise, NOISES), ("rule", rule, RULES)):
        if isinstance(name, str) and name not in known:
            raise WrongFile(
                f"{path}: {kind} {shown(repr(name))} is not installed: install the package "
                "that brings it",
                file=path,
            )


def _with_words_made_anew(header: Header, stored_notes: object, path: Path) -> Header:
    """Return a header whose guarantee and notes are in randsmooth's words alone.

    Reports print both: a file of a stranger could say anything there. A warning counts
    the notes that are left out.

    Args:
        header: the header without notes.
        stored_notes: what the file has for its notes.
        path: the file, for the warning.
    """
    if not isinstance(stored_notes, list):
        raise BadValue(field="notes", value=stored_notes, expected="must be a list")
    # Without either, nothing is asked of the rule, which such a header may not know.
    if header.guarantee is None and not stored_notes:
        return header
    notes_of_the_run: tuple[Note, ...] = (BATCH_MATTERS,)
    # A routed table names no rule: each of its tables has one.
    if header.routing is None:
        notes_of_the_run += notes_of_rule(rule_of(header))
    kept = [_note_of_ours(stored, notes_of_the_run) for stored in stored_notes]
    notes = tuple(note for note in kept if note is not None)
    left_out = len(kept) - len(notes)
    if left_out:
        note = Note("foreign_notes", path=str(path), number=left_out)
        # The warning points beyond `parse_header`, to what reads the file.
        warnings.warn(note, stacklevel=4)
    guarantee = None if header.guarantee is None else guarantee_of(header)
    return header.replace(guarantee=guarantee, notes=notes)


def _note_of_ours(stored: object, notes_of_the_run: Sequence[Note]) -> Note | None:
    """Return the note that a file's entry `stored` is; None if randsmooth made none such.

    Args:
        stored: kind and facts of a note, or whatever else a file has there.
        notes_of_the_run: the notes that randsmooth makes of a run like this.
    """
    for note in notes_of_the_run:
        if stored == note.to_dict():
            return note
    if not isinstance(stored, dict) or set(stored) != {"kind", "facts"}:
        return None
    kind = stored["kind"]
    facts = stored["facts"]
    if not isinstance(kind, str) or not isinstance(facts, dict):
        return None
    all_are_numbers = all(isinstance(fact, int | float) for fact in facts.values())
    if set(facts) != CHANGE_NOTES.get(kind) or not all_are_numbers:
        return None
    return Note(kind, **facts)


def notes_of_rule(rule: Rule) -> tuple[Note, ...]:
    """Return what a rule says of a run, as notes of a header.

    Example:
        >>> notes_of_rule(make_rule("fixed", noise=Gaussian(0.5), n=1000, alpha=0.001))
        ()
    """
    return tuple(Note("of_the_rule", text=text) for text in rule.notes)
