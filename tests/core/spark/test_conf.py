"""The properties of a job: so many ranks, each once."""

from __future__ import annotations

import re

import pytest

from launchers.core.spark.conf import Executors, conf_for, settled, task_cpus_of
from launchers.core.spark.conf_rules import problems_in_conf
from launchers.core.spark.conf_values import problems_in_missing, problems_in_values

KINDS = ["local", "local-cluster", "standalone", "yarn", "kubernetes"]
ASKED = Executors(2, 3, gpus=3, task_cpus=2, barrier=True)


def conf(kind="standalone", executors=ASKED, **others):
    given = {"given": {}, "environment": {}, "settings": {}, **others}
    return conf_for(executors, kind, **given)


@pytest.mark.parametrize(
    ("kind", "size"),
    [
        ("local", {}),
        ("local-cluster", {"spark.cores.max": "12", "spark.executor.cores": "6"}),
        ("standalone", {"spark.cores.max": "12", "spark.executor.cores": "6"}),
        ("yarn", {"spark.executor.instances": "2", "spark.executor.cores": "6"}),
        ("kubernetes", {"spark.executor.instances": "2", "spark.executor.cores": "6"}),
    ],
)
def test_a_cluster_is_told_the_size_in_its_own_words(kind, size):
    found = conf(kind)
    names = ("spark.cores.max", "spark.executor.cores", "spark.executor.instances")
    assert {name: found[name] for name in names if name in found} == size


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_started_twice(kind):
    found = conf(kind)
    assert found["spark.task.maxFailures"] == found["spark.stage.maxConsecutiveAttempts"] == "1"
    assert found["spark.dynamicAllocation.enabled"] == found["spark.speculation"] == "false"
    assert found.get("spark.yarn.maxAppAttempts") == ("1" if kind == "yarn" else None)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_set_breaks_no_rule_and_lacks_nothing(kind):
    found = conf(kind)
    assert problems_in_values(found, ASKED, kind, str) == []
    assert problems_in_missing(found, ASKED, kind, str) == []


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("yarn", "spark.yarn.submit.waitAppCompletion"),
        ("kubernetes", "spark.kubernetes.submission.waitAppCompletion"),
    ],
)
def test_spark_submit_stays_with_a_driver_in_the_cluster_whatever_the_users_defaults_say(
    kind, name
):
    assert conf(kind, deploy_mode="cluster")[name] == "true"
    assert name not in conf(kind)


@pytest.mark.parametrize("kind", KINDS)
def test_spark_starts_with_one_attempt_though_the_users_defaults_exclude_after_failures(kind):
    assert conf(kind)["spark.excludeOnFailure.enabled"] == "false"


def test_properties_are_sorted_and_those_given_stay():
    found = conf(given={"spark.executor.memory": "4g", "spark.zz": "1"})
    assert list(found) == sorted(found)
    assert (found["spark.executor.memory"], found["spark.zz"]) == ("4g", "1")


def test_what_is_decided_wins_over_what_is_given():
    assert conf(given={"spark.task.maxFailures": "9"})["spark.task.maxFailures"] == "1"


@pytest.mark.parametrize(
    ("kind", "mode", "where"),
    [
        ("standalone", "client", None),
        ("yarn", "client", None),
        ("yarn", "cluster", "spark.yarn.appMasterEnv.LAUNCH_NONCE"),
        ("kubernetes", "cluster", "spark.kubernetes.driverEnv.LAUNCH_NONCE"),
    ],
)
def test_the_nonce_reaches_the_driver_alone(kind, mode, where):
    environment = {"LAUNCH_NONCE": "n", "LAUNCH_JOB": "j"}
    found = conf(kind, environment=environment, deploy_mode=mode)
    assert [key for key in found if "NONCE" in key] == ([where] if where else [])
    assert found["spark.executorEnv.LAUNCH_JOB"] == "j"


def test_the_driver_program_is_told_its_limits_and_the_ranks_python():
    found = conf(
        settings={"slots.seconds": "60", "result": "/job/result.json"},
        python="./environment/bin/python",
        driver_python="/usr/bin/python3",
    )
    assert found["spark.launch.slots.seconds"] == "60"
    assert found["spark.launch.result"] == "/job/result.json"
    assert found["spark.launch.gpus"] == "3"
    assert found["spark.launch.executable"] == found["spark.pyspark.python"]
    assert found["spark.pyspark.driver.python"] == "/usr/bin/python3"


@pytest.mark.parametrize(
    "name",
    [
        "spark.hadoop.fs.s3a.access.key",
        "spark.hadoop.fs.azure.account.key.acct.dfs.core.windows.net",
        "spark.yarn.appMasterEnv.LAUNCH_NONCE",
    ],
)
def test_sparks_pages_hide_what_the_users_defaults_have_of_keys(name):
    assert re.search(conf()["spark.redaction.regex"], name)


@pytest.mark.parametrize("kind", KINDS)
def test_no_executor_is_waited_for_before_the_driver_can_say_so(kind):
    found = conf(kind, settings={"slots.seconds": "60"})
    assert found["spark.scheduler.maxRegisteredResourcesWaitingTime"] == "0s"


def test_gpus_have_a_vendor_on_kubernetes_alone():
    assert conf("kubernetes")["spark.executor.resource.gpu.vendor"] == "nvidia.com"
    given = {"spark.executor.resource.gpu.vendor": "amd.com"}
    assert conf("kubernetes", given=given)["spark.executor.resource.gpu.vendor"] == "amd.com"
    assert "spark.executor.resource.gpu.vendor" not in conf("yarn")


def test_a_barrier_is_not_waited_for_where_there_is_none():
    assert not any("barrier" in key for key in conf(executors=Executors(2, 1)))


@pytest.mark.parametrize(
    ("value", "cores"),
    [("4", 4), (" 2 ", 2), ("02", 2), ("0", 1), ("-2", 1), ("x", 1), ("9" * 5000, 1)],
)
def test_the_cores_of_a_task_are_read(value, cores):
    assert task_cpus_of({"spark.task.cpus": value}) == cores
    assert task_cpus_of({}) == 1


def test_giving_what_is_set_anyway_is_no_problem():
    executors = Executors(2, 1, gpus=1)
    given = settled(executors, "standalone")
    assert problems_in_conf(given, executors, "standalone") == []
