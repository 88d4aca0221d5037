"""The parts of the Ray transport that need no cluster: addresses as they are written, and shares of nodes."""

from __future__ import annotations

import re

import pytest

from randsmooth.cluster.ray_address import check_address, host_and_port
from randsmooth.cluster.ray_shares import Node, shares
from randsmooth.errors import InputError


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("10.0.0.1:6379", ("10.0.0.1", 6379)),
        ("head.example.org:1", ("head.example.org", 1)),
        ("[fd00::2]:65535", ("fd00::2", 65535)),
    ],
)
def test_an_address_is_a_host_and_a_port(written: str, read: tuple[str, int]) -> None:
    assert host_and_port(written) == read
    check_address(written)


@pytest.mark.parametrize(
    "written",
    ["", "auto:", "10.0.0.1", "10.0.0.1:", ":6379", "a:b", "a:0", "a:65536", "a:-1", "a:²", "fd00::2:6379", "a b:1"],
)
def test_what_is_no_address_is_refused_with_the_forms_there_are(written: str) -> None:
    with pytest.raises(InputError, match="is no address of a Ray cluster: expected auto, or HOST:PORT"):
        check_address(written)


def test_rays_client_is_told_from_a_wrong_address() -> None:
    with pytest.raises(InputError, match=re.escape("ray://a:10001: run this on a machine of the cluster")):
        check_address("ray://a:10001")


def test_by_default_each_gpu_has_a_worker_and_a_share_of_the_cores() -> None:
    with_gpus, without = Node("a", "large", cpus=64, gpus=8), Node("b", "plain", cpus=64, gpus=0)
    found = shares([with_gpus, without], None, on_gpus=True)
    assert [(share.node.host, share.cpus, share.gpus) for share in found] == [("large", 8.0, 1.0)] * 8


def test_by_default_a_worker_has_at_most_eight_cores_and_none_is_left_over() -> None:
    for cpus in range(1, 70):
        found = shares([Node("a", "node", cpus, 0)], None, on_gpus=False)
        assert sum(share.cpus for share in found) == cpus
        assert max(share.cpus for share in found) <= 8


def test_workers_are_dealt_in_proportion_and_never_ask_for_more_than_a_node_has() -> None:
    nodes = [Node("a", "small", 2, 0), Node("b", "large", 6, 0)]
    for workers in range(1, 30):
        found = shares(nodes, workers, on_gpus=False)
        assert len(found) == workers
        for node in nodes:
            mine = [share.cpus for share in found if share.node is node]
            assert round(sum(mine), 6) <= node.cpus
            assert min(mine, default=1) > 0
    assert sum(share.node.host == "large" for share in shares(nodes, 4, on_gpus=False)) == 3


def test_there_are_no_more_workers_than_gpus() -> None:
    nodes = [Node("a", "large", 4, 3), Node("b", "small", 4, 1)]
    for workers in range(1, 9):
        found = shares(nodes, workers, on_gpus=True)
        assert len(found) == min(workers, 4)
        assert {share.gpus for share in found} == {1.0}
        assert sum(share.node.host == "small" for share in found) <= 1


def test_a_node_that_has_nothing_to_give_gets_no_worker() -> None:
    nodes = [Node("a", "head", 0, 0)]
    assert shares(nodes, None, on_gpus=False) == shares(nodes, 3, on_gpus=False) == shares([], 3, on_gpus=False) == []
