from __future__ import annotations

import json
from typing import Any

import pytest
from launch_runtime.environment import SettingError
from launch_runtime.host.cluster import Cluster, LoneReplicaError, read

NAME = "cmle-training-workerpool{}-0123456789-{}"
POOL_0 = [NAME.format(0, 0) + ":2222"]
POOL_1 = [NAME.format(1, 0) + ":2222", NAME.format(1, 1) + ":2222"]


def spec(cluster: dict, kind: str, index: int = 0, **more: object) -> dict[str, str]:
    value = {
        "cluster": cluster,
        "environment": "cloud",
        "task": {"type": kind, "index": index},
        **more,
    }
    return {"CLUSTER_SPEC": json.dumps(value)}


# environment; names of the hosts; own place; port
SEEN_FORMS = {
    "chief and workers, own is the chief": (
        spec({"workerpool0": POOL_0, "workerpool1": POOL_1}, "workerpool0"),
        ["workerpool0-0", "workerpool1-0", "workerpool1-1"], 0, 2222,
    ),
    "own is the last worker": (
        spec({"workerpool0": POOL_0, "workerpool1": POOL_1}, "workerpool1", 1),
        ["workerpool0-0", "workerpool1-0", "workerpool1-1"], 2, 2222,
    ),
    "pools in another order": (
        spec({"workerpool1": POOL_1, "workerpool0": POOL_0}, "workerpool1"),
        ["workerpool0-0", "workerpool1-0", "workerpool1-1"], 1, 2222,
    ),
    "open ports": (
        spec({"workerpool0": POOL_0, "workerpool1": POOL_1}, "workerpool1", open_ports=[3333, 4]),
        ["workerpool0-0", "workerpool1-0", "workerpool1-1"], 1, 3333,
    ),
    "no open ports in the list": (
        spec({"workerpool0": POOL_0, "workerpool1": POOL_1}, "workerpool1", open_ports=[]),
        ["workerpool0-0", "workerpool1-0", "workerpool1-1"], 1, 2222,
    ),
    "addresses without ports": (
        spec({"workerpool0": ["a"], "workerpool1": ["b"]}, "workerpool1"),
        ["workerpool0-0", "workerpool1-0"], 1, 2222,
    ),
    "addresses with another port": (
        spec({"workerpool0": ["a:4444"], "workerpool1": ["b:4444"]}, "workerpool1"),
        ["workerpool0-0", "workerpool1-0"], 1, 4444,
    ),
    "reduction servers and an evaluator are no hosts": (
        spec({"workerpool0": POOL_0, "workerpool1": POOL_1, "workerpool2": ["r:2222", "s:2222"],
              "workerpool3": ["e:2222"]}, "workerpool0"),
        ["workerpool0-0", "workerpool1-0", "workerpool1-1"], 0, 2222,
    ),
    "an empty pool in between": (
        spec({"workerpool0": POOL_0, "workerpool1": [], "workerpool2": ["r:2222"]}, "workerpool0"),
        ["workerpool0-0"], 0, 0,
    ),
    "a single replica": (spec({"workerpool0": POOL_0}, "workerpool0"), ["workerpool0-0"], 0, 0),
    "a single replica named chief": (spec({"chief": POOL_0}, "chief"), ["chief-0"], 0, 0),
    "a single replica, and its task alone says chief": (
        spec({"workerpool0": POOL_0}, "chief"), ["workerpool0-0"], 0, 0,
    ),
    "pools by their older names, the task by its newer one": (
        spec({"chief": POOL_0, "worker": POOL_1}, "workerpool1", 1),
        ["chief-0", "worker-0", "worker-1"], 2, 2222,
    ),
    "chief and workers by their older names": (
        spec({"chief": POOL_0, "worker": POOL_1}, "worker", 1),
        ["chief-0", "worker-0", "worker-1"], 2, 2222,
    ),
    "one replica of a promised one": (
        {"LAUNCH_INSTANCES": "1"}, ["workerpool0-0"], 0, 0,
    ),
    "job is a JSON string": (
        spec({"workerpool0": POOL_0, "workerpool1": ["b:2222"]}, "workerpool1",
             job='{"python_module": "", "args": []}'),
        ["workerpool0-0", "workerpool1-0"], 1, 2222,
    ),
    "the index is a string": (
        spec({"workerpool0": POOL_0, "workerpool1": POOL_1}, "workerpool1", "1"),  # type: ignore[arg-type]
        ["workerpool0-0", "workerpool1-0", "workerpool1-1"], 2, 2222,
    ),
    "a task without an index is its pool's first": (
        {"CLUSTER_SPEC": json.dumps({
            "cluster": {"workerpool0": POOL_0, "workerpool1": POOL_1},
            "task": {"type": "workerpool1"},
        })},
        ["workerpool0-0", "workerpool1-0", "workerpool1-1"], 1, 2222,
    ),
    "pools by their newer names, the task by its older one": (
        spec({"workerpool0": POOL_0, "workerpool1": POOL_1}, "worker"),
        ["workerpool0-0", "workerpool1-0", "workerpool1-1"], 1, 2222,
    ),
    "the port of the first host where they differ": (
        spec({"workerpool0": ["a:4444"], "workerpool1": ["b:5555"]}, "workerpool1"),
        ["workerpool0-0", "workerpool1-0"], 1, 4444,
    ),
    "nothing at all is a single replica": ({}, ["workerpool0-0"], 0, 0),
}  # fmt: skip


