"""What and how to certify: which images of a split, which of these a shard, and the settings in one object.

The settings decide counts and claims, the same from Python, command line and YAML. And the limits of facts in a header:
far beyond any use, but a malicious file cannot take long to handle within them.
"""

from __future__ import annotations

import math
import re
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, Self, TypedDict, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import model_validator

from randsmooth import bounds
from randsmooth.documents import shown
from randsmooth.errors import BadValue, Conflict, TooFewSamples, WrongTable
from randsmooth.frozen_record import FrozenRecord
from randsmooth.noise import (
    ANoise,
    Gaussian,
    Noise,
    check_sigma,
    instead,
    make_noise,
    one_form,
)
from randsmooth.noise.norms import LENGTHS
from randsmooth.rules import (
    ANY_CLASS,
    CONFIDENCE_BOUNDS,
    ConfidenceBound,
    check_samples,
    kind_of_rule,
    make_rule,
)
from randsmooth.urls import Place, beside, name_of

if TYPE_CHECKING:
    from randsmooth.rules import Rule

Ints = NDArray[np.int64]
S = TypeVar("S", bound="Sequence[Any] | Ints")

N = r"\d{1,18}"
SELECTION = re.compile(
    rf"all (?P<all>{N})|(?P<how>take|one in) (?P<number>{N}) of (?P<total>{N})",
    re.ASCII,
)
SHARD = re.compile(rf"({N})/({N})", re.ASCII)
SHARD_FILE = re.compile(r"(.+)-\d+-of-\d+\.parquet(?:\.partial)?", re.ASCII)
MOST_IMAGES = 10**7  # of a split: ImageNet has 1.28 million training images


@lru_cache(maxsize=16)
def chosen_by(words: str | None) -> Ints | None:
    """(chosen,) the positions of the images that a header's selection names, in order.

    Either that many spread evenly over the split, or every so-manieth. None where it names none, or in words that are
    not known here.

    Example:
        >>> [len(chosen_by(words)) for words in ("all 364", "take 5 of 364", "one in 20 of 364")]
        [364, 5, 19]
        >>> chosen_by("take 4 of 10").tolist(), chosen_by("the two best")
        ([0, 2, 5, 7], None)
    """
    found = SELECTION.fullmatch(words or "")
    if found is None:
        return None
    number, total = (
        int(found["number"] or found["all"]),
        int(found["total"] or found["all"]),
    )
    if (
        not 0 < number <= (MOST_IMAGES if found["how"] == "one in" else total)
        or not 0 < total <= MOST_IMAGES
    ):
        return None
    return (
        np.arange(0, total, number)
        if found["how"] == "one in"
        else np.arange(number) * total // number
    )


@dataclass(frozen=True)
class Shard:
    """One of `of` shares of the images that a run certifies: the first, or the second, ..., of every `of` images.

    Attributes:
        number: which, from 1 on.
        of: how many shares there are.

    Example:
        >>> from pathlib import Path
        >>> shard = Shard.parse("2/3")
        >>> shard.share([0, 10, 20, 30, 40])
        [10, 40]
        >>> shard.file(Path("runs/table.parquet"))
        PosixPath('runs/table-2-of-3.parquet')
        >>> Shard.parse("4/3")
        Traceback (most recent call last):
            ...
        randsmooth.errors.BadValue: shard='4/3' is not one of 3: number them from 1/3 to 3/3
    """

    number: int
    of: int

    @classmethod
    def parse(cls, text: object) -> Self:
        """The shard that is written as NUMBER/OF.

        Raises:
            Problem: it is written in another way, or there is no such shard.
        """
        if isinstance(text, cls):
            return text
        found = SHARD.fullmatch(text.strip()) if isinstance(text, str) else None
        if found is None:
            raise BadValue(
                f"shard={shown(repr(text))} must read NUMBER/OF, such as 3/16"
            )
        number, of = int(found[1]), int(found[2])
        if not 1 <= number <= of:
            raise BadValue(
                f"shard={shown(repr(text))} is not one of {of}: number them from 1/{of or 1} to {of}/{of}"
            )
        return cls(number, of)

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def share(self, chosen: S) -> S:
        """Its share of the `chosen` images, which interleaves with those of the other shards.

        Raises:
            Problem: there are more shards than images.
        """
        if self.of > len(chosen):
            raise BadValue(
                f"shard={str(self)!r} cuts {len(chosen):,} images into more shares than there are images"
            )
        return chosen[self.number - 1 :: self.of]  # type: ignore[return-value]

    def file(self, out: Place) -> Place:
        """The file of the shard of a run into `out`, beside it; `out` itself if it has that name already."""
        ending = f"{self.number}-of-{self.of}"
        stem, dot, suffix = name_of(out).rpartition(".")
        return (
            out
            if f"-{stem}".endswith(f"-{ending}")
            else beside(out, f"{stem}-{ending}{dot}{suffix}")
        )


