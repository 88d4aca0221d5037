"""Who started a process and which devices it asks for, from environments as torchrun and srun make them."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from randsmooth.errors import InputError
from randsmooth.training.devices import Started, placed, started_as

TORCHRUN = {
    "TORCHELASTIC_RUN_ID": "none",
    "RANK": "5",
    "LOCAL_RANK": "1",
    "WORLD_SIZE": "8",
    "LOCAL_WORLD_SIZE": "4",
}
SRUN = {
    "SLURM_JOB_ID": "1234567",
    "SLURM_STEP_ID": "3",
    "SLURM_STEP_NUM_TASKS": "4",
    "SLURM_STEP_NODELIST": "gpu[07-08]",
    "SLURM_NTASKS": "4",
    "SLURM_PROCID": "3",
    "SLURM_LOCALID": "1",
}
SBATCH = {name: value for name, value in SRUN.items() if "STEP" not in name}
ONE = TORCHRUN | {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1", "LOCAL_WORLD_SIZE": "1"}


def inside(patch: pytest.MonkeyPatch, environment: dict[str, str], gpus: int = 0) -> None:
    for name in {*TORCHRUN, *SRUN, "MASTER_ADDR", "MASTER_PORT"}:
        patch.delenv(name, raising=False)
    for name, value in environment.items():
        patch.setenv(name, value)
    patch.setattr(torch.cuda, "is_available", lambda: gpus > 0)
    patch.setattr(torch.cuda, "device_count", lambda: gpus)


def test_a_launcher_tells_the_rank_and_how_many_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    # environment, devices and nodes asked for -> devices of a machine, ranks, whether it was started as one of them
    table = [
        ({}, (None, 1), (1, 1, False)),
        ({}, (2, 1), (2, 2, False)),
        (TORCHRUN, (None, 1), (4, 8, True)),
        (TORCHRUN, (4, 2), (4, 8, True)),
        (ONE, (None, 1), (1, 1, False)),  # torchrun of a single process is no company
        (SRUN, (2, 2), (2, 4, True)),
        (SRUN, (None, 1), (1, 1, False)),  # as in `srun -n 4 sh -c 'randsmooth train ... --seed $SLURM_PROCID'`
        (SBATCH, (2, 1), (2, 2, False)),  # a script of sbatch is no task of srun
    ]
    for environment, (devices, nodes), (of_machine, ranks, started) in table:
        inside(monkeypatch, environment)
        placement = placed("cpu", devices, nodes)
        found = placement.devices, placement.ranks, placement.started is not None
        assert found == (of_machine, ranks, started), (environment, devices, nodes)
        assert placement.leads is not started  # each of these ranks is another than the first
        assert placement.own_device == torch.device("cpu")
    inside(monkeypatch, TORCHRUN)
    assert started_as() == Started(5, 1, 8, "env://")


def test_srun_tells_where_all_meet_and_every_step_its_own_port(monkeypatch: pytest.MonkeyPatch) -> None:
    ports = set()
    for step in ("3", "4"):
        inside(monkeypatch, SRUN | {"SLURM_STEP_ID": step})
        found = started_as()
        assert found is not None and found[:3] == (3, 1, 4)
        host, _, port = found.meet.removeprefix("tcp://").partition(":")
        assert host == "gpu07" and 1024 < int(port) < 65_536
        ports.add(port)
    assert len(ports) == 2


def test_what_is_not_there_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    table: list[tuple[dict[str, str], dict[str, Any], str]] = [
        ({}, {"devices": 0}, "devices=0 must be a whole number above 0"),
        ({}, {"devices": True}, "devices=True must be a whole number"),
        ({}, {"devices": 1, "nodes": -1}, "nodes=-1 must be a whole number"),
        ({}, {"devices": 3}, "devices=3 asks for 3 GPUs, and torch sees 2: devices=2 (--devices 2)"),
        ({}, {"device": "cuda:1", "devices": 2}, "device='cuda:1' names one GPU"),
        ({}, {"devices": 2, "nodes": 2}, "nodes=2 needs a launcher"),
        (TORCHRUN, {"devices": 2, "nodes": 2}, "devices=2 on nodes=2 are 4 processes, and 8 were started"),
    ]
    for environment, asked, sentence in table:
        inside(monkeypatch, environment, gpus=2)
        with pytest.raises(InputError) as refused:
            placed(**{"device": "cuda"} | asked)
        assert sentence in str(refused.value), asked


def test_each_process_gets_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    for gpus, index in ((2, 1), (1, 0)):  # with one, as by srun --gpus-per-task 1, it sees its own
        inside(monkeypatch, SRUN, gpus)
        assert placed("cuda", 2, 2).own_device == torch.device("cuda", index)
