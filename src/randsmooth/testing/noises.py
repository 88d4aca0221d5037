"""The contract of noises: how they are drawn, what radii they claim, and whether these hold."""

import json
import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from randsmooth import bounds
from randsmooth.attacks import Ball, ball_of
from randsmooth.errors import Problem
from randsmooth.noise import NOISES, NORMS, Noise, Stream, make_noise
from randsmooth.testing.contract import Checks, one_line, refusal, run

STREAM = Stream(0, "check noise")
NUMBERS, MOST, TOGETHER = (
    2**22,
    2**20,
    2**15,
)  # drawn for a probability; copies at most; copies at a time
MISTAKEN = 1e-5  # probability that a bound on one probability is wrong
QS = (0.0, 0.02, 0.1)  # about which radii are tried
BEYOND = 1.02  # a radius that is tight does not hold so much farther out
OTHER_NAN = float(np.uint32(0x7FC00123).view(np.float32))  # a NaN with a payload


def check_noise(noise: str | Noise, *, shape: Sequence[int] | None = None) -> None:
    """Check a noise: draws by address, radii and tails that belong together, and radii that hold.

    For whether radii hold, up to a million copies of an input are drawn, and again at each place that lies just
    within a claimed radius. There a classifier by one coordinate, or by the sum of all, and under L0 one by whether it
    sees a changed pixel, must still favour its class; one of three classes by one coordinate does so for q_next. That
    finds radii about one percent too large for what is drawn, where these classifiers are the worst ones, as they are
    under noises that are `tight`; it does not prove that a radius is right.

    A noise that hides numbers, as every one does that is not `additive`, must also hide their signs, and whether they
    are infinite or NaN: a classifier reads the bits of a copy's numbers, marks of what is seen among them.

    Args:
        noise: as on the command line, such as "uniform=0.6"; or a noise itself.
        shape: of the inputs that are tried; None: (1, 2, 2), for L0 (1, 4, 4).

    Raises:
        AssertionError: saying what does not hold.

    Example:
        >>> check_noise("uniform=0.6")
    """
    called = (
        noise
        if isinstance(noise, str)
        else getattr(noise, "__name__", type(noise).__name__)
    )
    run(f"noise {called!r}", _of_noise(noise, shape))


def _of_noise(noise: str | Noise, shape: Sequence[int] | None) -> Checks:
    made = make_noise(noise) if isinstance(noise, str) else noise
    yield (
        isinstance(made, Noise),
        f"is no Noise: give an instance, such as {getattr(made, '__name__', 'Uniform')}(0.5)",
    )
    if isinstance(noise, str):
        name = noise.partition("=")[0]
        right = name == "gaussian" or (
            isinstance(made, NOISES[name]) and made.name == name
        )
        yield (
            right,
            f"has a class of the name {made.name!r}: the entry point must have the same",
        )
        yield refusal(
            "to be without its number", partial(make_noise, name), naming=name
        )
        yield refusal("'x' for a number", partial(make_noise, f"{name}=x"), naming="x")
    shape = tuple(shape or ((1, 4, 4) if made.norm == "l0" else (1, 2, 2)))
    yield from _of_words(made)
    yield refusal("inputs of shape ()", partial(made.of, ()))
    made = made.of(shape)
    yield (
        made == made.of(shape),
        "is another one when it is completed for a shape twice",
    )
    yield from _of_words(made)
    yield from _of_radii(made)
    yield from _of_draws(made, shape)
    if made.norm == "l0":
        yield from _of_few_pixels(made, shape)
    else:
        yield from _of_level(made, shape)
        yield from _of_next(made, shape)
    if not made.additive:
        yield from _of_bits(made, shape)


def _of_words(noise: Noise) -> Checks:
    yield (
        noise.norm in NORMS,
        f"has the norm {noise.norm!r}, expected one of {', '.join(NORMS)}",
    )
    yield (
        noise.norms[0] == noise.norm,
        f"has norm={noise.norm!r} and norms={noise.norms}, whose first is another one",
    )
    yield (
        noise.usage.startswith(f"{noise.name}="),
        f"has usage={noise.usage!r}, which begins with another name",
    )
    yield (
        noise.text.startswith(f"{noise.name}="),
        f"has text={noise.text!r}, which begins with another name",
    )
    yield (
        one_line(noise.help) and noise.help.endswith("."),
        "needs a help of one sentence",
    )
    facts = json.loads(json.dumps(noise.facts()))
    yield facts.pop("name") == noise.name, "does not name itself in its facts"
    again = type(noise).from_facts(facts)
    yield (
        again == noise and hash(again) == hash(noise),
        "is not the same when it is made from its facts",
    )
    yield refusal("facts of no noise", partial(type(noise).from_facts, {"unknown": 1}))


