"""How the command line prints what steps will take, and which of them failed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING

from randsmooth.cli.options import Answered
from randsmooth.cli.printed_commands import command_of
from randsmooth.cli.settings import Settings
from randsmooth.cli.wording import spelling
from randsmooth.cli.workers import SharedOrSlurm
from randsmooth.errors import each_problem
from randsmooth.escape import printable
from randsmooth.progress import clock

if TYPE_CHECKING:
    from randsmooth.launch import Step
    from randsmooth.launch.step_costs import StepCosts

# The assumptions behind the printed times.
SUPPOSED = (
    "measured: each network on a few images here, in float32, with random weights; "
    "supposed: one step after the other, every epoch at the method's full strength, "
    "all samples of every image (a rule that stops early takes fewer)"
)


class StepsVerb(Answered, SharedOrSlurm):
    """Settings of a verb that carries out steps."""


def answer_plan(settings: StepsVerb, steps: Iterable[Step]) -> None:
    """Print how long the steps take that are not done."""
    # Late, as it loads torch, which the help of a verb does not need.
    from randsmooth.launch.step_costs import plan_steps

    costs = plan_steps(step for step in steps if not step.is_done())
    workers = settings.workers or 1
    # `costs` has the seconds of each step; "seconds" are those of all on the workers.
    content = {
        **asdict(costs),
        "seconds": costs.on_workers(workers),
        "workers": workers,
    }
    settings.answer(plan_lines(costs, workers), lambda: content)


def plan_lines(costs: StepCosts, workers: int) -> Iterator[str]:
    """Yield a line for each step of a plan, and the times of all together."""
    width = max(map(len, costs.steps), default=0)
    for name, seconds in costs.steps.items():
        yield f"{name:{width}}  {clock(seconds)}"
    training = clock(sum(costs.training.values()))
    certification = clock(sum(costs.certification.values()))
    together = f"together {clock(costs.total)}"
    if workers > 1:
        on_workers = clock(costs.on_workers(workers))
        together += f"; on {workers} workers like this machine {on_workers}"
    yield ""
    yield f"training {training}, certification {certification}"
    yield together
    yield SUPPOSED


def failure_lines(steps: Iterable[Step]) -> Iterator[str]:
    """Yield why each failed step failed, and the command that repeats the step."""
    for step in steps:
        sentence = failure_of(step)
        if sentence:
            yield f"  {step.name}: {sentence}"
            yield f"    {command_of(step)}"


def failure_of(step: Step) -> str:
    """Return why a step failed, in the words of the command that does the same.

    It is empty where the step did not fail.
    """
    failure = step.failure()
    if failure is None:
        return ""
    # Late, as only a failed step needs the settings of these verbs.
    from randsmooth.cli.verbs.certify import Certify
    from randsmooth.cli.verbs.train import Train

    settings_of_verb: dict[str, type[Settings]] = {"train": Train, "certify": Certify}
    # A step that no verb carries out has no options: any settings will do.
    spell = spelling(settings_of_verb.get(step.verb, StepsVerb))
    sentences = [problem.words(spell) for problem in each_problem(failure)]
    return "; ".join(map(printable, sentences))
