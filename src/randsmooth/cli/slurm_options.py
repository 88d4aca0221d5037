"""The options of verbs that submit to Slurm, named as sbatch names them."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator

from randsmooth.cli.model_options import KEY_VALUE
from randsmooth.cli.settings import Settings, listed, option, pairs
from randsmooth.errors import InputError
from randsmooth.launch.slurm import Resources

Pairs = Annotated[dict[str, Any], BeforeValidator(pairs)]
Lines = Annotated[list[str], BeforeValidator(listed)]


class SlurmOptions(Settings):
    """What tasks ask of Slurm."""

    slurm: bool = option("Submit to Slurm.", False)
    partition: str | None = option("Partition of Slurm. (default: Slurm's)")
    time: str | None = option("How long a task may run, as 2:00:00 or 1-12:00; then it goes on in its next turn.")
    gpus: int | None = option("GPUs of each task. (default: Slurm's)")
    cpus: int | None = option("Processor cores of each task. (default: Slurm's)")
    mem: str | None = option("Memory of each task, such as 16G. (default: Slurm's)")
    account: str | None = option("Account that Slurm charges. (default: Slurm's)")
    qos: str | None = option("Quality of service of Slurm. (default: Slurm's)")
    constraint: str | None = option("Features that a node must have, as sbatch writes them. (default: any node)")
    setup: Lines = option(
        'A line of shell that each task runs first, such as "module load cuda". Repeatable.',
        [],
        json_schema_extra={"cli": list[str], "metavar": "LINE"},
    )
    slurm_arg: Pairs = option(
        "Any other parameter of sbatch, such as exclude=node7 or exclusive=true. Repeatable.",
        {},
        json_schema_extra=KEY_VALUE,
    )

    def resources(self) -> Resources:
        """What each task asks for.

        Raises:
            InputError: it is none that can be asked for, or --time is missing.
        """
        if any(getattr(self, name, None) is not None for name in ("workers", "ray", "dask")):
            raise InputError("--slurm, --workers, --ray and --dask say in different ways where the work runs: give one")
        if self.time is None:
            raise InputError(
                "--slurm needs --time, how long a task may run, such as --time 2:00:00: one that has not finished by "
                "then is queued again and goes on"
            )
        asked = ("partition", "time", "gpus", "cpus", "mem", "account", "qos", "constraint")
        values = {name: getattr(self, name) for name in asked}
        return Resources(**values, setup=tuple(self.setup), extra=self.slurm_arg)
