"""Sweep a grid: train, certify and evaluate every model, then rank them, and go on where an earlier try ended."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from randsmooth.atomic import claimed, write_atomically
from randsmooth.documents import parse_yaml, read_file
from randsmooth.errors import InputError
from randsmooth.launch.chains import TRAINING, Chain, Outcome, Step, carry_out, chains_of, levels, progress_of
from randsmooth.launch.grid import Cell, Certification, Grid, Reference, slug
from randsmooth.launch.slurm import Job, Jobs, Resources, Submitted, check_slurm
from randsmooth.launch.workers import Workers
from randsmooth.progress import Progress, chosen_progress


def steps_of(grid: Grid, out: Path | str) -> list[Step]:
    """The steps of a sweep into the folder `out`, those of one model together, in the order of the grid.

    Every model has a folder below `out` with its name: `model/`, a table for each certification, `metrics.json`.

    Raises:
        InputError: models that wait for each other, or a reference that may mean several.

    Example:
        >>> grid = Grid.read({"datasets": "digits", "methods": "gaussian", "sigmas": 0.25, "certify": {"n": 1000}})
        >>> for step in steps_of(grid, Path("runs")):
        ...     print(step.name)
        digits-gaussian-0.25-seed0/train
        digits-gaussian-0.25-seed0/n=1000
        digits-gaussian-0.25-seed0/evaluate
    """
    steps = _Steps(grid, Path(out))
    for cell in grid.cells:
        steps.add_cell(cell)
    return [*steps.found.values()]


class _Steps:
    """Collects steps by name, each once, what another needs before it."""

    def __init__(self, grid: Grid, out: Path) -> None:
        self.grid, self.out, self.found = grid, out, dict[str, Step]()
        self.titles: dict[str, Cell] = dict(grid.by_title)

    def add_cell(self, cell: Cell) -> None:
        train = self.training(cell, ())
        certified = [self.certification(cell, train, one) for one in self.grid.certifications]
        if certified:
            self.add(_evaluation(self.out / cell.title, cell, certified))

    def add(self, step: Step) -> Step:
        return self.found.setdefault(step.name, step)

    def training(self, cell: Cell, asked_by: tuple[str, ...]) -> Step:
        """The step that trains a model, after those of the models that its hyperparameters refer to."""
        if cell.title in asked_by:
            circle = " needs ".join([*asked_by[asked_by.index(cell.title) :], cell.title])
            raise InputError(f"models wait for each other: {circle}")
        name = f"{cell.title}/train"
        if name in self.found:
            return self.found[name]
        values, needs = dict[str, Any](), list[str]()
        for key, value in cell.own.items():
            if isinstance(value, Reference):
                other = self.training(self._named_once(self.grid.meant(cell, key, value)), (*asked_by, cell.title))
                value, needs = str(other.makes), [*needs, other.name]
            values[key] = value
        options = {**replace(cell, own=values).options(), "out": self.out / cell.title / "model"}
        return self.add(Step(name, "train", cell.dataset, options, options["out"], tuple(needs)))

    def _named_once(self, cell: Cell) -> Cell:
        """The cell; InputError where a model that is only referred to has the name of another."""
        there = self.titles.setdefault(cell.title, cell)
        if there.values != cell.values:
            raise InputError(
                f"{cell.title} is two models, with {dict(there.values)} and with {dict(cell.values)}: say in the "
                "reference what tells it from the other"
            )
        return there

    def certification(self, cell: Cell, train: Step, one: Certification) -> Step:
        folder = self.out / cell.title
        options: dict[str, Any] = {"dataset": cell.dataset, **cell.reading(), **one.values}
        needs = [train.name]
        denoiser = options.get("denoiser")
        if isinstance(denoiser, Mapping):
            step = self.denoiser(cell, train, denoiser, float(options.get("sigma", cell.sigma)))
            options["denoiser"], needs = step.makes, [*needs, step.name]
        table = folder / f"{one.title}.parquet"
        return self.add(
            Step(
                f"{cell.title}/{one.title}",
                "certify",
                str(train.makes),
                {**options, "out": table},
                table,
                tuple(needs),
            )
        )

    def denoiser(self, cell: Cell, train: Step, said: Mapping[str, Any], sigma: float) -> Step:
        """The step that trains a denoiser; one that is about a classifier's answers is of the cell's own."""
        values, needs = dict(said), list[str]()
        if values.get("objective") == "stability" and "classifier" not in values:
            values["classifier"], needs = str(train.makes), [train.name]
        if isinstance(values.get("start"), Mapping):
            before = self.denoiser(cell, train, values["start"], sigma)
            values["start"], needs = str(before.makes), [*needs, before.name]
        words = [f"{key}={Path(str(value)).name}" for key, value in said.items() if not isinstance(value, Mapping)]
        of = [cell.title] if train.name in needs else [Path(cell.dataset).name]
        title = slug("-".join([*of, "denoiser", *words, f"{sigma:g}"]))
        folder = self.out / title / "model"
        return self.add(
            Step(
                f"{title}/train",
                "train-denoiser",
                cell.dataset,
                {"sigma": sigma, **values, "out": folder},
                folder,
                tuple(needs),
            )
        )


def _evaluation(folder: Path, cell: Cell, certified: list[Step]) -> Step:
    tables = tuple(step.makes for step in certified)
    out = folder / "metrics.json"
    return Step(
        f"{cell.title}/evaluate",
        "evaluate",
        [str(table) for table in tables],
        {"format": "json", "out": out, "overwrite": True},
        out,
        tuple(step.name for step in certified),
        tables,
    )


READING = ("image_column", "label_column", "resize", "crop")


def check_steps(steps: Sequence[Step], *, here: bool = True) -> None:
    """Check every step that trains or certifies, and that its data can be opened.

    Args:
        steps: those of the sweep, whose models need not be there yet.
        here: the steps will run on this machine, so that their devices are looked for as well.

    Raises:
        InputError: a step could not run; the message begins with its name.
    """
    images = _Data()
    trained = {str(step.makes): step for step in steps if step.verb in TRAINING}
    for step in steps:
        if step.is_done() or step.verb not in CHECKS:
            continue
        with _called(step):
            if here:
                _check_device(step.options.get("device", "auto"))
            CHECKS[step.verb](step, images, trained)


@contextmanager
def _called(step: Step) -> Iterator[None]:
    """Let an error name the step."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{step.name}: {error}") from error


