"""How images are certified: the settings in one object, from wherever they come."""

from __future__ import annotations

import typing
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Self, TypedDict, Unpack

from pydantic import model_validator

from randsmooth import bounds
from randsmooth.certificates.facts import check_facts
from randsmooth.errors import BadValue, MissingValue, Setting, TooFewSamples
from randsmooth.frozen_record import FrozenRecord
from randsmooth.noise import Deviations, NamedNoise, Noise, UnderNoise
from randsmooth.number_text import shortest
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

# The number of samples that share a noise stream. Large images have fewer, as their
# batches may be smaller.
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
    """What `CertificationSettings` takes as keywords: its fields, and sigma.

    Functions that take them in place of the object name them in their signature.
    `CertificationSettings` says what each means, and its default.

    Example:
        >>> options: CertificationOptions = {"sigma": 0.5, "n": 1000}
        >>> CertificationSettings(**options).n
        1000
    """

    sigma: float | str | None
    noise: Noise | Deviations | str | Mapping[str, Any] | None
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


class HowToCertify(FrozenRecord):
    """The settings besides the noise, with their types and defaults.

    Attributes:
        n0: Samples per image that select the class to certify. With 0, --rule radius=R
            certifies whichever class proves R; with --label-aware, every rule tests the
            label.
        n: Further samples per image, at most, that bound the probability of that class.
        alpha: Probability that an image's certificate is wrong.
        rule: How many of the n samples are drawn: fixed, or a sequential rule such as
            grid.
        bound: Confidence bound of the fixed rule: clopper-pearson, two-sided, pairwise,
            randomised, any-class.
        label_aware: Stop at images whose picked class is not the label. With --n0 0,
            test the label and pick none. For evaluation only; the table records it.
        sound: Round noisy images to the grid k/255, under the exact distribution. Float
            rounding then cannot break the proof.
        backend: What runs the base classifier: torch, compile, openvino, onnx, or auto,
            the fastest installed. (default: torch; onnx for an ONNX file)
        precision: Arithmetic of the base classifier: 32, bf16, fp16, or auto. auto
            takes the faster of float32 and a half-length format (float32 for a short
            run). Precision is a part of the classifier.
        batch: Samples per forward pass. A network needs 128 or more (32 for large
            images). Python functions and remote models take any number. (default: one
            that suits device and image)
        seed: Seed of the noise. (default: 0; a SmoothedClassifier draws a new one at
            each call)

    Example:
        >>> HowToCertify().n
        100000
    """

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