def whole_of(file: Place) -> Place | None:
    """The `out` of a run of which `file` holds a shard, finished or not; None where its name does not say.

    Example:
        >>> from pathlib import Path
        >>> whole_of(Path("runs/table-2-of-3.parquet")), whole_of(Path("2-of-3.parquet"))
        (PosixPath('runs/table.parquet'), None)
    """
    found = SHARD_FILE.fullmatch(name_of(file))
    return beside(file, f"{found[1]}.parquet") if found else None


def images_planned(selection: str | None, shard: str | None) -> int | None:
    """How many images a run certifies in the end whose header says these; None where the selection does not tell.

    Example:
        >>> images_planned("one in 20 of 10000", None), images_planned("take 500 of 10000", "2/3")
        (500, 167)
    """
    chosen = chosen_by(selection)
    return None if chosen is None else len(Shard.parse(shard or "1/1").share(chosen))


def check_belong(selection: str | None, shard: str | None, idx: Ints) -> None:
    """Raise Problem for an image that a header with this selection and shard is not about."""
    chosen = chosen_by(selection)
    if chosen is None:
        return
    held = np.isin(idx, Shard.parse(shard or "1/1").share(chosen))
    if not held.all():
        which = selection if shard is None else f"shard {shard} of {selection}"
        raise WrongTable(
            f"image {idx[np.argmin(held)]} is not one of {which}: `randsmooth merge` puts shards together"
        )


Precision = Literal["32", "bf16", "fp16"]
PRECISIONS: tuple[Precision, ...] = typing.get_args(Precision)
AskedPrecision = Literal[Precision, "auto"]  # "auto": the fastest of several is taken
BLOCK, FINE = (
    128,
    32,
)  # samples that share a noise stream; fewer for large images, whose batches may be smaller
LARGE = 2**14  # an image of more values than this is large
ARITHMETICS: dict[Precision, str] = {
    "32": "float32",
    "bf16": "bfloat16",
    "fp16": "float16",
}  # as headers name them

HEADER = 2**22  # bytes as JSON: ImageNet's 21,841 class names take an eighth
LONG = 1000  # characters of a text
DEEP = 8  # lists and mappings within each other
INTEGER = 2**63 - 1  # magnitude of a whole number, such as a seed


class CertificationOptions(TypedDict, total=False):
    """The fields of `CertificationSettings` as keywords.

    Functions that take them in place of the object name them in their signature.
    `CertificationSettings` says what each means, and its default.

    Example:
        >>> options: CertificationOptions = {"sigma": 0.5, "n": 1000}
        >>> CertificationSettings(**options).n
        1000
    """

    sigma: float | str | None
    noise: Noise | str | None
    n0: int
    n: int
    alpha: float
    rule: str
    bound: ConfidenceBound
    label_aware: bool
    sound: bool
    backend: str | None
    precision: AskedPrecision
    batch: int | None
    seed: int | None