@pytest.mark.parametrize("form", SEEN_FORMS)
def test_every_seen_form_of_cluster_spec_gives_hosts_place_and_port(form: str) -> None:
    environment, names, place, port = SEEN_FORMS[form]
    cluster = read(environment)
    assert [host.name for host in cluster.hosts] == names
    assert (cluster.position, cluster.port, cluster.managed) == (place, port, True)


def test_hosts_are_reached_by_their_names_in_cluster_spec() -> None:
    environment = spec({"workerpool0": POOL_0, "workerpool1": POOL_1}, "workerpool1", 1)
    assert [host.address for host in read(environment).hosts] == [
        NAME.format(0, 0), NAME.format(1, 0), NAME.format(1, 1),
    ]  # fmt: skip


def test_a_single_replica_reaches_itself_by_the_loopback_address() -> None:
    assert read(spec({"chief": POOL_0}, "chief")).first.address == "127.0.0.1"


def test_launch_cluster_goes_before_cluster_spec() -> None:
    ours = {"hosts": [{"name": "a", "address": "10.0.0.1"}, {"name": "b", "address": "10.0.0.2"}],
            "index": 1, "port": 40123}  # fmt: skip
    environment = {**spec({"chief": POOL_0}, "chief"), "LAUNCH_CLUSTER": json.dumps(ours)}
    cluster = read(environment)
    assert cluster.own == ("b", "10.0.0.2")
    assert cluster.first == ("a", "10.0.0.1")
    assert (cluster.port, cluster.managed) == (40123, False)


def test_a_launch_cluster_of_one_host_needs_neither_place_nor_port() -> None:
    cluster = read({"LAUNCH_CLUSTER": json.dumps({"hosts": TWO[:1]})})
    assert (cluster.own, cluster.position, cluster.port) == (("a", "h"), 0, 0)


@pytest.mark.parametrize("port", [1, 65535])
def test_the_lowest_and_the_highest_port_are_ports(port: int) -> None:
    ours = {"hosts": TWO, "index": 0, "port": port}
    assert read({"LAUNCH_CLUSTER": json.dumps(ours)}).port == port


TF_POOLS = {"chief": ["a:2222"], "worker": ["b:2222", "c:2222"]}


def hearsay(
    pools: object = TF_POOLS, kind: str = "worker", index: int = 1, **more: str
) -> Cluster | None:
    """What a replica without CLUSTER_SPEC in a job of three knows of the others."""
    told = {"cluster": pools, "task": {"type": kind, "index": index}}
    environment = {"LAUNCH_INSTANCES": "3", "TF_CONFIG": json.dumps(told), **more}
    with pytest.raises(LoneReplicaError) as caught:
        read(environment)
    return caught.value.cluster


