"""The driver's decisions, with workers in memory: nobody waits for a slow one, nothing is lost, nothing comes twice."""

from __future__ import annotations

import warnings
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cluster.in_memory import HEADER, ORDER, InMemory, Worker, facts, row
from randsmooth.certificates import JournalRow
from randsmooth.certification import certify as certify_dataset
from randsmooth.certification.order import Order
from randsmooth.cluster.driver import SECOND, driven
from randsmooth.cluster.processes import Processes, shares
from randsmooth.errors import InputError, Note
from randsmooth.models import Endpoint

pytestmark = pytest.mark.filterwarnings("ignore::randsmooth.errors.Note")


def certify(there: InMemory, images: int, order: Order = ORDER, left: range | None = None) -> list[JournalRow]:
    with driven(there, order, there.clock) as crew:
        rows = list(crew.rows(list(left or range(images))))
    assert there.closed
    return rows


def crew_of(number: int, images: int, **changed: object) -> dict[str, Worker]:
    return {str(k): Worker(facts(images), **changed) for k in range(1, number + 1)}  # type: ignore[arg-type]


def check_whole(rows: list[JournalRow], images: int) -> None:
    """Every image once, with the counts that it has."""
    assert sorted(found.idx for found in rows) == list(range(images))
    for found in rows:
        np.testing.assert_array_equal(found.counts, row(found.idx).counts)


@pytest.mark.parametrize("number", [1, 2, 7, 50])
@pytest.mark.parametrize("images", [1, 2, 49, 300])
def test_every_image_is_certified_once(number: int, images: int) -> None:
    there = InMemory(crew_of(number, images))
    check_whole(certify(there, images), images)
    assert len(there.begun) < images + number  # a copy for who has nothing else to do


def test_only_what_is_left_of_a_resumed_run_is_certified() -> None:
    rows = certify(InMemory(crew_of(3, 100)), 100, left=range(60, 100))
    assert sorted(found.idx for found in rows) == list(range(60, 100))


def test_equal_workers_of_equal_images_end_together() -> None:
    there = InMemory(crew_of(10, 1000))
    certify(there, 1000)
    assert there.now == pytest.approx(100, abs=1)


def test_a_worker_ten_times_as_fast_does_ten_times_as_much() -> None:
    workers = crew_of(3, 600) | {"fast": Worker(facts(600), lambda image: 0.1)}
    there = InMemory(workers)
    check_whole(certify(there, 600), 600)
    assert there.now < 600 / 13 * 1.1
    assert Counter(worker for worker, _ in there.begun)["fast"] > 400


def test_a_slow_worker_is_not_waited_for() -> None:
    workers = crew_of(3, 60) | {"stuck": Worker(facts(60), lambda image: 1e9)}
    there = InMemory(workers)
    check_whole(certify(there, 60), 60)
    assert there.now < 30


def test_a_late_worker_helps() -> None:
    workers = crew_of(1, 100) | {"late": Worker(facts(100), joins=30.0)}
    there = InMemory(workers)
    check_whole(certify(there, 100), 100)
    assert there.now < SECOND + 10 + (100 - 10) / 2 + 2


@pytest.mark.parametrize("restarts", [True, False])
def test_the_images_of_a_worker_that_dies_are_certified_by_others(restarts: bool) -> None:
    workers = crew_of(4, 200) | {"5": Worker(facts(200), dies=(3.5, 9.1))}
    there = InMemory(workers, restarts)
    with pytest.warns(Note, match=r"worker 5 died \(killed by SIGKILL\); .* images go to others"):
        check_whole(certify(there, 200), 200)


def test_a_worker_that_keeps_dying_is_left_and_the_run_ends_where_none_is_left() -> None:
    dying = Worker(facts(10), lambda image: 5.0, dies=(2.0, 4.0, 6.0, 8.0, 10.0))
    with pytest.raises(InputError, match=r"no worker is left .*died \(killed by SIGKILL\).*--resume"):
        certify(InMemory({"1": dying, "2": replace(dying)}), 10)


def test_an_image_that_kills_workers_is_named() -> None:
    there = InMemory(crew_of(6, 40, poison=lambda image: image == 17))
    with pytest.raises(InputError, match=r"3 workers died while they certified image 17 and nothing else"):
        certify(there, 40)


def test_a_second_answer_that_differs_ends_the_run_and_names_both() -> None:
    slow = Worker(facts(12), lambda image: 20.0, wrong=frozenset(range(12)))
    fast = Worker(facts(12), lambda image: 1.0 if image < 11 else 100.0)
    with pytest.raises(InputError, match=r"workers fast\d and slow counted differently for image \d+ \(.*\), although"):
        certify(InMemory({"slow": slow, "fast1": fast, "fast2": fast}), 12)


def test_an_error_of_an_image_reaches_the_user_as_it_is() -> None:
    with pytest.raises(InputError, match=r"^the model needs shape \(1, 8, 8\)$"):
        certify(InMemory(crew_of(3, 10, refuses="the model needs shape (1, 8, 8)")), 10)