def _of_radii(noise: Noise) -> Checks:
    yield 0.0 < noise.scale < math.inf, f"has scale={noise.scale}, expected a length"
    q = np.array([[0.0, 1e-9, 1e-4, 0.01], [0.1, 0.25, 0.4, 0.49]])
    r = noise.radius(q)
    yield r.shape == q.shape, f"has radii of shape {r.shape} for q of shape {q.shape}"
    yield (
        np.all(r >= 0.0) and np.all(np.isfinite(r[q > 0.0])),
        f"has the radii {r.tolist()} for q={q.tolist()}",
    )
    yield np.all(np.diff(r.ravel()[1:]) <= 0.0), "has radii that do not fall as q grows"
    yield (
        not noise.radius([0.5, 0.6, 1.0]).any(),
        "has a radius at q >= 1/2: p > 1/2 is needed",
    )
    yield (
        not np.any(noise.radius(np.nan) > 0.0),
        "has a radius at q = NaN, which proves nothing",
    )
    for q_next in (q, 1.0):
        same = np.array_equal(noise.radius(q, q_next), r)
        yield (
            same,
            f"has other radii with q_next={'q' if q_next is q else 1} than with q alone, which says as much",
        )
    yield (
        np.all(noise.radius(q, q / 2.0) >= r),
        "has a smaller radius where q_next says more",
    )
    claimed, q = r.ravel()[1:], q.ravel()[1:]
    tail = noise.tail(claimed)
    yield (
        tail.shape == claimed.shape and np.all(np.diff(tail) >= 0.0),
        "has tails that do not fall as radii grow",
    )
    if noise.norm == "l0":  # whole numbers, each for many q
        claimed = np.arange(1.0, float(noise.radius(0.0)) + 1.0)
        whole = np.array_equal(noise.radius(noise.tail(claimed)), claimed) and np.all(
            tail >= q
        )
        yield (
            whole and not np.any(r % 1.0),
            "has tails that are not the largest q of each whole radius",
        )
    else:
        off = int(np.argmax(np.abs(tail / q - 1.0)))
        told = f"has the tail {tail[off]:.6g} of the radius {claimed[off]:.6g}, which is that of q={q[off]:.6g}"
        yield np.allclose(tail, q, rtol=1e-6, atol=0.0), told
        yield (
            np.all(noise.radius(tail) >= claimed * (1.0 - 1e-9)),
            "has tails that do not certify their radius",
        )
    end = noise.tail([0.0, 1e9])
    yield (
        abs(end[0] - 0.5) < 1e-9 and 0.0 <= end[1] < 1e-9,
        f"has tails {end.tolist()} of the radii 0 and 1e9",
    )


def _of_draws(noise: Noise, shape: tuple[int, ...]) -> Checks:
    """Draws are a function of stream and input, copy by copy."""
    x = torch.randint(256, shape, generator=STREAM.torch()) / 255
    kept, seen = x.clone(), noise.shape(shape)

    def drawn(copies: int, stream: Stream) -> Tensor:
        out = torch.full((copies, *seen), torch.nan)
        noise.draw(out, x, stream)
        return out

    whole = drawn(64, STREAM)
    yield (
        bool(whole.isfinite().all()),
        "leaves numbers out, or draws some that are not finite",
    )
    yield (
        torch.equal(drawn(64, STREAM), whole),
        "draws other copies when a stream is used again",
    )
    yield (
        torch.equal(drawn(7, STREAM), whole[:7]),
        "draws other copies where `out` is shorter: draw copy by copy",
    )
    for stream in (STREAM.at(1), Stream(1, STREAM.name), Stream(0, "another")):
        yield (
            not torch.equal(drawn(64, stream), whole),
            "draws the same copies from another stream",
        )
    yield len(whole.unique(dim=0)) > 1, "draws copies that are all alike"
    streams = [STREAM.at(block) for block in range(32)]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(partial(drawn, 64), streams[::-1]))[::-1]
    alike = all(
        torch.equal(drawn(64, stream), each)
        for stream, each in zip(streams, together, strict=True)
    )
    yield alike, "draws other copies in another order, or where several threads draw"
    yield torch.equal(x, kept), "changes the input that it draws copies of"
    zeros = [torch.full((64, *seen), torch.nan) for _ in range(2)]
    for zero, out in zip((0.0, -0.0), zeros, strict=True):
        noise.draw(out, torch.full(shape, zero), STREAM)
    alike = torch.equal(_bits(zeros[0]), _bits(zeros[1]))
    yield (
        alike,
        "draws other copies of -0.0 than of 0.0, which are one number: add 0.0 to the input first",
    )
    if noise.additive:
        around = torch.empty(64, *seen)
        noise.draw(around, torch.zeros(shape), STREAM)
        yield (
            torch.allclose(whole, x + around, atol=1e-5),
            "is said to be additive, and adds other numbers to another",
        )
    first, again = (
        noise.offsets(torch.stack([x, 1.0 - x]), 3, STREAM) for _ in range(2)
    )
    yield (
        first.shape == (3, 2, *seen),
        f"has offsets of shape {tuple(first.shape)}, of 3 copies of each of 2 inputs",
    )
    yield torch.equal(first, again), "has other offsets when a stream is used again"


