"""A backend that asks an endpoint."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from randsmooth.certificates import Precision
from randsmooth.certification.backends.base import Backend
from randsmooth.errors import InputError
from randsmooth.models import Endpoint, ForeignModel


class Asked(Backend):
    """Sends exactly the noisy images that are to be counted, and no more in a request than the endpoint takes."""

    name = "endpoint"
    runs = "asks an endpoint (`rs.Endpoint`)"
    parallel = True
    padded = False
    metered = True

    @classmethod
    def accepts(cls, model: nn.Module | ForeignModel) -> bool:
        return isinstance(model, Endpoint)

    def __init__(self, model: Endpoint, device: torch.device, precision: Precision) -> None:
        if precision != "32":
            raise InputError(f"precision={precision}: an endpoint computes as it does; leave it at 32")
        self.model, self.device, self.precision = model, device, precision
        self.batch, self.side_by_side, self.num_classes = model.batch, model.parallel, model.num_classes

    @property
    def votes(self) -> bool:
        return self.model.labels

    @property
    def processor(self) -> str:
        """That of the endpoint, which is unknown: a run may go on from another machine."""
        return "endpoint"

    @property
    def instructions(self) -> str:
        return "unknown"

    def answer(self, noisy: Tensor) -> Tensor:
        images = noisy.cpu().numpy()
        requests = range(0, len(images), self.model.batch)
        answers = torch.cat([self.model.ask(images[start : start + self.model.batch]) for start in requests])
        return answers.to(self.device)

    @contextmanager
    def halting(self) -> Iterator[None]:
        with self.model.halting():
            yield
