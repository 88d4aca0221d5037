"""Tables to report on: seeded counts, or logs of given rows."""

from collections.abc import Callable

import numpy as np
import pytest

from randsmooth.certificates import Certificates, Header, from_evidence

Make = Callable[..., Certificates]


@pytest.fixture(scope="session")
def make() -> Make:
    """A table of counts over the same labels for every call: p_A ~ Beta(a, b) of the label, drawn from `seed`."""

    def table(
        name: str = "gaussian",
        seed: int = 0,
        a: float = 2.0,
        b: float = 1.0,
        images: int = 150,
        **facts: object,
    ) -> Certificates:
        defaults = {
            "sigma": 0.5,
            "n0": 50,
            "n": 500,
            "alpha": 0.001,
            "dataset": "digits",
        }
        header = Header.model_validate(defaults | facts)
        label = np.random.default_rng(99).integers(0, 3, images)
        rng = np.random.default_rng(seed)
        p_a = rng.beta(a, b, images)
        p = np.repeat((1.0 - p_a)[:, None] / 2.0, 3, axis=1)
        p[np.arange(images), label] = p_a
        counts0, counts = (
            rng.multinomial(header.n0 or 1, p),
            rng.multinomial(header.n or 1, p),
        )
        idx, seconds = np.arange(images), np.ones(images)
        return from_evidence(
            header,
            idx=idx,
            label=label,
            counts0=counts0,
            counts=counts,
            seconds=seconds,
            name=name,
        )

    return table


@pytest.fixture(scope="session")
def log() -> Make:
    """A log of right images with the given radii; a negative radius is a wrong image."""

    def table(radii: list[float], name: str = "log", **facts: object) -> Certificates:
        radius, header = np.array(radii, np.float64), Header.model_validate(facts)
        idx, label, wrong = (
            np.arange(len(radius)),
            np.zeros(len(radius), np.int64),
            (radius < 0).astype(np.int64),
        )
        return Certificates(
            header, idx, label, wrong, np.abs(radius), np.zeros(len(radius)), name=name
        )

    return table