def _of_level(noise: Noise, shape: tuple[int, ...]) -> Checks:
    """Half spaces, by one coordinate and by the sum of all, just within radii of many sizes."""
    first, ones = torch.eye(math.prod(shape))[0], torch.ones(math.prod(shape))
    for weights in (first, -first, ones):
        sums = _along(noise, shape, weights)
        here = np.sort(sums(0.0))
        for q in QS:
            threshold = here[-1 - int(q * len(here))]  # nothing is beyond the first one
            least, most = _between(here > threshold)
            r = float(noise.radius(most))
            if r <= 0.0:
                continue
            told = f"claims radius {r:.4g} in {noise.norm} at q={most:.4g}"
            wrong, _ = _between(sums(r * (1.0 - 1e-6)) > threshold)
            yield (
                wrong <= 0.5,
                f"{told}, where a half space has p={1.0 - wrong:.4f} at most: the radius does not hold",
            )
            if noise.tight and weights is first and q in (0.02, 0.1):
                right, _ = _between(
                    ~(sums(BEYOND * float(noise.radius(least))) > threshold)
                )  # NaN is not beyond
                told = f"{told}, is said to be tight, and {BEYOND:g} times as far away p is {right:.4f} yet"
                yield right <= 0.5, told


def _of_next(noise: Noise, shape: tuple[int, ...]) -> Checks:
    """Three classes by one coordinate, cut at two thresholds: the lower one is moved towards the upper one.

    Then q_next, the share of the upper class, is less than q, that of both others.
    """
    sums = _along(noise, shape, torch.eye(math.prod(shape))[0])
    here = np.sort(sums(0.0))
    for q, q_next in ((0.3, 0.05), (0.4, 0.1), (0.55, 0.3)):
        low, high = (
            here[-1 - int(each * len(here))] for each in (q, q_next)
        )  # the class lies below `low`
        most, rival = (_between(here > threshold)[1] for threshold in (low, high))
        r = float(noise.radius(most, rival))
        if r > 0.0 and low < high:
            there = sums(r * (1.0 - 1e-6))
            other, own = _between(there > high)[0], _between(there <= low)[1]
            told = f"claims radius {r:.4g} in {noise.norm} at q={most:.4g} and q_next={rival:.4g}"
            yield (
                other <= own,
                f"{told}, where the next class has p={other:.4f} at least and its own {own:.4f} at most",
            )


def _along(
    noise: Noise, shape: tuple[int, ...], weights: Tensor
) -> Callable[[float], NDArray[np.float32]]:
    """r -> (n,) sums of copies' coordinates by `weights`, of a grey input moved by r where they change most.

    The first numbers of a copy are those of the coordinates.
    """
    (direction,) = _ball(noise).along(
        (_unit(noise) ** 2 * weights.view(shape))[None], 1.0
    )

    def sums(r: float) -> NDArray[np.float32]:
        return torch.cat(
            [
                each[:, : len(weights)] @ weights
                for each in _drawn(noise, 0.5 + r * direction)
            ]
        ).numpy()

    return sums


def _unit(noise: Noise) -> Tensor:
    """What a change of each coordinate is divided by in the noise's norm; 1 where it has no units of its own."""
    return torch.tensor(
        getattr(noise, "unit", getattr(noise, "std", 1.0)), dtype=torch.float32
    )


def _ball(noise: Noise) -> Ball:
    return ball_of(noise.norm, _unit(noise))