class CertificationSettings(HowToCertify, UnderNoise):
    """How images are certified.

    Together with model, images and processor it decides every count and every claim.

    Args:
        sigma: the spelling of Gaussian noise: `sigma=0.5` is `noise=Gaussian(0.5)`, and
            `sigma="0.25std"` is `noise=Deviations(0.25)`.

    Attributes:
        noise: Noise by its name: gaussian=0.5 (or --sigma 0.5), gaussian=std.npy,
            uniform=0.6, laplace=0.3, splitting=0.5, ablation=45. (default: the one that
            the model was trained with)

    All other fields are those of `HowToCertify`.

    Raises:
        Problem: an unknown field, one of a wrong type or beyond its limits, or a rule
            or a budget (n0, n, alpha) that could not certify any image. Without a
            noise, the rule's name, its number and its bound are checked; what depends
            on the noise is checked once it is known.

    Example:
        >>> settings = CertificationSettings(sigma=0.5, n=10_000)
        >>> settings.noise, settings.replace(rule="grid").n
        (Gaussian(sigma=0.5), 10000)
        >>> CertificationSettings(n=5)
        Traceback (most recent call last):
        randsmooth.errors.TooFewSamples: alpha=0.001 needs n >= 10 to certify anything; got n=5
    """

    noise: NamedNoise = None

    if TYPE_CHECKING:
        # A type checker shall see what is taken at the door: sigma, and a noise's text.
        def __init__(self, **options: Unpack[CertificationOptions]) -> None: ...

    @model_validator(mode="after")
    def _check_usable(self) -> Self:
        """Refuse settings that cannot certify any image; settle those that the rule
        decides.
        """
        facts = dict(self)
        # A noise was checked when it was made.
        del facts["noise"]
        check_facts(facts.items())
        if self.counts_all:
            self._leave_nothing_to_chance()
        else:
            check_budget(self.n0, self.n, self.alpha)
        if self.sound:
            self._check_sound()
        # Each call is made for the Problem that it raises.
        if isinstance(self.noise, Noise) and self.noise.ready:
            self.stopping_rule()
        else:
            kind_of_rule(self.rule, n=self.n, bound=self.judging_bound)
        return self

    def replace(self, **fields: Any) -> Self:
        """Return the same with other `fields`, checked like any.

        A `sigma` takes the place of the noise. A rule that counts all copies has set
        n0, n and alpha; another rule or noise begins with their defaults. The seed
        stays: it may have been given.
        """
        if self.counts_all and not {"rule", "noise", "sigma"}.isdisjoint(fields):
            defaults = {name: _default_of(name) for name in ("n0", "n", "alpha")}
            fields = defaults | fields
        return super().replace(**fields)

    def of(self, shape: Sequence[int]) -> Self:
        """Return these settings for inputs of `shape`.

        The radii of some noises depend on it.

        Raises:
            Problem: `known_noise` or `Noise.of` raises it.
        """
        if self.noise is None:
            return self
        return self.replace(noise=self.known_noise().of(shape))

    def known_noise(self) -> Noise:
        """Return the noise under which images are certified.

        Raises:
            Problem: these settings leave it to the model, or to the standard deviations
                of training data.
        """
        if self.noise is None:
            raise MissingValue(
                "nothing says the noise to certify under",
                field="sigma",
                fix=("give ", Setting("sigma"), " or ", Setting("noise")),
            )
        if isinstance(self.noise, Deviations):
            raise BadValue(
                f"{self.noise.text} depends on training data, which certification "
                f"has. Elsewhere give rs.noise.Deviations({shortest(self.noise.times)}).noise_for(x_train.std(axis=0))",
                field="noise",
                value=self.noise.text,
            )
        return self.noise

    @property
    def counts_all(self) -> bool:
        """Whether the rule counts all copies of an image: nothing is left to chance."""
        # Its arguments, such as a radius, do not matter here.
        rule_class, _arguments = kind_of_rule(self.rule, n=self.n)
        return rule_class.certain

    def _leave_nothing_to_chance(self) -> None:
        """Set n0, n, alpha and the seed to what a rule that counts all copies has.

        The seed is then a part of the classifier, which has the same one for every
        image: it must not be drawn anew.

        Raises:
            Problem: other values than these or the defaults are given, or label_aware
                is True.
        """
        copies = self.noise.copies if isinstance(self.noise, Noise) else None
        # Which noise it is may not be known yet, nor how many copies it has.
        settled = {"n0": 0, "n": copies or self.n, "alpha": 0.0}
        for name, value in settled.items():
            given = getattr(self, name)
            if given not in (value, _default_of(name)):
                raise BadValue(
                    field=name,
                    value=given,
                    fix=(
                        f"rule {self.rule} counts every copy of an image once, and "
                        f"leaves nothing to chance: leave out {name}"
                    ),
                )
            # The object is frozen, and still being made: this sets the field.
            self.__dict__[name] = value
        if self.label_aware:
            raise BadValue(
                field="label_aware",
                value=True,
                fix=(
                    f"rule {self.rule} counts all copies of every image: leave out ",
                    Setting("label_aware"),
                ),
            )
        self.__dict__["seed"] = self.seed or 0

    def _check_sound(self) -> None:
        """Raise Problem unless noisy images can be rounded to the grid k/255 exactly."""
        # The noise of the model is checked once it is known.
        if self.noise is None:
            return
        # Deviations become a sigma for each feature, which no grid of pixels has.
        if isinstance(self.noise, Deviations) or not self.noise.rounds_exactly:
            raise BadValue(
                f"sound certification is of Gaussian noise alone; got {self.noise.text}",
                field="sound",
                value=True,
            )
        # A wider noise than any for pixels was meant for pixels up to 255.
        self.noise.check_for_pixels()

    @property
    def judging_bound(self) -> ConfidenceBound:
        """The confidence bound that the rule uses: `bound`, or "any-class".

        Where neither n0 nor the label picks a class, the bound must hold for any class.

        Raises:
            Problem: it must, and the rule has no such bound, or `bound` asks for
                another.
        """
        if self.n0 or self.label_aware or self.counts_all:
            return self.bound
        rule_class, _ = kind_of_rule(self.rule, n=self.n)
        # The default of `bound`, which nobody may have asked for.
        usual = CONFIDENCE_BOUNDS[0]
        if ANY_CLASS in rule_class.takes and self.bound in (usual, ANY_CLASS):
            return ANY_CLASS
        raise BadValue(
            field="n0",
            value=0,
            expected=(
                "picks no class, and ",
                Setting("rule", self.rule),
                ", ",
                Setting("bound", self.bound),
                " does not hold for any class",
            ),
            fix=(
                "give n0 >= 1 (100 is usual), rule radius=R, or ",
                Setting("label_aware"),
                " to test the label",
            ),
        )

    @property
    def chooses(self) -> bool:
        """Whether backend or precision are to be chosen by how fast they are."""
        return "auto" in (self.backend, self.precision)

    def stopping_rule(self) -> Rule:
        """Return the rule that says how many samples an image takes and what they prove.

        Raises:
            Problem: `known_noise`, `judging_bound` or `make_rule` raises it.
        """
        return make_rule(
            self.rule,
            noise=self.known_noise(),
            n=self.n,
            alpha=self.alpha,
            bound=self.judging_bound,
        )


def _default_of(name: str) -> Any:
    return CertificationSettings.model_fields[name].default


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
            f"alpha={alpha} needs n >= {least} to certify anything; got n={n}",
            field="n",
            value=n,
        )


def precision_named(arithmetic: str) -> Precision:
    """Return the precision that a header means by `arithmetic`, such as "bfloat16".

    Raises:
        Problem: another number format.

    Example:
        >>> precision_named("bfloat16"), precision_named("float32 (TF32 convolutions)")
        ('bf16', '32')
    """
    # Behind the first word, a header may name exceptions, such as TF32 convolutions.
    first_word = arithmetic.replace(",", " ").split()[:1]
    for precision, name in ARITHMETICS.items():
        if first_word == [name]:
            return precision
    raise BadValue(
        field="precision",
        value=arithmetic,
        expected=f"is unknown; known are {', '.join(ARITHMETICS.values())}",
    )
