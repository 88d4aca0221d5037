"""The columns of a routed table: which experts each row rests on, and both radii."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from randsmooth.certificates.evidence import Column, Floats, Ints, refuse
from randsmooth.errors import BadValue, WrongTable

# A router chooses among so many experts at least.
FEWEST_EXPERTS = 2

# What a routed table keeps of each row. `predict` is not derived from counts here: they
# lie in the tables of router and experts.
ROUTED_COLUMNS = {
    "idx": Column(),
    "label": Column(),
    "predict": Column(),
    "seconds": Column(dtype=np.float64),
    "members": Column("class"),
    "router_radius": Column(dtype=np.float64),
    "expert_radius": Column(dtype=np.float64),
    "spent": Column(),
}


def check_experts(number: int) -> None:
    """Raise BadValue for a number of experts among which there is nothing to choose."""
    if number < FEWEST_EXPERTS:
        raise BadValue(
            f"a router chooses among two experts or more; got {number}",
            field="experts",
        )


@dataclass(frozen=True)
class Routes:
    """Where the rows of a routed table come from.

    A row's certificate rests on the set of experts that are its members: the router
    provably answers with one of them within `router_radius`, and all of them provably
    answer with the row's class within `expert_radius`.

    Attributes:
        members: (N, K) 1 for each expert of the row's set, else 0.
        router_radius: (N,) radius within which the router stays in the set; infinite for
            the set of all experts, 0 where nothing is certified.
        expert_radius: (N,) least radius of the members; 0 where they do not all certify
            one class.
        spent: (N,) samples that router and experts took for the image, together.

    Example:
        >>> routes = Routes(
        ...     members=np.array([[0, 1], [1, 1]]),
        ...     router_radius=np.array([0.4, np.inf]),
        ...     expert_radius=np.array([0.9, 0.3]),
        ...     spent=np.array([2000, 3000]),
        ... )
        >>> routes.radius.tolist()
        [0.4, 0.3]
    """

    members: Ints
    router_radius: Floats
    expert_radius: Floats
    spent: Ints

    @property
    def radius(self) -> Floats:
        """(N,) radius within which the routed classifier cannot change its class."""
        return np.minimum(self.router_radius, self.expert_radius)

    def rows(self, keep: NDArray[np.bool_] | NDArray[np.intp]) -> Routes:
        """Return the rows where `keep` (N,) is True, or those numbered `keep` (M,)."""
        return replace(
            self, **{name: column[keep] for name, column in self.columns().items()}
        )

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return the columns by their names."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def check(self, idx: Ints, K: int) -> None:
        """Raise Problem unless these are possible rows of the images `idx`, of K experts."""
        members = self.members
        if members.shape != (len(idx), K):
            raise WrongTable(
                f"members have the shape {members.shape}; expected ({len(idx)}, {K}): a "
                "row for each image, a column for each expert"
            )
        known = ((members == 0) | (members == 1)).all(axis=1)
        refuse(idx, ~known, lambda row: f"has members {members[row].tolist()}: damaged")
        for name in ("router_radius", "expert_radius"):
            radius = getattr(self, name)
            # A radius that is NaN is not below 0 either.
            possible = radius >= 0.0
            refuse(idx, ~possible, lambda row: "has a radius that is none: damaged")
        endless = np.isinf(self.router_radius) & ~members.all(axis=1).astype(bool)
        refuse(
            idx, endless, lambda row: "has an infinite radius of its router: damaged"
        )
        refuse(
            idx,
            ~np.isfinite(self.expert_radius),
            lambda row: "has an infinite radius of its experts: damaged",
        )