class _Data:
    """The data sets of a sweep, each opened once."""

    def __init__(self) -> None:
        self.opened = dict[tuple[Any, ...], Any]()

    def split(self, dataset: str, split: str, options: Mapping[str, Any]) -> Any:
        from randsmooth import data

        reading: dict[str, Any] = {key: options.get(key) for key in READING}
        key = (dataset, split, *reading.values())
        if key not in self.opened:
            self.opened[key] = data.load(dataset, split, stream=True, **reading)
        return self.opened[key]


def _check_device(device: str) -> None:
    from randsmooth import models

    models.pick_device(device)


def _check_training(step: Step, images: _Data, trained: Mapping[str, Step]) -> None:
    from randsmooth import data
    from randsmooth.models.registry import check_arch
    from randsmooth.training import TrainingSettings, resolve
    from randsmooth.training.run import require_labels, weights_of_other_models

    options = {key: value for key, value in step.options.items() if key in TrainingSettings.model_fields}
    settings = TrainingSettings(**options)
    dataset = str(step.argument)
    images.split(dataset, "train", settings.reading)
    spec = data.describe(dataset, **settings.reading)
    require_labels(spec)
    recipe, _ = resolve(dataset, settings, spec)
    check_arch(recipe.arch)
    to_come = {key: None for key in recipe.folders() if str(recipe.hyperparameters.get(key)) in trained}
    there = recipe.model_copy(update={"hyperparameters": recipe.hyperparameters | to_come})
    weights_of_other_models(there, spec)


