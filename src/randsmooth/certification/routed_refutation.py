"""Attack a routed classifier: move images across the borders of experts and router."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from randsmooth.certificates import ABSTAIN, Certificates
from randsmooth.certification.attack_request import (
    AttackRequest,
    check_images,
)
from randsmooth.certification.attack_results import AttackedImage, predict_anywhere
from randsmooth.certification.routed import Routed
from randsmooth.certification.run_header import called
from randsmooth.certification.searches.base import BallSearch
from randsmooth.data import Images
from randsmooth.errors import Conflict, NotComparable, WrongTable
from randsmooth.models import adapt, weights_hash


@dataclass(frozen=True)
class RoutedAttacker:
    """Searches for points that a routed classifier answers otherwise.

    The answer changes where an expert changes its own, or where the router picks an
    expert that answers otherwise. So each member of a certificate's set of experts is
    attacked; and the router is, toward each expert outside of the set.

    Attributes:
        request: what was asked for.
        images: the split that the certificates are about.
        routed: the router and its experts.
        to_other_classes: a search for each expert, for another class than the certified.
        to_experts: a search for each expert, for a point where the router picks it.
    """

    request: AttackRequest
    images: Images
    routed: Routed
    to_other_classes: tuple[BallSearch, ...]
    to_experts: tuple[BallSearch, ...]

    @property
    def gradient_free(self) -> bool:
        """Whether any of the searches uses the answers alone."""
        searches = (*self.to_other_classes, *self.to_experts)
        return any(search.gradient_free for search in searches)

    @property
    def counts_all(self) -> None:
        """None: the PREDICTs of a routed classifier draw samples."""
        return None

    def attack(self, image: Tensor, row: int) -> AttackedImage:
        """Search around an image (C, H, W), that of a row, and ask PREDICT.

        Returns:
            A point of another class; if there is none, one where PREDICT abstains; and
            if there is none either, one of the certified class.
        """
        certified = int(self.request.rows.predict[row])
        attacked = [
            AttackedImage(
                point=point.numpy(),
                distance=search.distance(point, image),
                answer=self._predict(point, number=int(self.request.rows.idx[row])),
            )
            for search, point in self._points(image, row, certified)
        ]
        changed = [one for one in attacked if one.answer not in (ABSTAIN, certified)]
        abstained = [one for one in attacked if one.answer == ABSTAIN]
        return [*changed, *abstained, *attacked][0]

    def _points(
        self, image: Tensor, row: int, certified: int
    ) -> list[tuple[BallSearch, Tensor]]:
        """Return the point that each search finds, with the search."""
        routes = self.request.rows.routes
        assert routes is not None
        is_member = routes.members[row].astype(bool)
        first_member = int(is_member.argmax())
        eps = self.request.eps(row)
        found = []
        for k in range(len(is_member)):
            search = self.to_experts[k]
            own_class = first_member
            if is_member[k]:
                search = self.to_other_classes[k]
                own_class = certified
            found.append((search, search.find(image, own_class, eps)))
        return found

    def _predict(self, point: Tensor, number: int) -> int:
        """Return the routed answer at a point: a class, or ABSTAIN.

        One image has as many points as there are experts. The answer at each is wrong
        if the router's is, or the expert's.
        """
        K = len(self.routed.experts)
        level = self.request.level / (2 * K)
        n = self.request.n
        k = predict_anywhere(self.routed.router.engine, point, n, level, number=number)
        if k == ABSTAIN:
            return ABSTAIN
        engine = self.routed.experts[k].engine
        return predict_anywhere(engine, point, n, level, number=number)


def open_routed_attacker(routed: Routed, request: AttackRequest) -> RoutedAttacker:
    """Open the images, check that all is as in the table, and get ready to search.

    Args:
        routed: the router and its experts.
        request: what was asked for.

    Raises:
        Problem: the table is not routed, or by other models, or about other images; or
            one class alone is looked for.
    """
    if request.toward is not None:
        raise Conflict(
            field="toward",
            value=request.toward,
            expected="is not for a routed classifier",
            fix="leave it out",
        )
    table = request.table
    if table.header.routing is None:
        raise WrongTable(
            f"{called(table)} is not routed: attack the model that was certified"
        )
    routing = table.header.routing
    _check_parts(routed, table, routing)
    expert = routed.experts[0]
    images = request.spec(expert.model, expert.settings).open_inputs().images
    of_router = routing["router"]
    check_images(
        table, images, expected=of_router["data"], labelled=of_router["labelled"]
    )

    starts = _Starts(request.rows, images)
    shape = images.spec.shape
    # The searches of the router share its copy, and differ in the expert that they seek.
    of_router_alone = request.search(routed.router, shape, starts.of_router)
    return RoutedAttacker(
        request=request,
        images=images,
        routed=routed,
        to_other_classes=tuple(
            request.search(expert, shape, starts.of_experts)
            for expert in routed.experts
        ),
        to_experts=tuple(
            replace(of_router_alone, toward=k) for k in range(len(routed.experts))
        ),
    )


def _check_parts(routed: Routed, table: Certificates, routing: dict[str, Any]) -> None:
    """Raise Problem unless router and experts are those that the table names."""
    entries = [routing["router"], *routing["experts"]]
    names = ["router", *(f"expert {k}" for k in range(len(entries) - 1))]
    if len(entries) != len(routed.parts):
        raise NotComparable(
            f"{called(table)} is routed among {len(entries) - 1} experts, not "
            f"{len(routed.experts)}"
        )
    for name, entry, part in zip(names, entries, routed.parts, strict=True):
        if entry.get("weights") is None:
            raise WrongTable(
                f"{called(table)} does not say the weights of its {name} (a log?): "
                "route what `certify` wrote"
            )
        if entry["sound"]:
            raise WrongTable(
                f"the {name} of {called(table)} was certified for images on the grid "
                "k/255 alone (sound=True), which no attack keeps to"
            )
        same_weights = entry["weights"] == weights_hash(adapt(part.model))
        if not same_weights or entry["noise"] != part.noise.facts():
            raise NotComparable(
                f"the {name} is another than that of {called(table)}: its weights or "
                "its noise differ. Give the models in the order of the table"
            )


@dataclass(frozen=True)
class _Starts:
    """Images from which searches without gradients may begin their walks.

    They are read once, for all searches.

    Attributes:
        rows: the certificates that are attacked.
        images: the split that they are about.
    """

    rows: Certificates
    images: Images

    @cached_property
    def pixels(self) -> Tensor:
        """(P, C, H, W), the images of the rows."""
        pixels, _ = self.images.batch(torch.from_numpy(self.rows.idx))
        return pixels

    def of_experts(self) -> tuple[Tensor, Tensor]:
        """Return images (P, C, H, W), and their certified classes (P,)."""
        return self.pixels, torch.from_numpy(self.rows.predict)

    def of_router(self) -> tuple[Tensor, Tensor]:
        """Return images (P, C, H, W), and the experts (P,) that the router picks."""
        assert self.rows.routes is not None
        members = self.rows.routes.members
        alone = np.flatnonzero(members.sum(axis=1) == 1)
        return self.pixels[alone], torch.from_numpy(members[alone].argmax(axis=1))
