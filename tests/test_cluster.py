"""Work on a cluster of Ray: the same results, whatever dies; wrong addresses."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from helpers import run_cli

from unseen.arena.records import GAMES
from unseen.arena.tournament import tournament
from unseen.errors import UnseenError
from unseen.learning.job import learn
from unseen.run.cluster import TRIES, Cluster, check_loopback
from unseen.run.workers import run_all

cluster_utils = pytest.importorskip("ray.cluster_utils")


class Counting:
    """A job that gives tasks back, one of them late, ends its process at some of them, refuses one and fails at one."""

    def __init__(self, deadly=()):
        self.deadly = deadly

    def __call__(self, task):
        if task in self.deadly:
            os.kill(os.getpid(), signal.SIGKILL)
        if task == "wrong":
            raise UnseenError("this task is wrong.")
        if task == "broken":
            raise ZeroDivisionError
        if task == "slow":
            time.sleep(1.0)
        return task


@pytest.fixture(scope="module")
def two_nodes():
    """A cluster of two nodes on this machine, joined once for all tests, and the second of them; its processes find this file."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(Path(__file__).parent))
        nodes = cluster_utils.Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
        second = nodes.add_node(num_cpus=1)
        with Cluster(nodes.address).joined(1):
            yield nodes, second
        nodes.shutdown()


def test_results_come_in_order_and_errors_are_told(two_nodes):
    place = Cluster(two_nodes[0].address)
    for fault, kind in (("wrong", UnseenError), ("broken", ZeroDivisionError)):
        results = run_all(Counting, (), [*range(30), "slow", fault], place)
        assert [next(results) for _ in range(31)] == [*range(30), "slow"]
        with pytest.raises(kind, match="this task is wrong" if kind is UnseenError else None):
            next(results)
    with pytest.raises(UnseenError, match=f"ended before its work was done, {TRIES} times"):
        list(run_all(Counting, ((2,),), range(4), place))


def test_a_cluster_teaches_the_same_network(two_nodes, tmp_path):
    options = {"iterations": 2, "simulations": 20, "layers": "4", "games": 4, "steps": 3, "evaluate_every": 0, "progress": False}
    here, there = (
        learn("kuhn_poker", out=tmp_path / f"{k}", workers=place, **options)
        for k, place in enumerate((1, Cluster(two_nodes[0].address)))
    )
    for (one, bias), (other, others) in zip(here.network.layers, there.network.layers, strict=True):
        assert np.array_equal(one, other)
        assert np.array_equal(bias, others)


def test_a_cluster_plays_the_same_games_and_a_node_that_is_killed_costs_time_only(two_nodes, tmp_path):
    nodes, second = two_nodes
    place, agents = Cluster(nodes.address), ["random", "pimc", "random"]
    tournament("kuhn_poker", agents, 60, out=tmp_path / "here", seed=3, workers=1)
    kills = []

    def kill(result):
        if len(result.record.games) > 20 and not kills:
            kills.append(len(result.record.games))
            nodes.remove_node(second, allow_graceful=False)

    tournament("kuhn_poker", agents, 60, out=tmp_path / "there", seed=3, workers=place, watch=kill)
    assert kills
    assert (tmp_path / "here" / GAMES).read_bytes() == (tmp_path / "there" / GAMES).read_bytes()


ALONE = """
import sys
from pathlib import Path
from unseen.run.cluster import Cluster

def family(process):
    yield process
    for child in (process / "task" / process.name / "children").read_text().split():
        yield from family(Path("/proc") / child)

def listening(kind):
    rows = [line.split() for line in Path(f"/proc/net/{kind}").read_text().splitlines()[1:]]
    return {row[9]: row[1].rpartition(":")[0] for row in rows if row[3] == "0A"}

with Cluster("local").crew(dict, (), 1):
    places = listening("tcp") | listening("tcp6")
    links = [fd for process in family(Path("/proc/self").resolve()) for fd in (process / "fd").iterdir() if fd.is_symlink()]
    sockets = [str(link.readlink())[8:-1] for link in links]
    print(*(places[socket] for socket in sockets if socket in places))
"""
LOOPBACKS = {"0100007F", "00000000000000000000000001000000", "0000000000000000FFFF00000100007F"}


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="there is no list of what listens")
def test_a_cluster_that_is_started_here_listens_to_this_machine_only():
    """Whoever reaches the ports of Ray can run code."""
    done = subprocess.run([sys.executable, "-c", ALONE], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.split()) >= 3
    assert set(done.stdout.split()) <= LOOPBACKS


def test_a_version_of_ray_that_listens_to_others_is_refused():
    ended = []
    ray = SimpleNamespace(util=SimpleNamespace(get_node_ip_address=lambda: "192.0.2.1"), shutdown=lambda: ended.append(True))
    with pytest.raises(UnseenError, match=r"listens at 192\.0\.2\.1"):
        check_loopback(ray)
    assert ended


def test_addresses():
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{nobody.getsockname()[1]}"
        began = time.monotonic()
        done = run_cli("match", "kuhn_poker", "random", "random", "--cluster", address)
        assert time.monotonic() - began < 20
    assert done.returncode == 2
    assert "nothing answers there" in done.stderr
    for text in ("nowhere", "host:", ":1", "127.0.0.1:99999999"):
        with pytest.raises(UnseenError, match="cluster"):
            Cluster(text)


def test_without_ray(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    with pytest.raises(UnseenError, match=r'pip install -e "\.\[ray\]"'):
        Cluster()
