"""How long the steps of a sweep or a reproduction take, as their `--plan` prints it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from randsmooth.launch import Step
    from randsmooth.launch.graph_plan import GraphPlan, Speeds

SUPPOSED = (
    "measured: each network on a few images here, in float32, with random weights; supposed: one step after the other, "
    "every epoch at the method's full strength, all samples of every image"
)


def steps_plan(steps: Iterable[Step], workers: int = 1) -> Iterator[str]:
    """The lines of a plan: each step that is not done, and all together."""
    from randsmooth.launch.plan_text import duration

    left = [step for step in steps if not step.is_done()]
    planned = planned_steps(left)
    width = max([len(name) for name in planned.steps], default=0)
    yield from (f"{name:{width}}  {duration(seconds)}" for name, seconds in planned.steps.items())
    yield ""
    yield f"training {duration(planned.training)}, certification {duration(planned.certification)}"
    shared = f"; on {workers} workers like this machine {duration(planned.on_workers(workers))}" if workers > 1 else ""
    yield f"together {duration(planned.seconds)}{shared}"
    yield from remarks(planned)


def remarks(planned: GraphPlan) -> Iterator[str]:
    """What a plan supposes."""
    if planned.at_most:
        yield "a rule that stops early takes at most this long: `randsmooth plan` tells more once the model is there"
    if planned.unknown:
        yield f"not foretold: {', '.join(planned.unknown)}"
    yield SUPPOSED


def planned_steps(steps: Sequence[Step], speeds: Speeds | None = None) -> GraphPlan:
    """The plan of the steps, with the speeds of this machine."""
    from randsmooth.launch.graph_plan import plan_steps

    return plan_steps(steps, speeds or speeds_here())


def speeds_here() -> Speeds:
    """What measures the networks of plans on this machine's GPU, or else its CPU."""
    from randsmooth import models
    from randsmooth.launch.graph_plan import Speeds

    return Speeds(models.pick_device("auto"))


def objects_plan(scale: str) -> Iterator[str]:
    """A line for each table and figure of the papers: the hours of all that it needs, made from nothing."""
    from pathlib import Path

    from randsmooth.launch.plan_text import duration
    from randsmooth.papers.context import Context
    from randsmooth.papers.objects import OBJECTS
    from randsmooth.papers.reproduction import steps_for_rows
    from randsmooth.papers.scales import SCALES

    speeds, nowhere = speeds_here(), Context((), SCALES[scale], Path("reproduced") / scale)
    yield f"{'object':18} {'models':>6} {'training':>14} {'certification':>14} {'together':>14}"
    every = dict[str, "Step"]()
    for thing in OBJECTS:
        steps = [*steps_for_rows(thing.rows(), nowhere)]
        every |= {step.name: step for step in steps}
        planned = planned_steps(steps, speeds)
        models = sum(step.verb == "train" for step in steps)
        took = (duration(seconds) for seconds in (planned.training, planned.certification, planned.seconds))
        yield f"{thing.name:18} {models:>6} {' '.join(f'{words:>14}' for words in took)}"
    planned = planned_steps([*every.values()], speeds)
    yield f"all, each model once: {duration(planned.seconds)} at scale {scale}"
    yield from remarks(planned)