def _drawn(noise: Noise, x: Tensor) -> Iterator[Tensor]:
    """Many copies of `x`, flat, some at a time."""
    seen = noise.shape(x.shape)
    out = torch.empty(min(TOGETHER, NUMBERS // math.prod(seen)), *seen)
    for block in range(min(MOST, NUMBERS // math.prod(seen)) // len(out)):
        noise.draw(out, x, STREAM.at(block))
        yield out.flatten(1)


def _between(holds: NDArray[np.bool_]) -> tuple[float, float]:
    """Lower and upper bound on the probability of what held for these samples (n,); each all but certain."""
    n, held = len(holds), int(holds.sum())
    most, others = (
        float(bounds.q_upper(n - count, n, MISTAKEN)) for count in (held, n - held)
    )
    return 1.0 - others, most


def _of_bits(noise: Noise, shape: tuple[int, ...]) -> Checks:
    """A classifier by those bits of a copy's numbers that no copy of a first input changes.

    All numbers of the input that are to be changed have the same value before it, and another one after it.
    """
    for before, after in _values_to_hide(noise):
        x = torch.full(shape, before)
        constant, bits = _constant_bits(_numbers(noise, x, STREAM.at(0)))

        def differs(
            x: Tensor, constant: Tensor = constant, bits: Tensor = bits
        ) -> tuple[float, float]:
            wrong = (_numbers(noise, x, STREAM.at(1)) & constant) != bits
            return _between(wrong.any(dim=1).numpy())

        _, q = differs(x)
        radius = float(noise.radius(q))
        if radius <= 0.0:
            continue
        wrong, _ = differs(_changed(noise, x, after, radius * (1.0 - 1e-6)))
        told = (
            f"claims radius {radius:.4g} in {noise.norm} at q={q:.4g}, "
            f"where the bits of {wrong:.4f} of copies change"
        )
        yield (
            wrong <= 0.5,
            f"{told} from {before:g} to {after:g}: choose what is seen (torch.where), do not multiply",
        )


def _values_to_hide(noise: Noise) -> Iterator[tuple[float, float]]:
    """Pairs of values that differ in sign, in being finite or in the payload of a NaN, where the noise takes them."""
    finite = ((1.0, -1.0), (-1.0, 1.0), (0.0, 1.0), (1.0, 0.0))
    for before, after in (
        *finite,
        (0.0, math.inf),
        (0.0, math.nan),
        (math.nan, OTHER_NAN),
    ):
        if noise.norm != "l0" and not math.isfinite(after):
            continue  # no radius reaches so far
        try:
            noise.check(torch.tensor([before, after]))
        except Problem:
            continue
        yield before, after


def _changed(noise: Noise, x: Tensor, after: float, radius: float) -> Tensor:
    """`x`, whose numbers are all equal, changed towards `after` by `radius` in as few coordinates as that takes."""
    if noise.norm == "l0":
        rows = x.clone().reshape(
            -1, math.prod(x.shape[1:]) if x.dim() > 1 else x.numel()
        )
        rows[:, : math.ceil(radius)] = after
        return rows.view(x.shape)
    first = torch.zeros(x.shape)
    first.view(-1)[0] = after - float(x.view(-1)[0])
    length = _ball(noise).length(first)
    return x + first * min(1.0, radius / length)


def _numbers(noise: Noise, x: Tensor, stream: Stream) -> Tensor:
    """(n, d) the bits of all numbers in copies of `x`, marks among them, which can tell as much."""
    copies = torch.empty(
        min(TOGETHER, NUMBERS // math.prod(noise.shape(x.shape))), *noise.shape(x.shape)
    )
    noise.draw(copies, x, stream)
    return _bits(copies.flatten(1))


def _bits(numbers: Tensor) -> Tensor:
    """Of float32 `numbers` as int32, so that -0.0 differs from 0.0, and a NaN from another."""
    return numbers.contiguous().view(torch.int32)


def _constant_bits(numbers: Tensor) -> tuple[Tensor, Tensor]:
    """(d,) a mask of the bits that are the same in all rows of `numbers` (n, d), and these bits."""
    first = numbers[0]
    changing = torch.zeros_like(first)
    for bit in range(32):
        flag = torch.tensor(-(2**31) if bit == 31 else 2**bit, dtype=torch.int32)
        changes = ((numbers ^ first) & flag).ne(0).any(dim=0)
        changing = torch.where(changes, changing | flag, changing)
    return ~changing, first & ~changing


def _of_few_pixels(noise: Noise, shape: tuple[int, ...]) -> Checks:
    """Whether a copy shows a pixel that is not 0, where none or one is so before any is changed."""
    pixels = math.prod(shape[1:]) if len(shape) > 1 else shape[0]

    def shown(changed: int, before: int) -> tuple[float, float]:
        """How probably a copy shows one of the first pixels changed to 1, or of the last ones that were 1 before."""
        x = torch.zeros(shape).reshape(-1, pixels)
        x[:, :changed] = 1.0
        x[:, pixels - before :] = 1.0
        seen = [
            (copies[:, : x.numel()] != 0.0).any(dim=1)
            for copies in _drawn(noise, x.view(shape))
        ]
        return _between(torch.cat(seen).numpy())

    for before in (0, 1):
        _, q = shown(0, before)
        radius = int(noise.radius(q))
        yield radius + before <= pixels, f"claims {radius} pixels of {pixels}"
        if radius > 0:
            wrong, _ = shown(radius, before)
            yield (
                wrong <= 0.5,
                f"claims {radius} pixels at q={q:.4g}, where {wrong:.4f} of copies change",
            )
    if noise.tight:
        radius = int(noise.radius(0.0))
        _, most = shown(radius + 1, 0)
        yield (
            most >= 0.5,
            f"is said to be tight, and {most:.4f} of copies change at {radius + 1} pixels",
        )
