"""Tables to report on: seeded counts, or logs of given rows."""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from randsmooth.certificates import Certificates, Header, from_evidence

Make = Callable[..., Certificates]


@pytest.fixture(scope="session")
def make() -> Make:
    """A table of counts over the same labels for every call: p_A ~ Beta(a, b) of the label, drawn from `seed`."""

    def table(
        name: str = "gaussian", seed: int = 0, a: float = 2.0, b: float = 1.0, images: int = 150, **facts: object
    ) -> Certificates:
        defaults = {"sigma": 0.5, "n0": 50, "n": 500, "alpha": 0.001, "dataset": "digits"}
        header = Header.model_validate(defaults | facts)
        label = np.random.default_rng(99).integers(0, 3, images)
        rng = np.random.default_rng(seed)
        p_a = rng.beta(a, b, images)
        p = np.repeat((1.0 - p_a)[:, None] / 2.0, 3, axis=1)
        p[np.arange(images), label] = p_a
        return from_evidence(
            header,
            idx=np.arange(images),
            label=label,
            counts0=rng.multinomial(header.n0 or 1, p),
            counts=rng.multinomial(header.n or 1, p),
            seconds=np.ones(images),
            name=name,
        )

    return table


@pytest.fixture(scope="session")
def aware_too(make: Make) -> tuple[Certificates, Certificates]:
    """A table in which every other image is taken for another class, and the same had it been made label-aware."""
    whole = make("whole", a=4.0)
    counts0, counts = whole.evidence()
    label = (whole.label + whole.idx % 2) % 3
    missed = counts0.argmax(axis=1) != label
    kept = np.where(missed[:, None], 0, counts)

    def made(name: str, counts: NDArray[np.int64], label_aware: bool) -> Certificates:
        header = whole.header.model_copy(update={"label_aware": label_aware})
        return from_evidence(
            header, idx=whole.idx, label=label, counts0=counts0, counts=counts, seconds=whole.seconds, name=name
        )

    return made("whole", counts, False), made("aware", kept, True)


@pytest.fixture(scope="session")
def log() -> Make:
    """A log of right images with the given radii; a negative radius is a wrong image."""

    def table(radii: list[float], name: str = "log", **facts: object) -> Certificates:
        radius = np.array(radii, np.float64)
        label = np.zeros(len(radius), np.int64)
        predict = np.where(radius < 0, 1, 0).astype(np.int64)
        header = Header.model_validate(facts)
        return Certificates(
            header, np.arange(len(radius)), label, predict, np.abs(radius), np.zeros(len(radius)), name=name
        )

    return table
