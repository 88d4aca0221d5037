"""Certifications that are shared out: the table of one process, whoever is killed, and no process left over."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import randsmooth as rs
from launch.processes import equal, running
from models.refusing import problem_of
from randsmooth.certificates.journal import shards_path
from randsmooth.errors import OutputExists, Problem, WrongModel
from randsmooth.launch.shards import ShardFolder
from randsmooth.launch.slurm_resources import Resources
from randsmooth.launch.workers import Dask, Processes, Ray, Workers
from values import refused

PATIENCE = 600.0
MODEL = """
import torch
from torch import nn

def net(seed=0):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 512), nn.ReLU(), nn.Linear(512, 10)).eval()
"""
HOW = "--dataset digits --sigma 0.25 --n0 50 --n 20000 --take 40 --backend torch"
SMALL: dict[str, Any] = {"sigma": 0.25, "n0": 50, "n": 1000, "take": 20}


class Net(nn.Module):
    """Its answers to noisy copies of the brightest image are not finite, where it `breaks`."""

    def __init__(self, breaks: bool = False) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.breaks, self.layers = (
            breaks,
            nn.Sequential(nn.Flatten(), nn.Linear(64, 10)),
        )
        self.eval()

    def forward(self, x: Tensor) -> Tensor:
        logits: Tensor = self.layers(x)
        return (
            torch.where(x.mean(dim=(1, 2, 3))[:, None] > 0.408, torch.nan, logits)
            if self.breaks
            else logits
        )


def test_what_cannot_be_is_refused_before_anything_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong: list[tuple[Any, str]] = [
        (lambda: Workers(0), "workers=0"),
        *(
            (lambda time=time: Resources(time=time), f"time={time!r}")
            for time in ("2 hours", "0", "1:2:3:4", "1-")
        ),
        (lambda: Resources(time="90", setup=("module load\nrm",)), "module load\\nrm"),
        (lambda: Resources(time="90", partition="gpu\n#SBATCH --x"), "gpu\\n"),
        (
            lambda: Resources(time="90", extra={"--exclude": "n7"}),
            "slurm_arg='--exclude'",
        ),
    ]
    for make, value in wrong:
        assert value in str(problem_of(make)), value
    with pytest.raises(Problem, match=r"workers=2: .*Processes"):
        number: Any = 2
        rs.certify(Net(), "digits", **SMALL, out=tmp_path / "a.parquet", workers=number)
    monkeypatch.setattr("randsmooth.launch.workers.ANSWER_SECONDS", 0.3)
    addresses = ("127.0.0.1:9", "10.0.0.1", "ray://a:10001", "", "127.0.0.1:70000")
    for where in [way(address=address) for address in addresses for way in (Ray, Dask)]:
        out = tmp_path / "a.parquet"
        problem = problem_of(
            rs.certify, Net(), "digits", **SMALL, out=out, workers=where
        )
        assert problem.field in ("ray", "dask"), where
        assert problem.value == where.address, where
        assert not [*tmp_path.iterdir()], where


def test_there_is_one_worker_for_each_gpu(
    monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder
) -> None:
    monkeypatch.setattr(
        "randsmooth.launch.workers.gpus_of", lambda device: ["cuda:0", "cuda:1"]
    )
    for asked, given in ((None, 2), (1, 1), (3, 2)):
        with Processes(asked).at_hand("cuda") as number:
            assert number == given
    assert len(recwarn) == 1  # of three for two GPUs


@pytest.mark.slow
def test_the_table_is_that_of_one_process(tmp_path: Path) -> None:
    wrapped = rs.models.Ensemble(
        [Net(), rs.wrap(Net(), scale=2.0)]
    )  # which plain pickle refuses
    ways: list[tuple[dict[str, Any], int]] = [
        ({"rule": "fixed", "model": wrapped}, 2),
        ({"rule": "fixed"}, 1),
        ({"rule": "grid", "backend": "auto"}, 2),
        ({"rule": "radius=0.25", "label_aware": True, "sound": True, "seed": 3}, 3),
        ({"rule": "radius=0.25", "n0": 0}, 2),
    ]
    for place, (how, number) in enumerate(ways):
        out = tmp_path / f"{place}.parquet"
        how = SMALL | {"model": Net(), "dataset": "digits"} | how
        several = rs.certify(**how, out=out, workers=Processes(number))
        like = {"backend": several.header.backend, "batch": several.header.batch}
        alone = rs.certify(**how | like, out=tmp_path / f"{place}-alone.parquet")
        assert equal(several, alone), how
        assert not shards_path(out).exists()


@pytest.mark.slow
def test_a_failure_is_told_and_what_was_certified_is_gone_on_with(
    tmp_path: Path,
) -> None:
    out = tmp_path / "a.parquet"
    with pytest.raises(Problem) as failed:
        how = SMALL | {
            "take": None,
            "sigma": 0.02,
        }  # too little noise to make another image as bright
        rs.certify(Net(breaks=True), "digits", **how, out=out, workers=Processes(2))
    assert "image 358" in str(failed.value) and ShardFolder.begun(out) is not None
    # One process does not know of shards.
    with refused(OutputExists):
        rs.certify(Net(), "digits", **SMALL, out=out, resume=True)
    done = rs.certify(Net(), "digits", **SMALL, out=out, overwrite=True)
    assert len(done) == 20 and not shards_path(out).exists()
    with (
        (tmp_path / "open").open("w") as file,
        refused(WrongModel),
    ):
        unsendable = Net()
        unsendable.file = file  # type: ignore[assignment]
        rs.certify(
            unsendable,
            "digits",
            **SMALL,
            out=tmp_path / "b.parquet",
            workers=Processes(2),
        )
    assert not shards_path(tmp_path / "b.parquet").exists()


class Run:
    """`randsmooth certify` with workers in a folder of its own, to be disturbed."""

    def __init__(self, folder: Path, *more: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "model.py").write_text(MODEL)
        self.folder, self.out = folder, folder / "a.parquet"
        self.words = [
            sys.executable,
            "-m",
            "randsmooth",
            "certify",
            "model.py:net",
            *HOW.split(),
            "--out",
            "a.parquet",
        ]
        self.start(*more)

    def start(self, *more: str) -> None:
        with (self.folder / "said.txt").open("a") as said:
            listening = partial(
                signal.signal, signal.SIGINT, signal.default_int_handler
            )  # a shell may have it ignored
            to: dict[str, Any] = {
                "stdout": said,
                "stderr": said,
                "preexec_fn": listening,
            }
            self.process = subprocess.Popen([*self.words, *more], cwd=self.folder, **to)

    def certified(self) -> int:
        folder = ShardFolder.begun(self.out)
        return 0 if folder is None else folder.count_certified(40)

    def begun(self, images: int) -> None:
        """Until so many images are certified."""
        deadline = time.monotonic() + PATIENCE
        while self.certified() < images:
            assert time.monotonic() < deadline and self.process.poll() is None, (
                self.said()
            )
            time.sleep(0.05)

    def ended(self) -> int:
        return self.process.wait(PATIENCE)

    def said(self) -> str:
        return (self.folder / "said.txt").read_text()

    def workers(self) -> list[int]:
        """The processes that certify, of this run alone."""
        return running("popen_loky", self.folder)

    def nothing_left(self) -> bool:
        """Whether all that it started has ended, within a few seconds."""
        deadline = time.monotonic() + 30.0
        while self.workers() and time.monotonic() < deadline:
            time.sleep(0.1)
        return not self.workers()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> rs.Certificates:
    """The table of one undisturbed process."""
    run = Run(tmp_path_factory.mktemp("whole"))
    assert run.ended() == 0, run.said()
    return rs.read(run.out)


on_linux = pytest.mark.skipif(
    sys.platform != "linux", reason="asks Linux which processes there are"
)


@on_linux
@pytest.mark.slow
def test_a_worker_that_is_killed_is_replaced(
    tmp_path: Path, whole: rs.Certificates
) -> None:
    run = Run(tmp_path / "a", "--workers", "2")
    run.begun(3)
    os.kill(run.workers()[0], signal.SIGKILL)
    assert run.ended() == 0, run.said()
    assert equal(rs.read(run.out), whole) and "Traceback" not in run.said()


@on_linux
@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGKILL, -signal.SIGKILL), (signal.SIGINT, 130), (signal.SIGTERM, 130)],
)
def test_a_run_that_is_ended_leaves_nothing_behind_and_goes_on(
    tmp_path: Path, whole: rs.Certificates, number: signal.Signals, code: int
) -> None:
    run = Run(tmp_path / "a", "--workers", "2")
    run.begun(3)
    run.process.send_signal(number)
    assert run.ended() == code, run.said()
    assert run.nothing_left() and "Traceback" not in run.said()
    run.start("--resume", "--workers", "3")
    assert run.ended() == 0, run.said()
    assert equal(rs.read(run.out), whole)


@contextmanager
def ray_cluster() -> Iterator[Any]:
    """A Ray cluster of two nodes on this machine."""
    cluster_utils = pytest.importorskip("ray.cluster_utils")
    cluster = cluster_utils.Cluster(
        initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False}
    )
    try:
        cluster.add_node(num_cpus=1)
        yield cluster
    finally:
        cluster.shutdown()


@pytest.mark.slow
def test_a_node_of_a_ray_cluster_may_die(
    tmp_path: Path, whole: rs.Certificates
) -> None:
    with ray_cluster() as cluster:
        run = Run(tmp_path / "a", "--ray", cluster.address, "--workers", "2")
        run.begun(3)
        cluster.remove_node(next(iter(cluster.worker_nodes)), allow_graceful=False)
        assert run.ended() == 0, run.said()
    assert equal(rs.read(run.out), whole)


@pytest.mark.slow
def test_a_worker_of_a_dask_cluster_may_die(
    tmp_path: Path, whole: rs.Certificates
) -> None:
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        2, threads_per_worker=1, dashboard_address=None
    ) as cluster:
        run = Run(
            tmp_path / "a", "--dask", cluster.scheduler_address.removeprefix("tcp://")
        )
        run.begun(3)
        os.kill(cluster.workers[0].pid, signal.SIGKILL)
        assert run.ended() == 0, run.said()
    assert equal(rs.read(run.out), whole)