def test_the_run_goes_on_without_a_worker_that_cannot_begin() -> None:
    workers = crew_of(2, 10) | {"3": Worker(facts(10), refuses="no data set at data/mine")}
    with pytest.warns(Note, match="without worker 3: no data set at data/mine"):
        check_whole(certify(InMemory(workers), 10), 10)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"model": {"weights": "sha256:bb"}}, r"weights 'sha256:aa' of worker 2, 'sha256:bb' of worker 1"),
        ({"data": "others"}, "data: 'these' of worker 2, 'others' of worker 1"),
        (
            {"behaviour": {"made-up images": "y"}, "versions": {"torch": "3"}},
            "torch '2' of worker 2, '3' of worker 1",
        ),
    ],
)
def test_a_worker_about_another_run_is_left_out_even_if_it_comes_first(changed: dict[str, object], words: str) -> None:
    workers = {"1": Worker(facts(20, **changed)), "2": Worker(facts(20)), "3": Worker(facts(20))}
    there = InMemory(workers)
    with pytest.warns(Note, match=f"worker 1 is left out .*{words}"):
        check_whole(certify(there, 20), 20)
    assert "1" not in {worker for worker, _ in there.begun}


def test_two_workers_that_differ_end_the_run_before_an_image() -> None:
    workers = {"1": Worker(facts(20, data="others")), "2": Worker(facts(20))}
    with pytest.raises(InputError, match="workers 1 and 2 are not about the same run"):
        certify(InMemory(workers), 20)


def test_a_resumed_run_is_that_of_its_journal() -> None:
    order = replace(ORDER, begun=HEADER)
    others = {str(k): Worker(facts(20, data="others")) for k in range(1, 4)}
    there = InMemory(others | {"4": Worker(facts(20), joins=2.0)})
    check_whole(certify(there, 20, order), 20)
    assert {worker for worker, _ in there.begun} == {"4"}


def test_another_release_is_left_out() -> None:
    old = Worker(facts(10), about=Worker(facts(1)).about | {"randsmooth": "0.0.1"})
    with pytest.warns(Note, match=r"without worker 1: worker 1 has randsmooth 0.0.1 and this process"):
        check_whole(certify(InMemory({"1": old, "2": Worker(facts(10))}), 10), 10)


def test_another_machine_with_the_same_outputs_takes_part_and_is_recorded() -> None:
    rows = certify(InMemory({"1": Worker(facts(20)), "2": Worker(facts(20, versions={"torch": "3"}))}), 20)
    machines = {None if found.machine is None else found.machine.host for found in rows}
    assert len(machines) == 2


def test_the_first_worker_chooses_backend_and_batch_for_all() -> None:
    order = replace(ORDER, settings=ORDER.settings.having(backend="auto"))
    workers = {"1": Worker(facts(20, backend="onnx", batch=256)), "2": Worker(facts(20)), "3": Worker(facts(20))}
    there = InMemory(workers)
    check_whole(certify(there, 20, order), 20)
    told = {(worker, given.settings.backend, given.settings.batch) for worker, given in there.orders}
    assert told == {("1", "auto", None), ("2", "onnx", 256), ("3", "onnx", 256)}


def test_a_worker_that_chose_another_batch_is_told_the_one_of_the_run() -> None:
    there = InMemory({"1": Worker(facts(20, batch=128)), "2": Worker(facts(20, batch=256))})
    check_whole(certify(there, 20), 20)
    assert {worker for worker, _ in there.begun} == {"1", "2"}


def test_an_endpoint_wants_no_workers() -> None:
    metered = replace(facts(5), metered=True)
    with pytest.raises(InputError, match="workers do not make an endpoint faster"):
        certify(InMemory({"1": Worker(metered)}), 5)


def test_more_workers_than_images_are_not_used() -> None:
    there = InMemory(crew_of(8, 3))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        check_whole(certify(there, 3), 3)
    assert [str(each.message) for each in caught] == ["3 images need no more than 3 workers"]


def test_each_gpu_has_one_process_and_one_that_has_a_number_is_used_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("torch.cuda.device_count", lambda: 2)
    assert [share.device for share in shares(2, "auto")] == ["cuda:0", "cuda:1"]
    assert [share.device for share in shares(1, "cuda:1")] == ["cuda:1"]
    assert [share.device for share in shares(2, "cpu")] == ["cpu", "cpu"]
    with pytest.warns(Note, match="2 workers instead of 4: one for each of cuda:0, cuda:1"):
        assert len(shares(4, "cuda")) == 2


@pytest.mark.parametrize("number", [0, -1, 1.5, "4", True])
def test_a_number_of_processes_that_is_none_is_refused(number: Any) -> None:
    with pytest.raises(InputError, match="must be a whole number from 1 up"):
        Processes(number)


def test_an_endpoint_is_refused_before_a_process_starts(tmp_path: Path) -> None:
    endpoint = Endpoint(lambda images: images.mean(axis=(1, 2, 3)) > 0.5, num_classes=10)
    with pytest.raises(InputError, match=r"workers do not make an endpoint faster: .* leave out --workers"):
        certify_dataset(endpoint, "digits", sigma=0.5, n=100, out=tmp_path / "a.parquet", workers=Processes(2))
