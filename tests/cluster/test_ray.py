"""A real Ray cluster of two nodes on this machine gives the table of a single process, whatever happens to it."""

from __future__ import annotations

import os
import platform
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

import randsmooth as rs
from cluster.ray_drills import IMAGES, TIMES, drills
from cluster.ray_nodes import Cluster, cluster, free_port
from cluster.ray_runs import WORDS, ZOO, certify, finished, same_counts, wait_for_rows
from randsmooth.certificates import CertificationSettings, JournalRow
from randsmooth.certification.order import Order
from randsmooth.cluster import Ray
from randsmooth.cluster.driver import Driver
from randsmooth.cluster.ray_session import connected
from randsmooth.cluster.transport import Row
from randsmooth.errors import InputError

pytestmark = pytest.mark.slow

NOTHING_OF_RAYS = re.compile(r"\(raylet\)|\bray::|INFO|WARNING|Traceback")


@pytest.fixture(scope="module")
def started() -> Iterator[Cluster]:
    with cluster(1) as made:
        yield made


@pytest.fixture
def nodes(started: Cluster) -> Cluster:
    """The cluster, with two nodes."""
    for number in started.alive()[2:]:
        started.kill(number)
    started.keep(2)
    return started


def gone(nodes: Cluster) -> bool:
    """Whether no actor is left, within the seconds that Ray needs to notice."""
    until = time.monotonic() + 30
    while nodes.actors() and time.monotonic() < until:
        time.sleep(0.1)
    return not nodes.actors()


def test_two_nodes_give_the_table_of_one_process(nodes: Cluster, tmp_path: Path) -> None:
    words = ["--n", "2000", "--take", "40"]
    finished(tmp_path, *words, "--out", "one.parquet")
    out, err = finished(tmp_path, *words, "--out", "two.parquet", "--ray", nodes.address)
    assert same_counts(tmp_path / "one.parquet", tmp_path / "two.parquet")
    assert rs.read(tmp_path / "one.parquet").header == rs.read(tmp_path / "two.parquet").header
    assert not NOTHING_OF_RAYS.search(out + err), out + err
    assert gone(nodes)


def test_a_node_that_joins_helps(nodes: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 10)).eval()
    settings = CertificationSettings(sigma=0.5, n=20_000)
    order = Order(model=model, dataset="digits", settings=settings, take=60, device="cpu")
    with Ray(nodes.address)(order) as crew:
        assert isinstance(crew, Driver)
        rows = crew.rows(crew.facts.indices)
        found, answered, waiting = [next(rows)], set[str](), list[Row]()
        nodes.start()
        while len(crew.dealer.hands) < 3:  # the others have their first group, and are dealt no second one meanwhile
            for event in crew.transport.wait(0.1):
                waiting += [event] if isinstance(event, Row) else []
                assert isinstance(event, Row) or crew._handle(event) is None
        take = Driver._take

        def taken(driver: Driver, worker: str, row: JournalRow) -> JournalRow | None:
            answered.add(worker)
            return take(driver, worker, row)

        monkeypatch.setattr(Driver, "_take", taken)
        found += [row for event in waiting if (row := crew._handle(event)) is not None]
        found += rows
    prepared = order.prepare()
    alone = {row.idx: row for row in prepared.rows(prepared.facts.indices)}
    assert len(answered) == 3
    assert len(found) == len(alone) == 60
    assert all(np.array_equal(row.counts, alone[row.idx].counts) for row in found)


SCRIPT = """
import sys
import numpy as np, torch
import randsmooth as rs

class Mine(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.last = torch.nn.Linear(48, 3)
    def forward(self, x):
        return self.last(x.flatten(1))

rng = np.random.default_rng(0)
images = rng.integers(0, 256, (30, 4, 4, 3), dtype=np.uint8), rng.integers(0, 3, 30)
settings = dict(sigma=0.5, n=1000, device="cpu", progress=False)
rs.certify(Mine().eval(), images, out="one.parquet", **settings)
rs.certify(Mine().eval(), images, out="two.parquet", workers=rs.cluster.Ray(sys.argv[1]), **settings)
rs.certify(Mine().eval(), images, out="three.parquet", workers=rs.cluster.Ray(sys.argv[1], workers=1), **settings)
"""


def test_a_model_of_a_script_and_arrays_are_sent_to_the_nodes(nodes: Cluster, tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    words = [sys.executable, "script.py", nodes.address]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=180)
    assert done.returncode == 0, done.stderr
    assert (done.stdout, done.stderr) == ("", "")
    assert same_counts(tmp_path / "one.parquet", tmp_path / "two.parquet")
    assert same_counts(tmp_path / "one.parquet", tmp_path / "three.parquet")


