"""Who started a process and which devices it asks for, from environments as torchrun and srun make them."""

from __future__ import annotations

import pickle

import pytest
import torch

from randsmooth import models
from randsmooth.errors import InputError
from randsmooth.training.placement import RankEnvironment, devices_of, placed, started_as

TORCHRUN = {
    "TORCHELASTIC_RUN_ID": "none",
    "RANK": "5",
    "LOCAL_RANK": "1",
    "GROUP_RANK": "1",
    "WORLD_SIZE": "8",
    "LOCAL_WORLD_SIZE": "4",
    "MASTER_ADDR": "node-1",
    "MASTER_PORT": "29500",
}
SRUN = {
    "SLURM_JOB_ID": "1234567",
    "SLURM_STEP_ID": "3",
    "SLURM_STEP_NUM_TASKS": "4",
    "SLURM_STEP_NODELIST": "gpu[07-08]",
    "SLURM_NTASKS": "4",
    "SLURM_PROCID": "3",
    "SLURM_LOCALID": "1",
    "SLURM_NODEID": "1",
}


def facts(rank: RankEnvironment | None) -> tuple[int, int, int, int, str]:
    assert rank is not None
    return rank.global_rank(), rank.local_rank(), rank.node_rank(), rank.world_size(), rank.main_address


@pytest.fixture(autouse=True)
def by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in {*TORCHRUN, *SRUN}:
        monkeypatch.delenv(name, raising=False)


def inside(monkeypatch: pytest.MonkeyPatch, environment: dict[str, str]) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)


def two_gpus(monkeypatch: pytest.MonkeyPatch, number: int = 2) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: number)


def test_torchrun_tells_the_rank_and_how_many_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    inside(monkeypatch, TORCHRUN)
    assert facts(started_as()) == (5, 1, 1, 8, "node-1")
    placement = placed("cpu")
    assert (placement.devices, placement.nodes, placement.ranks, placement.leads) == (4, 2, 8, False)
    assert placed("cpu", 4, 2).ranks == 8
    with pytest.raises(InputError, match="devices=2 on nodes=2 are 4 processes, and 8 were started"):
        placed("cpu", 2, 2)


def test_torchrun_of_a_single_process_is_no_company(monkeypatch: pytest.MonkeyPatch) -> None:
    inside(monkeypatch, TORCHRUN | {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1", "LOCAL_WORLD_SIZE": "1"})
    assert placed("cpu").started is None and placed("cpu").ranks == 1


def test_srun_tells_the_rank_and_the_first_host(monkeypatch: pytest.MonkeyPatch) -> None:
    inside(monkeypatch, SRUN)
    assert facts(started_as()) == (3, 1, 1, 4, "gpu07")
    mine, next_step = started_as(), {"SLURM_STEP_ID": "4"}
    inside(monkeypatch, next_step)
    other = started_as()
    assert mine is not None and other is not None and 1024 < mine.main_port != other.main_port < 65_536
    assert placed("cpu", 2, 2).ranks == 4


def test_tasks_of_srun_that_ask_for_nothing_train_on_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in `srun -n 4 sh -c 'randsmooth train ... --seed $SLURM_PROCID'`."""
    inside(monkeypatch, SRUN)
    placement = placed("cpu")
    assert placement.started is None and placement.ranks == 1 and placement.leads


def test_a_script_of_sbatch_is_no_task_of_srun(monkeypatch: pytest.MonkeyPatch) -> None:
    inside(monkeypatch, {name: value for name, value in SRUN.items() if "STEP" not in name})
    assert started_as() is None
    assert placed("cpu", 2).started is None


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"devices": 0}, "devices=0 must be a whole number above 0"),
        ({"devices": True}, "devices=True must be a whole number"),
        ({"devices": 1, "nodes": -1}, "nodes=-1 must be a whole number"),
        ({"devices": 3}, r"devices=3 asks for 3 GPUs, and torch sees 2: devices=2 \(--devices 2\)"),
        ({"device": "cuda:1", "devices": 2}, "device='cuda:1' names one GPU"),
        ({"devices": 2, "nodes": 2}, "nodes=2 needs a launcher"),
    ],
)
def test_what_is_not_there_is_refused(asked: dict[str, object], sentence: str, monkeypatch: pytest.MonkeyPatch) -> None:
    two_gpus(monkeypatch)
    with pytest.raises(InputError, match=sentence):
        placed(**{"device": "cuda"} | asked)  # type: ignore[arg-type]


def test_each_process_gets_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    two_gpus(monkeypatch)
    assert [device.index for device in devices_of(placed("auto", 2))] == [0, 1]
    inside(monkeypatch, SRUN)
    two_gpus(monkeypatch, 1)  # srun --gpus-per-task 1
    assert [device.index for device in devices_of(placed("cuda", 2, 2))] == [0, 0]
    assert devices_of(placed("cpu", 2, 2)) == [models.pick_device("cpu")] * 2


def test_a_rank_can_be_handed_over() -> None:
    rank = pickle.loads(pickle.dumps(RankEnvironment(1, 1, 0, 2, "127.0.0.1", 4000)))
    assert facts(rank) == (1, 1, 0, 2, "127.0.0.1")
