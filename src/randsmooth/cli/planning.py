"""What a certification will take, as `plan` and `certify --plan` print it."""

from __future__ import annotations

import json
from collections.abc import Sequence

from randsmooth.cli.certification import WhatToCertify, check_names, order_of
from randsmooth.escape import printable, say

SECONDS = 30.0  # of the pilot


def show_plan(
    settings: WhatToCertify,
    *,
    workers: Sequence[int] = (),
    seconds: float = SECONDS,
    seed: int = 0,
    format: str = "text",
) -> None:
    """Print the plan of a certification: in words, or as JSON alone."""
    check_names(settings)
    from randsmooth.launch import plan
    from randsmooth.launch.plan_text import plan_text

    found = plan(order_of(settings), workers=workers, seconds=seconds, seed=seed)
    if format == "json":
        say(json.dumps({"model": settings.model, **found.to_dict()}, indent=1))
        return
    for line in plan_text(found).splitlines():
        say(printable(line))