def test_what_cannot_be_sent_is_refused(nodes: Cluster, tmp_path: Path) -> None:
    import ray

    class Locked(torch.nn.Flatten):
        def __init__(self) -> None:
            super().__init__()
            self.lock = threading.Lock()

    with pytest.raises(InputError, match=r"cannot be sent to other machines \(.*lock.*\): name them"):
        rs.certify(Locked().eval(), "digits", sigma=0.5, out=tmp_path / "a.parquet", workers=Ray(nodes.address))
    assert not ray.is_initialized()
    assert gone(nodes)


def test_ctrl_c_ends_the_actors_and_resume_goes_on(nodes: Cluster, tmp_path: Path) -> None:
    words = ["--n", "20000", "--take", "60"]
    finished(tmp_path, *words, "--out", "one.parquet")
    process = certify(tmp_path, *words, "--out", "two.parquet", "--ray", nodes.address)
    wait_for_rows(tmp_path / "two.parquet.partial", process)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, out + err
    assert "--resume" in err
    assert not NOTHING_OF_RAYS.search(out + err), out + err
    assert gone(nodes)
    out, _ = finished(tmp_path, *words, "--out", "two.parquet", "--ray", nodes.address, "--resume")
    assert same_counts(tmp_path / "one.parquet", tmp_path / "two.parquet")


def test_a_node_with_another_version_is_left_out_and_both_are_said(nodes: Cluster, tmp_path: Path) -> None:
    other = tmp_path / "other" / "randsmooth-9.9.9.dist-info"
    other.mkdir(parents=True)
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: randsmooth\nVersion: 9.9.9\n")
    number = nodes.start({"PYTHONPATH": f"{other.parent}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"})
    words = ["--n", "2000", "--take", "40"]
    finished(tmp_path, *words, "--out", "one.parquet")
    out, err = finished(tmp_path, *words, "--out", "two.parquet", "--ray", nodes.address)
    assert f"has randsmooth 9.9.9 and this process {rs.__version__}: install the same there" in out + err
    assert same_counts(tmp_path / "one.parquet", tmp_path / "two.parquet")
    nodes.kill(number)


def test_a_node_with_other_weights_is_refused(started: Cluster, tmp_path: Path) -> None:
    for number in started.alive()[1:]:
        started.kill(number)
    odd = started.start({"ZOO_SEED": "1"})
    process = certify(tmp_path, "--n", "1000", "--take", "20", "--out", "a.parquet", "--ray", started.address)
    _, err = process.communicate(timeout=180)
    assert process.returncode == 2
    assert "are not about the same run (another model: weights" in err
    assert not (tmp_path / "a.parquet").exists()
    started.kill(odd)


def test_a_cluster_of_another_ray_is_refused(nodes: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    import ray

    monkeypatch.setattr(ray, "__version__", "9.9.9")
    here = f"Python {platform.python_version()}"
    said = f"runs {here} and Ray 2.*, this process {here} and Ray 9.9.9: install the same versions on every machine"
    with pytest.raises(InputError, match=said), connected(nodes.address):
        pass


def test_an_address_where_no_ray_answers_is_told_in_five_seconds(tmp_path: Path) -> None:
    (tmp_path / "zoo.py").write_text(ZOO)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        for port, said in ((silent.getsockname()[1], "does not answer as a Ray cluster"), (free_port(), "refused")):
            begun = time.monotonic()
            with pytest.raises(InputError, match=said), connected(f"127.0.0.1:{port}"):
                pass
            assert time.monotonic() - begun < 5
        _, err = certify(tmp_path, "--ray", f"127.0.0.1:{silent.getsockname()[1]}").communicate(timeout=60)
    assert err.count("\n") == 1, err  # nothing but the sentence


def test_auto_means_the_cluster_of_this_machine_or_says_how_to_start_one(nodes: Cluster, tmp_path: Path) -> None:
    assert Ray() == Ray("auto")
    finished(tmp_path, "--n", "100", "--take", "4", "--out", "a.parquet", "--ray", "auto")
    alone = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc"]  # sees no other processes
    if subprocess.run([*alone, "true"], check=False).returncode != 0:
        pytest.skip("no namespace of processes can be made here")
    command = [*alone, sys.executable, "-m", "randsmooth", "certify", *WORDS, "--ray", "auto"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 2
    assert "no Ray runs on this machine: start one with `ray start --head`" in done.stderr


def test_kills_of_a_node_an_actor_and_the_driver_change_no_count() -> None:
    for told in drills(dict.fromkeys(TIMES, 1), seed=1):
        assert told["equal in every count"], told
        assert (told["images"], told["doubled"], told["lost"]) == (IMAGES, 0, 0)