def _check_denoiser_training(step: Step, images: _Data, trained: Mapping[str, Step]) -> None:
    from randsmooth.models.place import check_place
    from randsmooth.training import DenoiserSettings

    settings = DenoiserSettings(**{key: value for key, value in step.options.items() if key not in ("out", "device")})
    for folder in (settings.classifier, settings.start):
        if folder is not None and folder not in trained:
            check_place(folder)
    images.split(str(step.argument), "train", {})


def _check_certification(step: Step, images: _Data, trained: Mapping[str, Step]) -> None:
    from randsmooth.certificates import CertificationSettings
    from randsmooth.certification.backends import check_backend
    from randsmooth.certification.order import choose
    from randsmooth.models.place import check_place

    options = dict(step.options)
    model = trained[str(step.argument)]
    sigma = options.get("sigma", model.options.get("sigma"))
    if not sigma:
        raise InputError("the model is trained without noise: give certify a sigma")
    fields = {key: value for key, value in options.items() if key in CertificationSettings.model_fields}
    settings = CertificationSettings(**fields | {"sigma": sigma})
    settings.stopping_rule()
    check_backend(settings.backend)
    denoiser = options.get("denoiser")
    if denoiser is not None and str(denoiser) not in trained:
        check_place(str(denoiser))
    found = images.split(options["dataset"], options.get("split", "test"), options)
    choose(len(found), *(_count(key, options.get(key)) for key in ("take", "skip")))


def _count(name: str, value: Any) -> int | None:
    if value is not None and type(value) is not int:
        raise InputError(f"{name}={value!r} must be a whole number")
    return value


CHECKS = {
    "train": _check_training,
    "train-denoiser": _check_denoiser_training,
    "certify": _check_certification,
}


RECORD = "sweep.yaml"
HEADING = "# What this folder holds; written by `randsmooth sweep`, which compares a grid with it before it goes on.\n"
MADE_ONCE = ("train", "train-denoiser", "certify")  # what cannot be made again in seconds
STATES = ("done", "running", "queued", "waiting", "failed")


@dataclass(frozen=True)
class Swept:
    """How a sweep ended.

    Attributes:
        folder: where everything is.
        chains: a model each, with its steps.
        outcome: which of them failed, and which could not run.

    Example:
        >>> Swept(Path("runs/none"), (), Outcome()).tables
        []
    """

    folder: Path
    chains: tuple[Chain, ...]
    outcome: Outcome

    @property
    def tables(self) -> list[Path]:
        """The certificates that there are, in the order of the grid."""
        return [step.makes for step in certifying(self.chains) if step.is_done()]

    @property
    def leaderboard(self) -> Path | None:
        """The page that ranks them; None where there is none."""
        page = self.folder / "leaderboard.html"
        return page if page.exists() else None


def certifying(chains: Sequence[Chain]) -> Iterator[Step]:
    """The steps that certify."""
    return (step for chain in chains for step in chain.steps if step.verb == "certify")


def sweep(
    grid: Grid | Mapping[str, Any] | Path | str,
    *,
    out: Path | str,
    workers: Workers | None = None,
    progress: Progress | bool | None = None,
) -> Swept:
    """Train, certify and evaluate every model of a grid, rank them, and return how it ended.

    What is finished in `out` stays, and what was interrupted goes on, whatever ended the earlier sweep. A model that
    fails does not stop those that do not need it. What a step says is in a log beside its output.

    Args:
        grid: a YAML file, what it would hold (see `Grid.read`), or a grid.
        out: the folder of the sweep.
        workers: who shares the models, such as `launch.Processes(2)`; default: this process, one after the other.
        progress: as for `train`.

    Raises:
        InputError: a grid, or a step of it, that cannot be used, which is found out before the first step begins; a
            folder that holds something else; another sweep runs in it.

    Example:
        >>> grid = {"datasets": "digits", "methods": "gaussian", "sigmas": 0.25, "certify": {"n": 5}}
        >>> sweep(grid, out="runs/sweep")
        Traceback (most recent call last):
        randsmooth.errors.InputError: digits-gaussian-0.25-seed0/n=5: alpha=0.001 needs n >= 10 to certify anything; ...
    """
    chosen = grid if isinstance(grid, Grid) else Grid.read(grid)
    folder = Path(out)
    with begun(chosen, folder, here=workers is None) as chains:
        Jobs(folder).check_none()
        with chosen_progress(progress)(
            f"sweep {folder.name}", sum(len(chain.steps) for chain in chains), "steps"
        ) as reporter:
            outcome = carry_out(chains, workers, reporter)
        swept = Swept(folder, tuple(chains), outcome)
        if swept.tables:
            rank(folder, swept.tables)
    return swept


