"""Sweep a grid: train, certify and evaluate every model, then rank them, and go on where an earlier try ended."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from randsmooth import data, models
from randsmooth.atomic import claimed, write_atomically
from randsmooth.certification.run import RunSpec, choose
from randsmooth.documents import parse_yaml, read_file
from randsmooth.errors import (
    ANOTHER_OUT,
    BadValue,
    NotFound,
    OutputExists,
    Problem,
    WrongFile,
)
from randsmooth.launch.chains import RESUMED, Chain, Step, carry_out, chains_of
from randsmooth.launch.slurm import Jobs, Resources, Submitted, check_slurm
from randsmooth.launch.sweep_grid import Cell, SweepGrid
from randsmooth.launch.workers import Workers
from randsmooth.models.registry import check_arch
from randsmooth.models.sources import check_place
from randsmooth.noise import instead
from randsmooth.progress import Progress, chosen_progress
from randsmooth.training.settings import Reading

RECORD = "sweep.yaml"
MOST_RECORD_BYTES = 2**22  # of the commands of a sweep, for 2,000 models
HEADING = "# What this folder holds; written by `randsmooth sweep`, which compares a grid with it before it goes on.\n"
PAGE = "leaderboard.html"
STATES = ("done", "running", "queued", "waiting", "failed")


def steps_of(grid: SweepGrid, out: Path | str) -> list[Step]:
    """The steps of a sweep into the folder `out`, those of one model together, in the order of the grid.

    Every model has a folder below `out` with its name: `model/`, a table for each certification, `metrics.json`.

    Raises:
        Problem: models that wait for each other, or a reference that may mean several.

    Example:
        >>> grid = SweepGrid.read({"datasets": "digits", "methods": "gaussian", "sigmas": 0.25, "certify": {"n": 1000}})
        >>> for step in steps_of(grid, Path("runs")):
        ...     print(step.name)
        digits-gaussian-0.25-seed0/train
        digits-gaussian-0.25-seed0/n=1000
        digits-gaussian-0.25-seed0/evaluate
    """
    steps = _Steps(grid, Path(out))
    for cell in grid.cells:
        steps.of_cell(cell)
    return [*steps.found.values()]


class _Steps:
    """Collects steps by name, each once, what another needs before it."""

    def __init__(self, grid: SweepGrid, out: Path) -> None:
        self.grid, self.out, self.found = grid, out, dict[str, Step]()
        self.titles = {cell.title: cell for cell in grid.cells}

    def add(
        self,
        name: str,
        verb: str,
        argument: Any,
        options: Mapping[str, Any],
        makes: str,
        *needs: Step,
    ) -> Step:
        """The step that writes `makes`, a place below the folder of the sweep."""
        out, reads = (
            self.out / makes,
            tuple(need.makes for need in needs) if verb == "evaluate" else (),
        )
        return self.found.setdefault(
            name, Step(name, verb, argument, {**options, "out": out}, out, needs, reads)
        )

    def of_cell(self, cell: Cell) -> None:
        train, tables = self.training(cell, ()), list[Step]()
        reading = {
            key: value
            for key, value in cell.values.items()
            if key in Reading.model_fields
        }
        for title, values in self.grid.certifications.items():
            name, options = (
                f"{cell.title}/{title}",
                {"dataset": cell.dataset, **reading, **values},
            )
            tables.append(
                self.add(
                    name, "certify", str(train.makes), options, f"{name}.parquet", train
                )
            )
        if tables:
            made, options = (
                [str(step.makes) for step in tables],
                {"format": "json", "overwrite": True},
            )
            self.add(
                f"{cell.title}/evaluate",
                "evaluate",
                made,
                options,
                f"{cell.title}/metrics.json",
                *tables,
            )

    def training(self, cell: Cell, asked_by: tuple[str, ...]) -> Step:
        """The step that trains a model, after those of the models that its hyperparameters refer to."""
        if cell.title in asked_by:
            raise BadValue(
                f"models wait for each other: {' needs '.join([*asked_by, cell.title])}"
            )
        if self.titles.setdefault(cell.title, cell).values != cell.values:
            raise BadValue(
                f"{cell.title} is two models: say in the reference what tells it from the other"
            )
        own, needs = dict(cell.own), list[Step]()
        for key, value in cell.own.items():
            if isinstance(value, Mapping):
                needs.append(
                    self.training(
                        self.grid.meant(cell, key, value), (*asked_by, cell.title)
                    )
                )
                own[key] = str(needs[-1].makes)
        options = replace(cell, own=own).options()
        return self.add(
            f"{cell.title}/train",
            "train",
            cell.dataset,
            options,
            f"{cell.title}/model",
            *needs,
        )


def check_steps(steps: Sequence[Step], *, here: bool = True) -> None:
    """Check every step that trains or certifies, and that its data can be opened.

    Args:
        steps: those of the sweep, whose models need not be there yet.
        here: the steps will run on this machine, so that their devices are looked for as well.

    Raises:
        Problem: a step could not run; the message begins with its name.
    """
    opened, trained = (
        dict[str, int](),
        {str(step.makes): step for step in steps if step.verb == "train"},
    )
    for step in steps:
        if step.verb in RESUMED and not step.is_done():
            try:
                if here:
                    models.pick_device(step.options.get("device", "auto"))
                _check(step, opened, trained)
            except Problem as error:
                raise Problem(f"{step.name}: {error}") from error


def _check(step: Step, opened: dict[str, int], trained: Mapping[str, Step]) -> None:
    """As `train` and `certify` would, of models that are `trained` by then their places alone.

    `opened` keeps how many images a split has, each of which is opened once.
    """
    options = {
        key: value
        for key, value in step.options.items()
        if key not in ("out", "device")
    }
    dataset = str(options.pop("dataset", step.argument))
    if step.verb == "train":
        recipe = step.recipe()
        check_arch(recipe.arch)
        folders = [recipe.hyperparameters.get(key) for key in recipe.folders()]
    else:
        folders = [options.pop("denoiser", None)]
        options = {
            key: trained[str(step.argument)].options.get(key)
            for key in ("sigma", "noise")
        } | instead(options)
        if not (options["sigma"] or options["noise"]):
            raise BadValue(
                "the model is trained without noise: give certify a sigma, or a noise"
            )
        spec = RunSpec.of(str(step.argument), dataset, **options)
        spec.settings.stopping_rule()
        if odd := {
            name: options[name]
            for name in ("take", "skip")
            if type(options.get(name, 0)) is not int
        }:
            raise BadValue(
                f"{next(f'{name}={value!r}' for name, value in odd.items())} must be a whole number"
            )
    reading: dict[str, Any] = {key: options.get(key) for key in Reading.model_fields}
    split = str(options.get("split", "test" if step.verb == "certify" else "train"))
    if (key := f"{dataset} {split} {reading}") not in opened:
        opened[key] = len(data.load(dataset, split, stream=True, **reading))
    if step.verb == "certify":
        choose(opened[key], spec.take, spec.skip)
    for folder in folders:
        if folder and str(folder) not in trained:
            check_place(str(folder))


@dataclass(frozen=True)
class Swept:
    """How a sweep ended.

    Attributes:
        folder: where everything is.
        chains: a model each, with its steps.
        failed: chain -> why.
        blocked: chain that could not run -> the one that failed and that it waits for.

    Example:
        >>> Swept(Path("runs/none"), (), {}, {}).tables
        []
    """

    folder: Path
    chains: tuple[Chain, ...]
    failed: Mapping[str, str]
    blocked: Mapping[str, str]

    @property
    def tables(self) -> list[Path]:
        """The certificates that there are, in the order of the grid."""
        return [step.makes for step in certifying(self.chains) if step.is_done()]

    @property
    def leaderboard(self) -> Path | None:
        """The page that ranks them; None where there is none."""
        page = self.folder / PAGE
        return page if page.exists() else None


def certifying(chains: Sequence[Chain]) -> Iterator[Step]:
    """The steps that certify."""
    return (step for chain in chains for step in chain.steps if step.verb == "certify")


def sweep(
    grid: SweepGrid | Mapping[str, Any] | Path | str,
    *,
    out: Path | str,
    workers: Workers | None = None,
    progress: Progress | bool | None = None,
) -> Swept:
    """Train, certify and evaluate every model of a grid, rank them, and return how it ended.

    What is finished in `out` stays, and what was interrupted goes on, whatever ended the earlier sweep. A model that
    fails does not stop those that do not need it. What a step says is in a log beside its output.

    Args:
        grid: a YAML file, what it would hold (see `SweepGrid.read`), or a grid.
        out: the folder of the sweep.
        workers: who shares the models, such as `launch.Processes(2)`; default: this process, one after the other.
        progress: as for `train`.

    Raises:
        Problem: a grid, or a step of it, that cannot be used, which is found out before the first step begins; a
            folder that holds something else; another sweep runs in it.

    Example:
        >>> grid = {"datasets": "digits", "methods": "gaussian", "sigmas": 0.25, "certify": {"n": 5}}
        >>> sweep(grid, out="runs/sweep")
        Traceback (most recent call last):
        randsmooth.errors.Problem: digits-gaussian-0.25-seed0/n=5: alpha=0.001 needs n >= 10 to certify anything; ...
    """
    chosen = grid if isinstance(grid, SweepGrid) else SweepGrid.read(grid)
    folder = Path(out)
    with begun(chosen, folder, here=workers is None) as chains:
        Jobs(folder).check_none()
        ended = carry_out(
            chains, workers, chosen_progress(progress), f"sweep {folder.name}"
        )
        swept = Swept(folder, tuple(chains), *ended)
        ranking = _ranking(folder, swept.tables)
        if swept.tables and not ranking.is_done() and (error := ranking.run()):
            raise Problem(f"the tables could not be ranked: {error}")
    return swept


@contextmanager
def begun(grid: SweepGrid, out: Path, *, here: bool = True) -> Iterator[list[Chain]]:
    """The chains of a sweep, all of it checked and written down, for the one process that may carry them out."""
    if "://" in str(out) or ":/" in str(out):
        raise BadValue(
            field="out",
            value=str(out),
            expected="must be on a disk, as the folder of a sweep; its tables can be moved later",
        )
    steps = steps_of(grid, out)
    made = {
        step.name: step.command()
        for step in steps_of(grid, "OUT")
        if step.verb in RESUMED
    }
    before = _before(out, steps, made)
    chains = chains_of(steps)
    check_steps(steps, here=here)
    with claimed(out / "sweep", output=out):
        content = {"grid": dict(grid.document), "steps": {**before, **made}}
        text = yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=10**6)
        write_atomically(out / RECORD, (HEADING + text).encode())
        yield chains


def submit_sweep(grid: SweepGrid, out: Path, resources: Resources) -> Submitted:
    """Submit what is missing of a sweep to Slurm: a job for each model, and one that ranks them all in the end.

    Arguments and errors as for `sweep`; or Slurm refuses.
    """
    check_slurm()
    with begun(grid, out, here=False) as chains:
        if tables := [step.makes for step in certifying(chains)]:
            every = tuple(step for chain in chains for step in chain.steps)
            chains.append(
                Chain("leaderboard", (replace(_ranking(out, tables), needs=every),))
            )
        return Jobs(out).submit(chains, resources)


def _ranking(folder: Path, tables: Sequence[Path]) -> Step:
    page = folder / PAGE
    options = {"out": page, "title": f"Sweep {folder.name}", "overwrite": True}
    return Step(
        "leaderboard", "leaderboard", str(folder), options, page, reads=tuple(tables)
    )


def known(folder: Path) -> dict[str, Any] | None:
    """What a folder says it is about; None if it says nothing."""
    path = folder / RECORD
    if not path.exists():
        return None
    content = parse_yaml(read_file(path, MOST_RECORD_BYTES), path, MOST_RECORD_BYTES)
    if not isinstance(content, dict) or not all(
        isinstance(content.get(key), dict) for key in ("grid", "steps")
    ):
        raise WrongFile(
            f"{path} is damaged: it must hold `grid` and `steps`",
            fix=ANOTHER_OUT,
            file=path,
        )
    return content


def _before(
    out: Path, steps: Sequence[Step], made: Mapping[str, str]
) -> dict[str, str]:
    """The commands that earlier sweeps into the folder had, by step.

    Raises:
        Problem: the folder holds something else, or what was made by another command than `made` says of its step: a
            model or a table in it would be taken for that of this grid.
    """
    if (content := known(out)) is None:
        there = (
            sorted(path.name for path in out.iterdir() if not path.name.startswith("."))
            if out.is_dir()
            else []
        )
        if there:
            raise OutputExists(
                f"{out} holds {there[0]}, which no sweep wrote",
                fix=ANOTHER_OUT,
                file=out,
            )
        return {}
    before = dict(content["steps"])
    if before and not before.keys() & made.keys():
        raise OutputExists(
            f"{out} holds another sweep, of {next(iter(before))} and others",
            fix=ANOTHER_OUT,
            file=out,
        )
    others = {
        name: why
        for name in made
        if name in before and (why := difference(before[name], made[name]))
    }
    for step in steps:
        if why := next(
            (others[one.name] for one in (step, *step.needs) if one.name in others), ""
        ):
            others[step.name] = why
            if step.verb in RESUMED and step.begun():
                raise OutputExists(
                    f"{step.makes} was made with other settings ({why})",
                    fix=(*ANOTHER_OUT, ", or remove it"),
                    file=step.makes,
                )
    return before


def difference(before: str, now: str) -> str:
    """What two commands of a step differ in.

    Example:
        >>> difference("randsmooth certify m --n 100 --sound", "randsmooth certify m --n 200")
        '--n 100 --sound there, --n 200 in the grid'
    """
    one, other = (re.split(" (?=--)", command) for command in (before, now))
    apart = (
        [part for part in parts if part not in others]
        for parts, others in ((one, other), (other, one))
    )
    there, here = (" ".join(parts) or "nothing" for parts in apart)
    return f"{there} there, {here} in the grid" if set(one) != set(other) else ""


@dataclass(frozen=True)
class Status:
    """How far a model of a sweep is: its state, and in words how far it is, why it failed or what it waits for.

    Example:
        >>> counted([Status("a", "running", "train: epoch 3 of 10 done"), Status("b", "waiting", "")])
        '1 running, 1 waiting'
    """

    name: str
    state: str
    words: str
    steps: tuple[Step, ...] = ()


def status(folder: Path | str) -> list[Status]:
    """How far the sweep into `folder` is, model by model, in the order of its grid, whoever runs it.

    Raises:
        Problem: the folder holds no sweep.

    Example:
        >>> grid = SweepGrid.read({"datasets": "digits", "methods": "gaussian", "sigmas": [0.25, 0.5]})
        >>> with begun(grid, Path("runs")):
        ...     [(model.name, model.state) for model in status("runs")]
        [('digits-gaussian-0.25-seed0', 'waiting'), ('digits-gaussian-0.5-seed0', 'waiting')]
    """
    folder = Path(folder)
    if (content := known(folder)) is None:
        raise NotFound(
            f"{folder} holds no sweep: give the folder that `randsmooth sweep` wrote to"
        )
    jobs = Jobs(folder)
    queued = jobs.alive()
    chains = chains_of(steps_of(SweepGrid.read(content["grid"]), folder))
    return [_status(chain, queued.get(chain.name, ""), jobs) for chain in chains]


def _status(chain: Chain, queued: str, jobs: Jobs) -> Status:
    missing = {step.name.rpartition("/")[2]: step for step in chain.missing()}
    failures = [
        f"{name}: {why}" for name, step in missing.items() if (why := step.failure())
    ]
    failed = "; ".join(failures) or jobs.failure(chain.name)
    far = "; ".join(
        f"{name}: {words}"
        for name, step in missing.items()
        if (words := step.progress())
    )
    if not missing:
        state, words = "done", ""
    elif any(step.runs() for step in missing.values()) or queued == "RUNNING":
        state, words = "running", far or "just begun"
    elif queued or failed:
        state, words = ("queued", queued.lower()) if queued else ("failed", failed)
    else:
        state, words = "waiting", f"{far}, to be gone on with" if far else ""
    return Status(chain.name, state, words, chain.steps)


def counted(models: Sequence[Status]) -> str:
    """How many models are in which state: 3 done, 1 running."""
    count = Counter(model.state for model in models)
    return ", ".join(f"{count[state]} {state}" for state in STATES if count[state])
