"""The routed classifier: a smoothed router picks the smoothed expert that answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, Unpack

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from randsmooth import certificates
from randsmooth.certificates import (
    ABSTAIN,
    Certificates,
    CertificationOptions,
    CertificationSettings,
    Header,
    Routes,
)
from randsmooth.certificates.routes import check_experts
from randsmooth.certification.opening import load_model, trained_noise
from randsmooth.certification.smoothed import Certified, SmoothedClassifier
from randsmooth.errors import BadValue
from randsmooth.frozen_record import settings_from
from randsmooth.models import provenance_of

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class RoutedCertified:
    """Certificates of B images under a routed classifier.

    Attributes:
        predict: (B,) certified class, or ABSTAIN (-1).
        radius: (B,) radius within which that class cannot change.
        routes: the experts and the radii that each certificate rests on.

    Example:
        >>> routes = Routes(
        ...     members=np.array([[0, 1]]),
        ...     router_radius=np.array([0.4]),
        ...     expert_radius=np.array([0.9]),
        ...     spent=np.array([2200]),
        ... )
        >>> RoutedCertified(np.array([3]), routes.radius, routes).radius.tolist()
        [0.4]
    """

    predict: Ints
    radius: NDArray[np.float64]
    routes: Routes


class Routed:
    """A classifier with a noise of its own for each image, by a smoothed router.

    G(x) = g_k(x), where k = r(x) is the class that the router gives. The router r is a
    smoothed classifier whose class k is the expert number k. `certificates.routing` has
    the proof of its certificates.

    Args:
        router: a `SmoothedClassifier`.
        experts: two or more smoothed classifiers of the same classes, in the order of
            the router's classes.

    Raises:
        Problem: there are fewer than two experts, something else than a
            SmoothedClassifier, or radii in different norms.

    `randsmooth.certify` takes it in place of a model, for a data set: it certifies into
    tables that survive a kill.

    Example:
        >>> import torch
        >>> from torch import nn
        >>> bright = nn.Sequential(nn.Flatten(), nn.Linear(4, 2, bias=False)).eval()
        >>> bright[1].weight.data = torch.tensor([[-1.0] * 4, [1.0] * 4])
        >>> router = SmoothedClassifier(bright, sigma=0.5, n=1000, seed=0)
        >>> experts = [
        ...     SmoothedClassifier(bright, sigma=sigma, n=1000, seed=0)
        ...     for sigma in (0.25, 1.0)
        ... ]
        >>> routed = Routed(router, experts)
        >>> certified = routed.certify(torch.ones(1, 1, 2, 2))
        >>> certified.predict, certified.routes.members.tolist()
        (array([1]), [[0, 1]])
    """

    def __init__(
        self, router: SmoothedClassifier, experts: Sequence[SmoothedClassifier]
    ) -> None:
        check_experts(len(experts))
        for part in (router, *experts):
            if not isinstance(part, SmoothedClassifier):
                raise BadValue(
                    "router and experts must be smoothed: "
                    f"got {type(part).__name__}, make a SmoothedClassifier of it",
                    field="experts",
                )
        norms = {part.noise.norm for part in (router, *experts)}
        if len(norms) > 1:
            raise BadValue(
                f"router and experts certify in {' and '.join(sorted(norms))}; a routed "
                "radius is the least of radii in one norm",
                field="experts",
            )
        self.router = router
        self.experts = tuple(experts)

    @classmethod
    def load(
        cls,
        router: Path | str,
        experts: Sequence[Path | str],
        settings: CertificationSettings | None = None,
        **fields: Unpack[CertificationOptions],
    ) -> Self:
        """Return the routed classifier of models that are named, as in `load_model`.

        Each is smoothed by the noise that it was trained under.

        Args:
            router: the model of the router.
            experts: the models of the experts, in the order of the router's classes.
            settings: how to certify, but for the noise.
            fields: settings by name, each in place of the one in `settings`.

        Raises:
            Problem: a model is not there, or does not say its noise.
        """
        settings = settings_from(CertificationSettings, settings, fields)

        def smoothed(source: Path | str) -> SmoothedClassifier:
            """Return a model under the noise that it was trained under."""
            model = load_model(source)
            noise = trained_noise(provenance_of(model), called=str(source))
            return SmoothedClassifier(model, settings.replace(noise=noise))

        return cls(smoothed(router), [smoothed(expert) for expert in experts])

    @property
    def parts(self) -> tuple[SmoothedClassifier, ...]:
        """The router, then its experts."""
        return (self.router, *self.experts)

    def predict(
        self, x: Tensor | NDArray[Any], n: int = 1000, alpha: float = 0.001
    ) -> Ints:
        """Return the routed class of images, or ABSTAIN.

        A returned class differs from G(x) with probability at most alpha. Half of it is
        the router's, and half the expert's: either may be wrong.

        Args:
            x: as for `SmoothedClassifier.predict`.
            n: samples for the router, and for the expert that it picks.
            alpha: probability that a returned class is not G(x).

        Returns:
            (B,) classes.

        Example:
            >>> import torch
            >>> from torch import nn
            >>> model = nn.Sequential(nn.Flatten(), nn.Linear(4, 2)).eval()
            >>> part = SmoothedClassifier(model, sigma=0.5)
            >>> Routed(part, [part, part]).predict(torch.ones(3, 1, 2, 2), n=100).shape
            (3,)
        """
        images = self.router.checked(x)
        chosen = self.router.predict(images, n, alpha / 2.0)
        classes = np.full(len(images), ABSTAIN)
        for k, expert in enumerate(self.experts):
            rows = np.flatnonzero(chosen == k)
            if len(rows):
                classes[rows] = expert.predict(images[rows], n, alpha / 2.0)
        return classes

    def certify(
        self, x: Tensor | NDArray[Any], **fields: Unpack[CertificationOptions]
    ) -> RoutedCertified:
        """Certify images.

        Each certificate is wrong with probability at most alpha. The router certifies
        all of them, and each expert those that the router's n0 samples name it for.

        Args:
            x: as for `SmoothedClassifier.certify`.
            fields: settings for router and experts, each in place of their own.
        """
        images = self.router.checked(x)
        idx = np.arange(len(images))
        router_table = _table(self.router.certify(images, **fields), idx)
        gets = certificates.images_of_experts(router_table)
        expert_tables = []
        for k, expert in enumerate(self.experts):
            rows = np.flatnonzero(gets[:, k])
            certified = expert.certify(images[rows], **fields)
            expert_tables.append(_table(certified, rows))
        table = certificates.route(
            router_table,
            expert_tables,
            alpha=router_table.header.alpha or 0.0,
            # Nothing is known of accuracy here.
            label=np.full(len(images), certificates.NO_LABEL),
        )
        assert table.routes is not None
        return RoutedCertified(table.predict, table.radius, table.routes)


def _table(certified: Certified, idx: Ints) -> Certificates:
    """Return the table of these certificates, of images without labels."""
    settings = certified.settings
    header = Header(
        noise=certified.engine.noise,
        n0=settings.n0,
        n=settings.n,
        alpha=settings.alpha,
        rule=settings.rule,
        bound=settings.judging_bound,
    )
    return Certificates(
        header,
        idx=idx,
        label=np.full(len(idx), certificates.NO_LABEL),
        predict=certified.predict,
        radius=certified.radius,
        seconds=certified.seconds,
        counts0=certified.counts0,
        counts=certified.counts,
        paths=certified.paths,
    )