@contextmanager
def begun(grid: Grid, out: Path, *, here: bool = True) -> Iterator[list[Chain]]:
    """The chains of a sweep, all of it checked and written down, for the one process that may carry them out."""
    if "://" in str(out) or ":/" in str(out):
        raise InputError(f"--out {out}: the folder of a sweep must be on a disk; its tables can be moved later")
    steps = steps_of(grid, out)
    _check_folder(out, grid, steps)
    chains = chains_of(steps, out)
    check_steps(steps, here=here)
    with claimed(out / "sweep", output=out):
        before = (known(out) or {"steps": {}})["steps"]
        content = {"grid": dict(grid.document), "steps": {**before, **_commands(grid)}}
        text = yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=10**6)
        write_atomically(out / RECORD, (HEADING + text).encode())
        yield chains


def submit_sweep(grid: Grid, out: Path, resources: Resources) -> Submitted:
    """Submit what is missing of a sweep to Slurm: a job for each model, and one that ranks them all in the end.

    Arguments and errors as for `sweep`; or Slurm refuses.
    """
    check_slurm()
    with begun(grid, out, here=False) as chains:
        jobs = jobs_of(chains)
        if jobs and any(certifying(chains)):
            jobs.append(Job("leaderboard", [_ranking(out, ()).words()], tuple(job.name for job in jobs), light=True))
        return Jobs(out).submit(jobs, resources)


def jobs_of(chains: Sequence[Chain]) -> list[Job]:
    """What is missing of chains, as jobs, each after those that it needs."""
    return [
        Job(chain.name, [step.words() for step in chain.missing()], tuple(sorted(chain.needs)))
        for level in levels(chains)
        for chain in level
        if chain.missing()
    ]


def rank(folder: Path, tables: Sequence[Path]) -> None:
    """Write the leaderboard of all tables that there are; nothing where it is newer than they."""
    step = _ranking(folder, tables)
    if not step.is_done() and (error := step.run()):
        raise InputError(f"the tables could not be ranked: {error}")


def _ranking(folder: Path, tables: Sequence[Path]) -> Step:
    page = folder / "leaderboard.html"
    options = {"out": page, "title": f"Sweep {folder.name}", "overwrite": True}
    return Step("leaderboard", "leaderboard", str(folder), options, page, reads=tuple(tables))


def known(folder: Path) -> dict[str, Any] | None:
    """What a folder says it is about; None if it says nothing."""
    path = folder / RECORD
    if not path.exists():
        return None
    content: dict[str, Any] | None = parse_yaml(read_file(path), path)
    steps = content.get("steps") if isinstance(content, dict) else None
    if content is None or not isinstance(steps, dict) or not isinstance(content.get("grid"), dict):
        raise InputError(f"{path} is damaged: it must hold `grid` and `steps`; use another --out")
    return content