class CertificationSettings(FrozenRecord):
    """How images are certified. Together with model, images and processor it decides every count and every claim.

    Attributes:
        sigma: Standard deviation of the noise, for pixels in [0, 1], or in the units of features; 0.25std: so many
            standard deviations of each feature. (default: the one that the model was trained with)
        noise: Noise by its name: gaussian=0.5 (or --sigma 0.5), gaussian=std.npy, uniform=0.6, laplace=0.3,
            splitting=0.5, ablation=45. (default: the one that the model was trained with)
        n0: Samples per image that select the class to certify. 0: none do. Then --rule radius=R certifies whichever
            class proves R, and with --label-aware every rule tests the label itself.
        n: Further samples per image, at most, that bound the probability of that class.
        alpha: Probability that an image's certificate is wrong.
        rule: How many of the n samples are drawn: fixed, or a sequential rule such as grid.
        bound: Confidence bound of the fixed rule: clopper-pearson, two-sided, pairwise, randomised, any-class.
        label_aware: Stop where the class picked is not the label; with --n0 0, test the label and pick none. For
            evaluation only, and the table says so.
        sound: Round noisy images to the grid k/255, under the exact distribution: no rounding of floats stands between
            proof and program.
        backend: What runs the base classifier: torch, compile, openvino, onnx, or auto, the fastest installed.
            (default: torch; onnx for an ONNX file)
        precision: Arithmetic of the base classifier: 32, bf16, fp16, or auto, the faster here of float32 and a format
            of half its length (a short run: float32). It is a part of the classifier.
        batch: Samples per forward pass: of a network 128 or more (32 of large images), of what is called in Python or
            asked over a network any number. (default: what suits device and image)
        seed: Seed of the noise. (default: 0; a SmoothedClassifier draws a new one at each call)

    Raises:
        Problem: an unknown field, one of a wrong type or beyond its limits, or a rule or a budget (n0, n, alpha)
            that could not certify any image. Without sigma, the rule's name, its number and its bound are checked; what
            depends on sigma is checked once sigma is known.

    Example:
        >>> settings = CertificationSettings(sigma=0.5, n=10_000)
        >>> settings.replace(rule="grid").n
        10000
        >>> CertificationSettings(n=5)
        Traceback (most recent call last):
        randsmooth.errors.BadValue: alpha=0.001 needs n >= 10 to certify anything; got n=5
    """

    sigma: float | None = None
    noise: ANoise = None
    n0: int = 100
    n: int = 100_000
    alpha: float = 0.001
    rule: str = "fixed"
    bound: ConfidenceBound = "clopper-pearson"
    label_aware: bool = False
    sound: bool = False
    backend: str | None = None
    precision: AskedPrecision = "32"
    batch: int | None = None
    seed: int | None = None

    @model_validator(mode="before")
    @classmethod
    def _in_deviations(cls, given: Any) -> Any:
        """`sigma="0.25std"` is a noise."""
        sigma = given.get("sigma") if isinstance(given, Mapping) else None
        if not isinstance(sigma, str) or not sigma.strip().endswith("std"):
            return given
        if given.get("noise") is not None:
            raise Conflict(f"sigma={shown(sigma)} and a noise differ: give one of them")
        return {
            **given,
            "sigma": None,
            "noise": make_noise(f"gaussian={sigma.strip()}"),
        }

    @model_validator(mode="after")
    def _usable(self) -> Self:
        self.__dict__.update(one_form(self.sigma, self.noise))
        check_facts(
            (name, getattr(self, name))
            for name in CertificationSettings.model_fields
            if name != "noise"
        )
        if self.counts_all:
            self._leave_nothing_to_chance()
        else:
            check_budget(self.n0, self.n, self.alpha)
        if self.sound and self.sigma is not None:
            check_sigma(self.sigma)
        if self.noise is not None and self.sound:
            raise BadValue(
                f"sound certification is of Gaussian noise alone; got {self.noise.text}"
            )
        if self.names_noise and self.smoothing.ready:
            self.stopping_rule()
        else:
            kind_of_rule(self.rule, n=self.n, bound=self.judging_bound)
        return self

    def replace(self, **fields: Any) -> Self:
        """The same with other `fields`, checked like any; sigma takes the place of another noise, and vice versa.

        What a rule that counts all copies settled is open again with another rule or noise.
        """
        if self.counts_all and {"rule", "noise", "sigma"} & {*fields}:
            fields = {
                name: type(self).model_fields[name].default
                for name in ("n0", "n", "alpha")
            } | fields
        return super().replace(**instead(fields))

    def of(self, shape: Sequence[int]) -> Self:
        """These settings for inputs of `shape`: some noises know their radii by it alone. Errors as `Noise.of`."""
        return self if self.noise is None else self.replace(noise=self.noise.of(shape))

    @property
    def counts_all(self) -> bool:
        """Whether the rule counts all copies of an image, each once: nothing is left to chance."""
        return kind_of_rule(self.rule, n=self.n)[0].certain

    def _leave_nothing_to_chance(self) -> None:
        """Set n0, n, alpha and the seed to what a rule that counts all copies has. Problem where others are given.

        The seed belongs to the classifier then: it is the same at the image and at every other one.
        """
        copies = self.smoothing.copies if self.names_noise else None
        for name, value in {"n0": 0, "n": copies or self.n, "alpha": 0.0}.items():
            if (given := getattr(self, name)) not in (
                value,
                CertificationSettings.model_fields[name].default,
            ):
                said = f"rule {self.rule} counts every copy of an image once, and leaves nothing to chance"
                raise BadValue(f"{name}={given}: {said}: leave out {name}")
            self.__dict__[name] = value
        if self.label_aware:
            raise BadValue(
                f"label_aware: rule {self.rule} counts all copies of every image: leave out label_aware"
            )
        self.__dict__["seed"] = self.seed or 0

    @property
    def judging_bound(self) -> ConfidenceBound:
        """The bound that the rule is asked for: one that holds for any class where neither n0 nor the label picks one.

        Raises:
            Problem: the rule has none, or `bound` is another.
        """
        if self.n0 or self.label_aware or self.counts_all:
            return self.bound
        kind, _ = kind_of_rule(self.rule, n=self.n)
        if ANY_CLASS not in kind.takes or self.bound not in (
            CONFIDENCE_BOUNDS[0],
            ANY_CLASS,
        ):
            judged = f"rule={shown(repr(self.rule))}, bound={self.bound} does not hold for any class"
            way = "give n0 >= 1 (100 is usual), rule radius=R, or label_aware to test the label"
            raise BadValue(f"n0=0 picks no class, and {judged}: {way}")
        return ANY_CLASS

    @property
    def known_sigma(self) -> float:
        """Sigma. Problem where it is None, as under other noise than the same Gaussian for all coordinates."""
        noise = self.smoothing
        if not isinstance(noise, Gaussian):
            raise BadValue(f"this is for Gaussian noise of one sigma; got {noise.text}")
        return noise.sigma

    @property
    def names_noise(self) -> bool:
        """Whether these settings say the noise, by `noise` or by sigma."""
        return self.noise is not None or self.sigma is not None

    @property
    def smoothing(self) -> Noise:
        """The noise that is certified under. Problem where neither `noise` nor sigma says it."""
        noise: Noise = self.noise or Gaussian(self.sigma)  # type: ignore[arg-type]
        return noise

    @property
    def chooses(self) -> bool:
        """Whether backend or precision are to be chosen by how fast they are."""
        return "auto" in (self.backend, self.precision)

    def stopping_rule(self) -> Rule:
        """The rule that says how many samples an image takes and what they prove. Problem where sigma is None."""
        return make_rule(
            self.rule,
            noise=self.smoothing,
            n=self.n,
            alpha=self.alpha,
            bound=self.judging_bound,
        )


