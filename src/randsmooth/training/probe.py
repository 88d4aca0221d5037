"""How often a model classifies each training image correctly under noise."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch import Generator, Tensor, nn

from randsmooth import models
from randsmooth.attacks import frozen
from randsmooth.certificates import Precision
from randsmooth.certification.algorithm import Job, SampleRange, Steps
from randsmooth.certification.engine import Engine
from randsmooth.certification.scheduler import Scheduler
from randsmooth.data import Images
from randsmooth.methods import Probe
from randsmooth.noise import Stream
from randsmooth.training.ranks import ALONE, Ranks

IMAGES = 256  # that are read, and augmented, at a time
AUGMENT = 1  # appended to the address of a chunk's augmentation
MORE = 4  # copies in a block of those that are asked about only where the first have not decided


def make_probe(
    model: nn.Module,
    images: Images,
    sigma: float,
    stream: Stream,
    device: torch.device,
    ranks: Ranks = ALONE,
    *,
    precision: Precision = "32",
    told: Callable[[int], object] = lambda copies: None,
) -> Probe:
    """A `Probe` of `model` on `images`, whose noisy copies are drawn and answered as in certification.

    `stream` belongs to the epoch. Augmentation is addressed by m and the place in the indices, noise by m and the
    pixels. The `ranks` take turns: each counts for every so many chunks of the images, and all get all counts. `told`
    is called with the number of copies of an image, once all that are needed were answered.
    """

    def probe(
        indices: Tensor, m: int, of: str | None = None, *, augmented: bool = False, enough: int | None = None
    ) -> Tensor:
        network, own = model if of is None else models.load(of, device=device), stream.at(m)
        with frozen(network):
            engine = Engine(network, sigma=sigma, seed=own.seed, backend="torch", precision=precision, device=device)
        name = " ".join([own.name, *map(str, own.position)])
        chunks = indices.split(IMAGES)
        mine = range(ranks.rank, len(chunks), ranks.number)

        def crops(k: int) -> Generator | None:
            return own.at(mine[k], AUGMENT).torch(images.device) if augmented else None

        def jobs() -> Iterator[Job[tuple[int, int]]]:
            batches = images.batches([chunks[place] for place in mine], crops)
            for place, (x, y) in zip(mine, batches, strict=True):
                for row, label in enumerate(y.tolist()):
                    yield Job(place * IMAGES + row, x[row], until_decided(name, label, m, enough))

        counts = torch.zeros(len(indices), dtype=torch.int64)
        for job in Scheduler[tuple[int, int]](engine).run(jobs()):
            assert job.result is not None
            counts[job.number], copies = job.result
            told(copies)
        return ranks.sum(counts.to(device)).cpu()

    return probe


def until_decided(name: str, label: int, m: int, enough: int | None = None) -> Steps[tuple[int, int]]:
    """The steps of a job: of how many of m copies `label` is answered, and how many were asked about.

    With `enough`, copies are asked about until so many got the label or, among all m, cannot any more: whether they did
    is what all m would have told. The first are as many as can decide, which most images need; others come in blocks.
    """
    first = m if enough is None else min(enough, m - enough + 1)
    counts = yield [SampleRange(name, 0, first)]
    right, asked = int(counts[0, label]), first
    while enough is not None and right < enough and asked - right <= m - enough:
        fewest = min(enough - right, m - enough + 1 - (asked - right))
        stop = min(m, asked + -(-fewest // MORE) * MORE)
        counts = yield [SampleRange(f"{name} more", asked - first, stop - first, MORE)]
        right, asked = right + int(counts[0, label]), stop
    return right, asked
