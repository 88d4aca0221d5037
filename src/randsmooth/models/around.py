"""Modules around models of any kind: steps before and after one, and several that answer together."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Self

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from randsmooth.data.dataset_spec import Categories
from randsmooth.data.pixel_modes import LUMA
from randsmooth.documents import shown
from randsmooth.errors import BadValue, WrongData, WrongModel, check_known
from randsmooth.models.answers import check_logits, part_of, two_logits, with_a_class
from randsmooth.models.base_classifier import (
    Around,
    as_module,
    for_classes,
    for_columns,
    foreign_parts,
    notes_of,
)

CHANNELS: dict[int | str, str] = {
    1: "grey values of red, green and blue",
    3: "a grey channel repeated as red, green and blue",
    "bgr": "channels in the order blue, green, red",
}
INTERPOLATIONS, LAYOUTS = ("bilinear", "bicubic"), ("NCHW", "NHWC", "rows")
SMALLEST = 1e-30  # a probability below is taken for it, so that its logarithm is finite
AFTER: dict[str, tuple[str, Callable[[Tensor], Tensor]]] = {
    "add": ("a softmax over the logits", lambda logits: logits.softmax(dim=1)),
    "remove": (
        "the logarithm of the probabilities",
        lambda shares: shares.clamp_min(SMALLEST).log(),
    ),
}
BINARY = (
    "logit",
    "probability",
)  # what a model of two classes may say of the second one alone
RULES = {
    "logits": "the mean of the members' logits",
    "probabilities": "the mean of the members' probabilities",
    "vote": "the most votes of the members, ties to the first class",
}


class ModelStep(nn.Module):
    """A step without a train mode: a function of a batch and of tensors, which says in `words` what it does."""

    def __init__(
        self, words: str, function: Callable[..., Tensor], *tensors: Tensor
    ) -> None:
        super().__init__()
        self.words, self.function = words, function
        for place, tensor in enumerate(tensors):  # which move with the model
            self.register_buffer(f"tensor{place}", tensor, persistent=False)
        self.training = False

    def forward(self, x: Tensor) -> Tensor:
        return self.function(x, *self.buffers())


def channels_step(wanted: int | str) -> ModelStep:
    """One of CHANNELS: 3 repeats a grey channel, 1 makes grey of red, green and blue, "bgr" swaps."""
    if wanted not in CHANNELS or isinstance(wanted, bool):
        raise BadValue(field="channels", value=wanted, expected="must be 1, 3 or 'bgr'")

    def change(x: Tensor, luma: Tensor) -> Tensor:
        if x.shape[1] == 1:
            return x.expand(-1, 3, -1, -1) if wanted == 3 else x
        if wanted == 1:
            return (x * luma).sum(dim=1, keepdim=True)
        return x.flip(1) if wanted == "bgr" else x

    return ModelStep(CHANNELS[wanted], change, _per_channel(LUMA))


def resize_step(size: int | Sequence[int], interpolation: str) -> ModelStep:
    """Resizes to (H, W), or the shorter side to one length, as Pillow does: shrinking filters first."""
    check_known("interpolation", INTERPOLATIONS, interpolation)
    sides = _size("resize", size)

    def resize(x: Tensor) -> Tensor:
        old = int(x.shape[2]), int(x.shape[3])
        new = (
            sides
            if len(sides) == 2
            else tuple(max(sides[0], sides[0] * side // min(old)) for side in old)
        )
        if new == old:
            return x
        # antialias filters where an image shrinks, and makes the bicubic kernel Pillow's
        filters = new[0] < old[0] or new[1] < old[1] or interpolation == "bicubic"
        return F.interpolate(
            x, size=new, mode=interpolation, align_corners=False, antialias=filters
        )

    to = (
        " x ".join(map(str, sides))
        if len(sides) == 2
        else f"{sides[0]} on the shorter side"
    )
    return ModelStep(f"resized to {to} ({interpolation})", resize)


def crop_step(size: int | Sequence[int]) -> ModelStep:
    """The middle (H, W) of an image."""
    height, width = 2 * sides if len(sides := _size("crop", size)) == 1 else sides

    def crop(x: Tensor) -> Tensor:
        top, left = (int(x.shape[2]) - height) // 2, (int(x.shape[3]) - width) // 2
        if top < 0 or left < 0:
            raise WrongData(
                f"images of {tuple(x.shape[2:])} have no middle {height} x {width} to crop"
            )
        return x[:, :, top : top + height, left : left + width]

    return ModelStep(f"the middle {height} x {width} cut out", crop)


def normalise_step(
    mean: float | Sequence[float] | None,
    std: float | Sequence[float] | None,
    scale: float,
) -> ModelStep:
    """(scale * x - mean) / std, with a number for each channel or one for all."""
    means, stds = (
        _numbers("mean", 0.0 if mean is None else mean),
        _numbers("std", 1.0 if std is None else std),
    )
    numbers = max(len(means), len(stds))
    if {len(means), len(stds)} - {1, numbers} or not min(
        *stds, *_numbers("scale", scale)
    ) > 0.0:
        expected = "expected as many numbers for mean as for std, one for each channel, and std and scale above 0"
        raise BadValue(
            f"mean={shown(means)}, std={shown(stds)} and scale={scale}: {expected}"
        )

    def normalise(x: Tensor, mean: Tensor, std: Tensor) -> Tensor:
        if numbers not in (
            1,
            x.shape[1],
        ):  # torch would repeat a single channel, which no note says
            way = f"rs.wrap(model, channels={numbers}) makes as many"
            raise BadValue(
                f"mean and std are {numbers} numbers for images of {x.shape[1]} channels: {way}"
            )
        return ((x if scale == 1.0 else scale * x) - mean) / std

    words = [f"multiplied by {scale:g}"] if scale != 1.0 else []
    if mean is not None or std is not None:
        by_mean, by_std = (
            ", ".join(f"{value:g}" for value in values) for values in (means, stds)
        )
        words.append(f"normalised by mean {by_mean} and std {by_std}")
    return ModelStep(
        " and ".join(words), normalise, _per_channel(means), _per_channel(stds)
    )


class Wrapped(Around):
    """A base classifier that takes noisy images as the data set has them, made by `wrap`.

    Attributes:
        before: what is done to a noisy image.
        inner: the model.
        part: the name or place of the logits in its answer; None: it answers with them, or has them as `logits`.
        after: what is done to these.
        num_classes: K, where the model says it.
        provenance: how the model was trained, as far as it says.
        notes: what lies between the noisy image and the label, for the header of a certificate.

    Example:
        >>> isinstance(wrap(nn.Flatten(), scale=255), Wrapped)
        True
    """

    answering = "inner"

    def __init__(
        self,
        before: Sequence[ModelStep],
        model: nn.Module,
        after: Sequence[ModelStep],
        part: str | int | None = None,
    ) -> None:
        super().__init__()
        self.part = part
        self.before, self.inner, self.after = (
            nn.Sequential(*before).eval(),
            model,
            nn.Sequential(*after).eval(),
        )

    @property
    def notes(self) -> tuple[str, ...]:
        before = tuple(f"after noise: {step.words}" for step in self.before)
        taken = (
            ()
            if self.part is None
            else (f"the part {shown(repr(self.part))} of its answer",)
        )
        after = (
            f"after the model: {words}"
            for words in (*taken, *(step.words for step in self.after))
        )
        return (*before, *notes_of(self.inner), *after)

    def forward(self, x: Tensor) -> Tensor:
        """Logits (B, K) of images (B, C, H, W) of the data set's own size: in [0, 1] before noise."""
        if len(self.before) and x.dim() != 4:
            raise WrongData(
                f"{self.notes[0]}: this is for images (C, H, W); inputs have shape {tuple(x.shape[1:])}"
            )
        answer = self.inner(self.before(x))
        # the networks of transformers have them as `logits`
        part = (
            getattr(answer, "logits", answer)
            if self.part is None
            else part_of(answer, self.part)
        )
        logits: Tensor = self.after(part)
        return logits


