"""`randsmooth certify`: certify images, here, on workers, or in tasks of Slurm."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from randsmooth import certificates, certification, models
from randsmooth.certificates import HowToCertify, Shard
from randsmooth.cli.forecasts import Planned
from randsmooth.cli.kept_secrets import check_no_secrets
from randsmooth.cli.output import note
from randsmooth.cli.printed_commands import words_of
from randsmooth.cli.suspicions import suspicions
from randsmooth.cli.what_to_certify import OF_THE_MODEL, check_sources, default_out
from randsmooth.cli.workers import SharedOrSlurm
from randsmooth.errors import BadValue, Conflict, MissingValue
from randsmooth.progress import console
from randsmooth.urls import Place, is_url

# Settings of one model, or of a run in shards.
NOT_OF_A_ROUTED_RUN = ("sigma", "noise", "denoiser", "model_arg", "shard", "slurm")

# Settings that share out a run or print it; the run itself, or a shard, takes none.
NOT_OF_A_SHARD = {
    *SharedOrSlurm.model_fields,
    *("array", "parallel", "plan", "format", "router", "router_rule"),
}


class Certify(SharedOrSlurm, Planned):
    """Settings of `randsmooth certify`.

    Attributes:
        out: Parquet file for the certificates, or its URL (s3://...). (default:
            MODEL.parquet, or MODEL+DENOISER.parquet)
        resume: Go on with an interrupted run into the file.
        overwrite: Discard what is in the file.
        array: With --slurm: how many tasks share the images; each certifies a shard of
            them.
        parallel: With --slurm: how many tasks may run at once. (default: all)
        plan: Say what it will take instead, as `randsmooth plan` does.
        router: Model folder of a router: the models are then its experts, in the order
            of its classes. Each part has the noise that it was trained under.
        router_rule: With --router: the rule of the router. (default: --rule)
    """

    out: Place | None = None
    resume: bool = False
    overwrite: bool = False
    array: int | None = None
    parallel: int | None = None
    plan: bool = False
    router: str | None = None
    router_rule: str | None = None

    def _check_ensemble(self) -> None:
        """Check as without a router; with one, several models are its experts."""
        if self.router is None:
            super()._check_ensemble()
            return
        if isinstance(self.model, str) or self.ensemble is not None:
            raise BadValue(
                "--router chooses among two models or more, without --ensemble; "
                f"got {self.model}"
            )
        for name in NOT_OF_A_ROUTED_RUN:
            if getattr(self, name):
                raise Conflict(
                    field=name,
                    value=getattr(self, name),
                    expected="is not for a routed run, whose parts are models of their own",
                )
        check_sources(self.router)


def run(settings: Certify) -> None:
    """Certify images of a data set, and keep the evidence in a Parquet file.

    Each certificate says: within this radius of the image, the smoothed classifier's
    answer cannot change. It is wrong with probability at most alpha. The radius is in
    L2, or in the norm of another --noise. A killed run loses at most the few images in
    hand; --resume continues it.

    Example: randsmooth certify runs/gaussian --take 500 --rule grid --out
    gaussian.parquet
    """
    if settings.router is not None:
        answer_routed(settings)
    elif settings.plan:
        workers = [] if settings.workers is None else [settings.workers]
        settings.answer_plan(workers=workers)
    elif settings.slurm:
        submit(settings)
    else:
        table = certify(settings)
        for suspicion in suspicions(table):
            note(suspicion)
        out = out_file(settings)
        settings.answer_tables([table], f"certificates in {out}", certificates=str(out))


def answer_routed(settings: Certify) -> None:
    """Certify a router and its experts as `settings` say, or say what it will take."""
    settings.check(settings.backend)
    if settings.plan:
        dataset = settings.dataset
        if dataset is None:
            # The router may have been trained on other labels of the same data.
            first = certification.load_model(settings.model[0])
            dataset = models.provenance_of(first).get("dataset")
        # Every image goes to the router, and to one expert at least.
        for role, model in (("router", settings.router), ("expert", settings.model[0])):
            note(f"plan of the {role}, {model}, for all images:")
            part = settings.model_copy(
                update={
                    "model": model,
                    "router": None,
                    "dataset": dataset,
                    "unlabelled": role == "router",
                    "rule": _rule_of(settings, role),
                }
            )
            part.answer_plan()
        return
    out = settings.out or default_out([str(settings.router), *settings.model])
    names = {*HowToCertify.model_fields} - {"sigma", "noise"}
    routed = certification.Routed.load(str(settings.router), settings.model)
    table = certification.certify(
        routed,
        settings.dataset,
        **settings.model_dump(include=names),
        split=settings.split,
        take=settings.take,
        skip=settings.skip,
        device=settings.device,
        resume=settings.resume,
        overwrite=settings.overwrite,
        router_rule=settings.router_rule,
        out=out,
        workers=settings.chosen_workers(),
        progress=console,
    )
    settings.answer_tables([table], f"certificates in {out}", certificates=str(out))


def _rule_of(settings: Certify, role: str) -> str:
    """Return the rule by which the router or an expert is certified."""
    if role == "router" and settings.router_rule is not None:
        return settings.router_rule
    return settings.rule


def certify(settings: Certify) -> certificates.Certificates:
    """Certify as `settings` say, and return the finished table.

    Raises:
        Problem: a source is not there, workers cannot be had, settings are for --slurm
            alone, or the run fails.
    """
    # Sources that are not there are refused before torch is loaded.
    settings.check(settings.backend, settings.shard)
    workers = settings.chosen_workers()
    if settings.array is not None or settings.parallel is not None:
        raise Conflict(
            "--array and --parallel are for --slurm: give it too, or --workers"
        )
    # A denoiser may have to know the sigma of the noise that it removes.
    model, model_args = settings.opened(settings.gaussian_sigma)
    # Model, data set and file are given below; the others name how to certify.
    excluded = {*OF_THE_MODEL, *NOT_OF_A_SHARD, "dataset", "out"}
    values = settings.model_dump(exclude=excluded)
    # The table of a shard records it, and `merge` prints it for shards that are missing.
    if settings.shard is not None:
        values["command"] = command_of_shards(settings)
    return certification.certify(
        model,
        settings.dataset,
        **values,
        out=out_file(settings),
        workers=workers,
        model_args=model_args,
        progress=console,
    )


def out_file(settings: Certify) -> Place:
    """Return the file for the certificates; each shard has a file of its own."""
    out = settings.out or default_out(settings.model, settings.denoiser)
    if settings.shard is None:
        return out
    return Shard.parse(settings.shard).file(out)


def command_of_shards(settings: Certify) -> list[str]:
    """Return the words of the command for any shard, without shard, file and resume."""
    without = {"shard", "out", "resume", "overwrite", *NOT_OF_A_SHARD}
    return words_of("certify", settings, without=without)


def submit(settings: Certify) -> None:
    """Submit the shards of a certification to Slurm, and say what to do next.

    Raises:
        Problem: a secret would get into the jobs, or settings of the submission are
            missing, impossible or not for Slurm.
    """
    check_no_secrets(settings, "--slurm")
    resources = settings.resources()
    if settings.shard is not None or settings.resume:
        raise BadValue(
            "--shard and --resume are not for --slurm: each task has a shard, and goes "
            "on by itself"
        )
    if settings.array is None or settings.array < 1:
        raise MissingValue(
            "--slurm needs --array, in how many tasks the images are shared out, such "
            "as --array 50"
        )
    settings.check(settings.backend)
    # Late, as they load torch: what is checked above is refused before.
    from randsmooth.launch.shards import discard
    from randsmooth.launch.slurm_shards import submit_shards

    place = out_file(settings)
    if is_url(place):
        raise BadValue(
            f"{place} is a URL, and tasks of Slurm write to a folder that all of them "
            "see: give a path"
        )
    out = Path(place)
    if settings.overwrite:
        discard(out)
    jobs = submit_shards(
        settings.spec,
        out,
        of=settings.array,
        command=command_of_shards(settings),
        resources=resources,
        at_once=settings.parallel,
    )
    settings.answer(jobs.lines("tasks"), lambda: asdict(jobs))
    note(
        f"the last task merges the shards of the others into {out}; the same command "
        "says how far they are"
    )