def check_budget(n0: int, n: int, alpha: float) -> None:
    """Raise Problem for a budget that could not certify any image.

    Example:
        >>> check_budget(100, 10, 0.001)
        >>> check_budget(100, 9, 0.001)
        Traceback (most recent call last):
        randsmooth.errors.TooFewSamples: alpha=0.001 needs n >= 10 to certify anything; got n=9
    """
    bounds.check_level(alpha)
    check_samples("n0", n0, least=0)
    check_samples("n", n)
    least = bounds.smallest_n(alpha)
    if n < least:
        raise TooFewSamples(
            f"alpha={alpha} needs n >= {least} to certify anything; got n={n}"
        )


def precision_named(arithmetic: str) -> Precision:
    """The precision that a header means by `arithmetic`, such as "bfloat16" or "float32 (TF32 convolutions)".

    Raises:
        Problem: another number format.

    Example:
        >>> precision_named("bfloat16"), precision_named("float32 (TF32 convolutions)")
        ('bf16', '32')
    """
    for precision, name in ARITHMETICS.items():
        if arithmetic.replace(",", " ").split()[:1] == [name]:
            return precision
    raise BadValue(
        f"precision={shown(repr(arithmetic))} is unknown; known are {', '.join(ARITHMETICS.values())}"
    )


def check_facts(facts: Iterable[tuple[str, Any]]) -> None:
    """Raise Problem for the first of a header's `facts` (name, value) beyond its limit; None means unknown."""
    for name, value in facts:
        if name in NUMBERS and value is not None:
            NUMBERS[name](value)
        else:
            _check_plain(name, value, DEEP)


NUMBERS: dict[str, Callable[[Any], object]] = {
    "sigma": lambda sigma: check_sigma(sigma, most=LENGTHS[1]),
    "alpha": lambda alpha: (
        None if alpha == 0.0 else bounds.check_level(alpha)
    ),  # 0: all copies were counted
    "n0": lambda n0: check_samples("n0", n0, least=0),
    "n": lambda n: check_samples("n", n),
    "batch": lambda batch: check_samples("batch", batch),
    "shard": Shard.parse,
}


def _check_plain(name: str, value: Any, deep: int) -> None:
    """Raise Problem unless `value` can be written as JSON and read as it was, with no more than `deep` levels."""
    if isinstance(value, dict | list | tuple) and deep > 0:
        for part in [*value, *value.values()] if isinstance(value, dict) else value:
            _check_plain(name, part, deep - 1)
        plain = not isinstance(value, dict) or all(
            isinstance(key, str) for key in value
        )
    elif isinstance(value, str):
        plain = len(value) <= LONG and not any("\ud800" <= c <= "\udfff" for c in value)
    elif isinstance(value, float):
        plain = math.isfinite(value)
    else:
        plain = value is None or (isinstance(value, int) and abs(value) <= INTEGER)
    if not plain:
        texts = f"texts of at most {LONG:,} characters, finite numbers, whole ones up to {INTEGER:.0e}, and lists or"
        room = f"a header has room for {texts} mappings of them, at most {DEEP} levels deep"
        raise BadValue(f"{name} holds {shown(repr(value))}: {room}")