def test_a_lone_replica_has_from_tf_config_the_others_by_the_names_of_cluster_spec() -> None:
    cluster = hearsay()
    assert cluster is not None
    assert cluster.position == 2
    assert [tuple(host) for host in cluster.hosts] == [
        ("workerpool0-0", "a"), ("workerpool1-0", "b"), ("workerpool1-1", "c"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("given", "pools_port", "ports"),
    [
        ("3333", 4444, [3333, 4444, 2222]), ("", 4444, [4444, 2222]), ("0", 2222, [2222]),
        ("1", 2222, [1, 2222]), ("65535", 2222, [65535, 2222]), ("65536", 2222, [2222]),
        ("-1", 2222, [2222]),
    ],
)  # fmt: skip
def test_a_lone_replica_tries_each_port_that_the_first_host_may_have(
    given: str, pools_port: int, ports: list[int]
) -> None:
    pools = {"chief": [f"a:{pools_port}"], "worker": ["b:1", "c:1"]}
    cluster = hearsay(pools, MASTER_PORT=given)
    assert cluster is not None
    assert [cluster.port, *cluster.other_ports] == ports


@pytest.mark.parametrize(
    "told",
    [
        {"kind": "chief", "index": 0},
        {"pools": {**TF_POOLS, "worker": ["b:2222"]}, "index": 0},
        {"pools": {**TF_POOLS, "worker": ["b:2222", "c:2222", "d:2222"]}},
        {"pools": {**TF_POOLS, "worker": 3}},
        {"TF_CONFIG": ""},
        {"TF_CONFIG": "{}"},
    ],
    ids=["the first host", "too few hosts", "too many hosts", "nonsense", "nothing", "no keys"],
)
def test_a_lone_replica_that_is_first_or_told_something_else_knows_of_nobody(told: Any) -> None:
    assert hearsay(**told) is None


TWO = [{"name": "a", "address": "h"}, {"name": "b", "address": "i"}]
MISTAKES = {
    "no JSON": ({"LAUNCH_CLUSTER": "{"}, "LAUNCH_CLUSTER is not JSON"),
    "a list": ({"CLUSTER_SPEC": "[]"}, "expected a JSON object"),
    "no hosts": ({"LAUNCH_CLUSTER": '{"hosts": [], "port": 1}'}, "no hosts"),
    "no address": ({"LAUNCH_CLUSTER": '{"hosts": [{"name": "a"}]}'}, "'address'"),
    "an index too far": (
        {"LAUNCH_CLUSTER": json.dumps({"hosts": TWO, "index": 2, "port": 1})}, "expected 0 to 1",
    ),
    "an index below zero": (
        {"LAUNCH_CLUSTER": json.dumps({"hosts": TWO, "index": -1, "port": 1})},
        "index -1; expected 0 to 1",
    ),
    "a port below zero": (
        {"LAUNCH_CLUSTER": json.dumps({"hosts": TWO[:1], "port": -1})}, "port -1",
    ),
    "a host without a name": (
        {"LAUNCH_CLUSTER": json.dumps({"hosts": [{"name": "", "address": "h"}]})},
        "without a name or an address",
    ),
    "a host without an address": (
        {"LAUNCH_CLUSTER": json.dumps({"hosts": [{"name": "a", "address": ""}]})},
        "without a name or an address",
    ),
    "a task whose index is below zero": (
        spec({"workerpool0": POOL_0, "workerpool1": POOL_1}, "worker", -1),
        "this replica is worker -1, which holds no ranks",
    ),
    "missing in a job of two hosts": (
        {"LAUNCH_INSTANCES": "2"}, "LAUNCH_INSTANCES promises 2 hosts",
    ),
    "several hosts without a port": (
        {"LAUNCH_CLUSTER": json.dumps({"hosts": TWO, "index": 0})}, "port 0",
    ),
    "a port too high": (
        {"LAUNCH_CLUSTER": json.dumps({"hosts": TWO, "index": 0, "port": 65536})}, "port 65536",
    ),
    "two hosts with one name": (
        {"LAUNCH_CLUSTER": json.dumps({"hosts": [TWO[0], TWO[0]], "index": 0, "port": 1})},
        "different names",
    ),
    "missing in a job of several hosts": (
        {"LAUNCH_INSTANCES": "3"},
        "CLUSTER_SPEC is not set, though LAUNCH_INSTANCES promises 3 hosts",
    ),
    "no task": ({"CLUSTER_SPEC": '{"cluster": {}}'}, "expected cluster and task"),
    "a reduction server": (
        spec({"workerpool0": POOL_0, "workerpool2": ["r:2222"]}, "workerpool2"),
        "this replica is workerpool2 0, which holds no ranks of the job",
    ),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_cluster_that_cannot_be_names_what_was_found(mistake: str) -> None:
    environment, words = MISTAKES[mistake]
    with pytest.raises(SettingError, match=words):
        read(environment)
