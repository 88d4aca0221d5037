"""How images are certified: the settings in one object, the same from Python, command line and YAML."""

from __future__ import annotations

import typing
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Self, TypedDict

from pydantic import model_validator

from randsmooth import bounds
from randsmooth.certificates.facts import check_facts
from randsmooth.documents import shown
from randsmooth.errors import BadValue, Conflict, TooFewSamples
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
from randsmooth.rules import (
    ANY_CLASS,
    CONFIDENCE_BOUNDS,
    ConfidenceBound,
    check_samples,
    kind_of_rule,
    make_rule,
)

if TYPE_CHECKING:
    from randsmooth.rules import Rule


Precision = Literal["32", "bf16", "fp16"]
PRECISIONS: tuple[Precision, ...] = typing.get_args(Precision)
# "auto": the fastest of several is taken.
AskedPrecision = Literal[Precision, "auto"]

# Samples that share a noise stream: of large images, whose batches may be smaller, fewer.
BLOCK = 128
FINE = 32

# An image of more values than this is large.
LARGE = 2**14

# The precisions as headers name them.
ARITHMETICS: dict[Precision, str] = {
    "32": "float32",
    "bf16": "bfloat16",
    "fp16": "float16",
}


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
        randsmooth.errors.TooFewSamples: alpha=0.001 needs n >= 10 to certify anything; got n=5
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
                raise BadValue(field=name, value=given, fix=f"{said}: leave out {name}")
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
        field="precision",
        value=arithmetic,
        expected=f"is unknown; known are {', '.join(ARITHMETICS.values())}",
    )
