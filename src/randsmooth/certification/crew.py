"""Who certifies the images of a run: this process alone, or workers elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, Self

import torch

from randsmooth.certificates import NO_LABEL, Header, JournalRow
from randsmooth.data import Images

if TYPE_CHECKING:
    from randsmooth.certification.order import Order


@dataclass(frozen=True)
class RunFacts:
    """What is known of a run once its model and data are open, and before an image is certified.

    Attributes:
        header: of the table that it makes.
        indices: positions of its images, in the order of the table.
        labels: of these images, in the same order; NO_LABEL throughout where they have none.
        notes: on the run, for the user.

    Example:
        >>> RunFacts(Header(sigma=0.5, n0=100, n=1000, alpha=0.001), indices=(3, 7), labels=(0, 1)).labelled
        True
    """

    header: Header
    indices: tuple[int, ...]
    labels: tuple[int, ...]
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, header: Header, indices: Sequence[int], images: Images, notes: Sequence[str] = ()) -> Self:
        """The facts of a certification of the `images` at `indices`."""
        labels = images.labels_at(torch.tensor(indices, dtype=torch.int64)).tolist()
        return cls(header, tuple(indices), tuple(labels), tuple(notes))

    @property
    def labelled(self) -> bool:
        """Whether the images have labels."""
        return NO_LABEL not in self.labels


class Crew(Protocol):
    """Who certifies the images of a run, and what is known of it.

    Example:
        >>> from torch import nn
        >>> from randsmooth.certificates import CertificationSettings
        >>> from randsmooth.certification.order import Order
        >>> model = nn.Sequential(nn.Flatten(), nn.Linear(64, 10)).eval()
        >>> settings = CertificationSettings(sigma=0.5, n=100)
        >>> crew: Crew = Order(model=model, dataset="digits", settings=settings, take=3).prepare()
        >>> crew.facts.indices
        (0, 121, 242)
    """

    @property
    def facts(self) -> RunFacts: ...

    def rows(self, left: Sequence[int]) -> Iterator[JournalRow]:
        """The evidence of the images at positions `left`, one after the other in whatever order they are decided.

        Args:
            left: positions, some of `facts.indices`.

        Raises:
            InputError: what `Scheduler.run` raises.
        """


class Workers(Protocol):
    """Makes a crew for an order, and ends it with the context.

    Example:
        >>> from randsmooth.certification.dataset import alone
        >>> workers: Workers = alone
    """

    def __call__(self, order: Order) -> AbstractContextManager[Crew]: ...