def wrap(
    model: object,
    *,
    channels: int | str | None = None,
    resize: int | Sequence[int] | None = None,
    crop: int | Sequence[int] | None = None,
    scale: float | None = None,
    mean: float | Sequence[float] | None = None,
    std: float | Sequence[float] | None = None,
    layout: str = "NCHW",
    answer: str | int | None = None,
    binary: str | None = None,
    softmax: str | None = None,
    interpolation: str = "bilinear",
    num_classes: int | None = None,
) -> Wrapped:
    """`model` behind what its images need, as a base classifier of [0, 1] images of the data set's own size.

    Noise is added to the image of the data set, and everything else happens after it, in the order of the arguments. So
    a certified radius is one of the data set's images, whatever the model takes, and the header of a certificate lists
    its steps. They are torch operations: of a torch module, gradients, compilation and export stay possible.

    Args:
        model: what can be certified: a torch module in eval mode, a function, an estimator, ...
        channels: 3 repeats a grey channel, 1 makes grey of colours (ITU-R BT.601), "bgr" swaps their order.
        resize: (H, W), or the length of the shorter side; shrinking filters first (antialias).
        crop: the middle (H, W), or a side of a square.
        scale: 255 for models that take pixels in [0, 255].
        mean, std: of what is normalised, (scale * x - mean) / std: a number for each channel, or one for all.
        layout: "NHWC" for a model whose images are (B, H, W, C), "rows" for one that takes rows (B, C * H * W).
        answer: of a model that answers with several things, the name or the place of the logits among them. Default:
            its `logits`, if it has some, as the networks of transformers have.
        binary: for a model of two classes that answers with one number an image: "logit", above 0 for the second class,
            or "probability", that of the second class.
        softmax: "remove" for a model that answers with probabilities, whose logarithms are logits; "add" for one
            whose logits are to become probabilities. Neither changes the class.
        interpolation: of resize: bilinear or bicubic.
        num_classes: K, for a function that answers with labels.

    Raises:
        Problem: a step or the model cannot be used.

    Example:
        >>> import torch
        >>> network = nn.Sequential(nn.Conv2d(3, 4, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten()).eval()
        >>> model = wrap(network, channels=3, resize=32, mean=(0.5, 0.5, 0.5), std=(0.25, 0.25, 0.25))
        >>> model(torch.rand(2, 1, 8, 8)).shape
        torch.Size([2, 4])
        >>> model.notes[1]
        'after noise: resized to 32 on the shorter side (bilinear)'
    """
    check_known("layout", LAYOUTS, layout)
    check_known("softmax", AFTER, *([] if softmax is None else [softmax]))
    check_known("binary", BINARY, *([] if binary is None else [binary]))
    resizing = partial(resize_step, interpolation=interpolation)
    steps: dict[Callable[[Any], ModelStep], Any] = {
        channels_step: channels,
        resizing: resize,
        crop_step: crop,
    }
    before = [step(given) for step, given in steps.items() if given is not None]
    if mean is not None or std is not None or scale not in (None, 1.0):
        before.append(normalise_step(mean, std, 1.0 if scale is None else scale))
    if layout == "NHWC":
        before.append(
            ModelStep(
                "channels on the last axis",
                lambda x: x.permute(0, 2, 3, 1).contiguous(),
            )
        )
    if layout == "rows":
        before.append(
            ModelStep(
                "its numbers in one row, by channel, row and column",
                lambda x: x.flatten(1),
            )
        )
    after = list[ModelStep]()
    if binary is not None:
        after.append(
            ModelStep(f"two logits of one {binary}", partial(two_logits, of=binary))
        )
    if softmax is not None:
        after.append(ModelStep(*AFTER[softmax]))
    return Wrapped(before, as_module(model, num_classes), after, answer)


