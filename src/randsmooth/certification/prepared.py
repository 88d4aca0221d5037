"""A run whose model and data are open in this process: it certifies images, one row of evidence each."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

import torch
from torch import Tensor

from randsmooth.certificates import Header, JournalRow, rule_of
from randsmooth.certificates.digest import in_bytes
from randsmooth.certification.algorithm import ImageEvidence, certify_steps, uniform_number
from randsmooth.certification.crew import RunFacts
from randsmooth.certification.jobs import Job
from randsmooth.certification.scheduler import Scheduler
from randsmooth.certification.smoothed import SmoothedClassifier
from randsmooth.data import Images
from randsmooth.errors import InputError


@dataclass(frozen=True)
class Prepared:
    """The `Crew` that is this process alone.

    Attributes:
        smoothed: the classifier to certify, tried out on an image of the shape of these.
        images: the split.
        facts: of the run.
        hashes: of the pixels of each image, which the header's `data` was made of.

    Example:
        >>> from randsmooth import data
        >>> from randsmooth.certification.run_identity import make_header, pixel_hashes
        >>> model, images = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 10)).eval(), data.load("digits")
        >>> smoothed = SmoothedClassifier(model, sigma=0.5, n=1000, seed=0)
        >>> hashes = pixel_hashes(images, [3, 5])
        >>> header = make_header(smoothed, model, images, [3, 5], selection="two", hashes=hashes)
        >>> prepared = Prepared.of(smoothed, images, header, hashes)
        >>> [int(row.counts.sum()) for row in prepared.rows([5])]
        [1000]
    """

    smoothed: SmoothedClassifier
    images: Images
    facts: RunFacts
    hashes: Mapping[int, int]

    @classmethod
    def of(
        cls,
        smoothed: SmoothedClassifier,
        images: Images,
        header: Header,
        hashes: Mapping[int, int],
        notes: Sequence[str] = (),
    ) -> Self:
        """The run of those `images` whose `hashes` these are, and whose header `make_header` made."""
        return cls(smoothed, images, RunFacts.of(header, list(hashes), images, notes), hashes)

    def rows(self, left: Iterable[int]) -> Iterator[JournalRow]:
        """The evidence of the images at positions `left`, as they are decided (see `Crew.rows`).

        A position is taken off `left` when there is room for its image, and all are counted to the end once it is
        exhausted.

        Raises:
            InputError: what `Scheduler.run` raises, or an image is no longer what the header is about.
        """
        label_of = dict(zip(self.facts.indices, self.facts.labels, strict=True))
        for job in Scheduler[ImageEvidence](self.smoothed.engine).run(self._jobs(left)):
            found = job.result
            assert found is not None
            seconds = round(job.seconds, 6)
            row = JournalRow(job.number, label_of[job.number], found.counts0, found.counts, found.path, seconds)
            if self.facts.header.bound == "randomised":
                row = replace(row, u=uniform_number(self.smoothed.engine.seed, job.address))
            yield row if self.facts.header.shard is None else replace(row, image=in_bytes(job.address))

    def _jobs(self, left: Iterable[int]) -> Iterator[Job[ImageEvidence]]:
        """One job an image, made when the scheduler has room for it."""
        header = self.facts.header
        rule, n0 = rule_of(header), header.n0 or 0
        taken: deque[int] = deque()  # whose images are being decoded ahead

        def chosen() -> Iterator[Tensor]:
            for index in left:
                taken.append(index)
                yield torch.tensor([index])

        for x, y in self.images.batches(chosen()):
            job = Job(taken.popleft(), x[0], certify_steps(rule, n0, int(y[0]) if header.label_aware else None))
            if job.address != self.hashes[job.number]:
                raise InputError(
                    f"{self.images.name_of(job.number)} has other pixels than when this run began, so that its table "
                    "would be about two data sets: put it back and resume, or certify the new ones into another file"
                )
            yield job
