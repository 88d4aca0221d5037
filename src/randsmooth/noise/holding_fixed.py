"""A noise on some of the features: the others, such as categories, are held fixed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from randsmooth.errors import BadValue
from randsmooth.escape import printable
from randsmooth.noise.base import Noise, in_place
from randsmooth.noise.radii import Floats

if TYPE_CHECKING:
    from torch import Tensor

    from randsmooth.noise.streams import Stream


@dataclass(frozen=True)
class HoldingFixed(Noise):
    """`noise` on all features of a row but those at `held`.

    Of these every copy has the row's own. For fixed values of those it is the smoothing
    of a classifier of the others, so a certificate is about changes of these others
    alone, in the norm and the units of `noise`. It says nothing of a row that differs
    in a held one.

    Attributes:
        noise: the noise that is drawn for the other features.
        held: positions of the features that are held fixed, ascending.
        columns: the names of the features held fixed.

    Raises:
        Problem: no feature is held, positions are not ascending, or there is not one
            name for each.

    Example:
        >>> import torch
        >>> from randsmooth.noise import Gaussian, Stream
        >>> noise = HoldingFixed(Gaussian(0.5), (1,), ("city",))
        >>> copies = torch.empty(4, 3)
        >>> noise.draw(copies, torch.tensor([1.0, 7.0, 2.0]), Stream(0, "example"))
        >>> copies[:, 1].tolist(), noise.text
        ([7.0, 7.0, 7.0, 7.0], 'gaussian=0.5, with city held fixed')
    """

    noise: Noise
    held: tuple[int, ...]
    columns: tuple[str, ...]

    def __post_init__(self) -> None:
        # JSON has lists only.
        object.__setattr__(self, "held", tuple(self.held))
        object.__setattr__(self, "columns", tuple(self.columns))

        whole = all(type(place) is int and place >= 0 for place in self.held)
        if not whole or not self.held or list(self.held) != sorted(set(self.held)):
            raise BadValue(
                field="held",
                value=self.held,
                expected="must be positions of features, ascending, and at least one",
            )
        texts = all(isinstance(name, str) for name in self.columns)
        if not texts or len(self.columns) != len(self.held):
            raise BadValue(
                field="columns",
                value=self.columns,
                expected=f"must be the names of the {len(self.held)} features held fixed",
            )
        if isinstance(self.noise, HoldingFixed):
            raise BadValue(
                field="noise",
                value=self.noise.text,
                expected="holds features fixed already: name all of them at once",
            )

    # What a class says of itself elsewhere is that of the noise within.
    name = property(lambda self: self.noise.name)
    norm = property(lambda self: self.noise.norm)
    summary = property(lambda self: self.noise.summary)
    implied = property(lambda self: self.noise.implied)
    proves_apart = property(lambda self: self.noise.proves_apart)
    domain = property(lambda self: self.noise.domain)
    additive = property(lambda self: self.noise.additive)
    width = property(lambda self: self.noise.width)
    scale = property(lambda self: self.noise.scale)
    step = property(lambda self: self.noise.step)
    unit = property(lambda self: self.noise.unit)
    ready = property(lambda self: self.noise.ready)

    @property
    def known_shape(self) -> tuple[int, ...]:
        inside = self.noise.known_shape
        return (inside[0] + len(self.held),) if inside else ()

    @property
    def held_columns(self) -> tuple[str, ...]:  # type: ignore[override]
        """The names as they may be shown: a file of a stranger may hold any."""
        return tuple(printable(name) for name in self.columns)

    @property
    def text(self) -> str:
        return f"{self.noise.text}, with {', '.join(self.held_columns)} held fixed"

    def facts(self) -> dict[str, Any]:
        return {
            **self.noise.facts(),
            "held": list(self.held),
            "columns": list(self.columns),
        }

    def free(self, d: int) -> list[int]:
        """Return the positions of the features, of `d`, that may change."""
        return [place for place in range(d) if place not in self.held]

    def of(self, shape: Sequence[int]) -> Noise:
        is_row = len(shape) == 1
        if not is_row or self.held[-1] >= shape[0] or not self.free(shape[0]):
            raise BadValue(
                f"features {self.held} are held fixed, and an input has the shape "
                f"{tuple(shape)}: expected a row (d,) with these and others"
            )
        free = (len(self.free(shape[0])),)
        inner = self.noise.of(free)
        if inner.shape(free) != free:
            raise BadValue(
                f"{self.noise.text} adds marks to an input: it cannot hold columns fixed"
            )
        return HoldingFixed(inner, self.held, self.columns)

    def check(self, x: Tensor) -> None:
        self.noise.check(x[..., self.free(x.shape[-1])])

    def draw(self, out: Tensor, x: Tensor, stream: Stream) -> None:
        """As `Noise.draw`, of rows `x` (d,)."""
        free = self.free(len(x))
        copies = out.new_empty(len(out), len(free))
        self.noise.draw(copies, x[free].contiguous(), stream)
        noisy = in_place(out)
        noisy[:] = in_place(x)
        noisy[:, free] = in_place(copies)

    def radius(self, q: ArrayLike, q_next: ArrayLike | None = None) -> Floats:
        return self.noise.radius(q, q_next)

    def tail(self, radius: ArrayLike) -> Floats:
        return self.noise.tail(radius)

    def convert(self, norm: str, r: ArrayLike, *, shape: Sequence[int] = ()) -> Floats:
        inside = self.noise.known_shape
        if len(shape) == 1 and not inside:
            inside = (len(self.free(shape[0])),)
        return self.noise.convert(norm, r, shape=inside)


def holding(facts: Mapping[str, Any], noise: Noise) -> HoldingFixed:
    """Return the noise whose `HoldingFixed.facts` these are, with `noise` within.

    Raises:
        Problem: they are of none.
    """
    held = facts.get("held")
    columns = facts.get("columns")
    if not isinstance(held, list | tuple) or not isinstance(columns, list | tuple):
        raise BadValue(
            f"held={held!r:.100} and columns={columns!r:.100} must be lists: "
            "of positions, and of names"
        )
    return HoldingFixed(noise, tuple(held), tuple(columns))