def _size(name: str, size: int | Sequence[int]) -> tuple[int, ...]:
    sides = (size,) if isinstance(size, int) else tuple(size)
    if not 1 <= len(sides) <= 2 or not all(
        type(side) is int and side > 0 for side in sides
    ):
        raise BadValue(
            field=name,
            value=size,
            expected="must be a side or (height, width), in pixels",
        )
    return sides


def _numbers(name: str, given: float | Sequence[float]) -> list[float]:
    values = [given] if isinstance(given, int | float) else list(given)
    if not values or not all(
        isinstance(v, int | float) and abs(v) <= 1e30 for v in values
    ):
        raise BadValue(
            field=name,
            value=given,
            expected="must be a finite number, or one for each channel",
        )
    return [float(value) for value in values]


def _per_channel(values: Sequence[float]) -> Tensor:
    return torch.tensor(values).reshape(1, -1, 1, 1)


class Ensemble(Around):
    """A base classifier of several members, which all see the same noisy image.

    The ensemble is what is smoothed and certified: noise is drawn once, as for a single model. The variance that noise
    causes in the answer is smaller than a member's, so radii are larger (Horvath et al., ICLR 2022).

    Args:
        members: at least two of what can be certified, in any mixture: modules in eval mode, functions, files, ...
        rule: "logits" (mean), "probabilities" (mean softmax, whose logarithm is given as logits) or "vote".
        num_classes: K, for functions that answer with labels.

    Attributes:
        num_classes: K, where a member says it.
        notes: what the ensemble does, for the header of a certificate.

    Raises:
        Problem: an argument cannot be used.

    Example:
        >>> a, b, c = (nn.Sequential(nn.Flatten(), nn.Linear(64, 10)).eval() for _ in range(3))
        >>> ensemble = Ensemble([a, b, c], rule="vote")
        >>> ensemble(torch.rand(5, 1, 8, 8)).sum(dim=1)
        tensor([1., 1., 1., 1., 1.])
    """

    def __init__(
        self,
        members: Sequence[object],
        rule: str = "logits",
        *,
        num_classes: int | None = None,
    ) -> None:
        super().__init__()
        if (
            not isinstance(members, Sequence)
            or isinstance(members, str)
            or len(members) < 2
        ):
            raise BadValue(
                f"an ensemble is a list of at least two members; got {shown(repr(members))}"
            )
        check_known("rule of an ensemble", RULES, rule)
        self.rule = rule
        self.members = nn.ModuleList(
            as_module(member, num_classes) for member in members
        )
        self.members.training = False

    def answers(self) -> Sequence[nn.Module]:
        """The members."""
        return list(self.members)

    @property
    def notes(self) -> tuple[str, ...]:
        members = enumerate(self.members, start=1)
        inner = (
            f"member {place}: {note}"
            for place, member in members
            for note in notes_of(member)
        )
        return (
            f"an ensemble of {len(self.members)}: {RULES[self.rule]}",
            *inner,
        )

    def forward(self, x: Tensor) -> Tensor:
        """Logits (B, K) of images (B, C, H, W); of the rule "vote" the shares of votes."""
        return self._together([_member_logits(member, x) for member in self.members])

    def _together(self, answers: Sequence[Tensor]) -> Tensor:
        """Return (B, K) of the members' answers (B, K) by the rule."""
        widths = sorted({int(answer.shape[1]) for answer in answers})
        if len(widths) > 1:
            raise WrongModel(
                f"the members give {' and '.join(map(str, widths))} logits; expected one number"
            )
        if self.rule == "probabilities":
            logs = [F.log_softmax(answer.float(), dim=1) for answer in answers]
            shares = (torch.ones(len(logs), device=logs[0].device) / len(logs)).log()
            return torch.logsumexp(torch.stack(logs) + shares[:, None, None], dim=0)
        votes = _votes if self.rule == "vote" else torch.Tensor.float
        return torch.stack([votes(answer) for answer in answers]).sum(dim=0) / len(
            answers
        )

    def for_classes(self, classes: Sequence[str]) -> Self:
        """The same, answering for `classes`; members that know other classes are refused."""
        return self._with([for_classes(member, classes) for member in self.members])

    def for_columns(
        self, columns: Sequence[str], held: Sequence[Categories] = ()
    ) -> Self:
        """The same, taking features of these names; members that know others are refused."""
        return self._with(
            [for_columns(member, columns, held) for member in self.members]
        )

    def _with(self, members: Sequence[nn.Module]) -> Self:
        """The same with other members in the places of these."""
        held = nn.ModuleList(members)
        held.training = False
        return self.replace(members=held)


def _member_logits(member: nn.Module, x: Tensor) -> Tensor:
    """What a member answers; Problem where that has no two axes. The rest is checked of the whole ensemble."""
    answer = member(x)
    if not isinstance(answer, Tensor) or answer.dim() != 2:
        return check_logits(answer, len(x), "a member of the ensemble")
    return answer


def _votes(answer: Tensor) -> Tensor:
    """(B, K) ones for the largest logit, zeros elsewhere; NaN where there is no class, so that it is not hidden."""
    votes = F.one_hot(answer.argmax(dim=1), answer.shape[1]).to(torch.float32)
    return torch.where(with_a_class(answer)[:, None], votes, torch.nan)


def traceable(model: object) -> bool:
    """Tell whether a model is torch modules throughout, so that a compiler can trace it.

    Example:
        >>> linear = nn.Sequential(nn.Flatten(), nn.Linear(64, 10)).eval()
        >>> traceable(linear), traceable(len)
        (True, False)
    """
    return isinstance(model, nn.Module) and not foreign_parts(model)