def _check_folder(out: Path, grid: Grid, steps: Sequence[Step]) -> None:
    """Raise InputError unless the folder is empty, or about this grid.

    A model or a table in it that was made with other settings than the grid gives to its name is another's.
    """
    if out.is_file():
        raise InputError(f"{out} is a file; --out names a folder")
    if (content := known(out)) is None:
        there = sorted(path.name for path in out.iterdir() if not path.name.startswith(".")) if out.is_dir() else []
        if there:
            raise InputError(f"{out} holds {there[0]}, which no sweep wrote; use another --out")
        return
    before, now = content["steps"], _commands(grid)
    if before and not before.keys() & now.keys():
        raise InputError(
            f"{out} holds another sweep (of {next(iter(before))} and others, none of which is in the grid): use "
            "another --out"
        )
    changed = {name: words for name in now if name in before and (words := difference(str(before[name]), now[name]))}
    built = dict[str, str]()  # step -> why it is another's
    for step in steps:
        why = changed.get(step.name) or next((built[need] for need in step.needs if need in built), "")
        if why:
            built[step.name] = why
        if why and step.verb in MADE_ONCE and step.begun():
            raise InputError(f"{step.makes} was made with other settings ({why}): use another --out, or remove it")


def _commands(grid: Grid) -> dict[str, str]:
    """Step -> its command in a folder called OUT, of the steps whose output cannot be made again in seconds."""
    return {step.name: step.command() for step in steps_of(grid, Path("OUT")) if step.verb in MADE_ONCE}


def difference(before: str, now: str) -> str:
    """The settings in which two commands differ, in words; nothing where only their order does.

    Example:
        >>> difference("randsmooth train digits --sigma 0.5 --sound", "randsmooth train digits --sigma 0.25")
        '--sigma 0.5 there, --sigma 0.25 in the grid; --sound there, nothing in the grid'
    """
    sides = [_settings(shlex.split(command)) for command in (before, now)]
    words = [
        f"{sides[0].get(key, 'nothing')} there, {sides[1].get(key, 'nothing')} in the grid"
        for key in dict.fromkeys([*sides[0], *sides[1]])
        if sides[0].get(key) != sides[1].get(key)
    ]
    return "; ".join(words)


def _settings(words: Sequence[str]) -> dict[str, str]:
    """What a command sets, by option and, of --set m=2, by the name of the setting."""
    found, key = dict[str, str](), ""
    for word in words:
        if word.startswith("--"):
            key, found[word] = word, word
        elif "=" in word and key:
            found.pop(key, None)
            found[f"{key} {word.partition('=')[0]}"] = f"{key} {word}"
        else:
            found[key] = f"{key} {word}".strip()
    return found


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
        InputError: the folder holds no sweep.

    Example:
        >>> grid = Grid.read({"datasets": "digits", "methods": "gaussian", "sigmas": [0.25, 0.5]})
        >>> with begun(grid, Path("runs")):
        ...     [(model.name, model.state) for model in status("runs")]
        [('digits-gaussian-0.25-seed0', 'waiting'), ('digits-gaussian-0.5-seed0', 'waiting')]
    """
    folder = Path(folder)
    content = known(folder) if folder.is_dir() else None
    if content is None:
        raise InputError(f"{folder} holds no sweep: give the folder that `randsmooth sweep GRID --out` wrote to")
    chains = chains_of(steps_of(Grid.read(content["grid"]), folder), folder)
    jobs = Jobs(folder)
    queued = jobs.alive()
    return [_status(chain, queued.get(chain.name, ""), jobs) for chain in chains]


def _status(chain: Chain, queued: str, jobs: Jobs) -> Status:
    missing = chain.missing()
    failures = [f"{step.name.rpartition('/')[2]}: {why}" for step in missing if (why := step.failure())]
    failures = failures or [why for why in [jobs.failure(chain.name)] if why]
    far = [f"{step.name.rpartition('/')[2]}: {words}" for step in missing if (words := progress_of(step))]
    if not missing:
        state, words = "done", ""
    elif chain.runs() or queued == "RUNNING":
        state, words = "running", "; ".join(far) or "just begun"
    elif queued:
        state, words = "queued", queued.lower()
    elif failures:
        state, words = "failed", "; ".join(failures)
    else:
        state, words = "waiting", f"{'; '.join(far)}, to be gone on with" if far else ""
    return Status(chain.name, state, words, chain.steps)


def counted(models: Sequence[Status]) -> str:
    """How many models are in which state: 3 done, 1 running."""
    count = Counter(model.state for model in models)
    return ", ".join(f"{count[state]} {state}" for state in STATES if count[state])
