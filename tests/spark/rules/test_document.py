"""Every rule of a job's document: ours keeps them all, one change breaks one."""

from __future__ import annotations

import copy
import json
import random

import pytest

from launchers.core.model.problems import Problem
from launchers.spark.launcher import SPARK
from launchers.spark.rules.document import check, recognises
from launchers.spark.rules.reading import examined
from tests.spark.rules.documents import FOLDER, ours, prop, put

K8S = {"spark__kubernetes__container__image": "repo/image:1"}
UPLOAD = {"spark__kubernetes__file__upload__path": "s3a://bucket/jobs"}
KEY = "wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY99"
ENV = "spark.executorEnv."

KEPT = [
    ours(),
    ours(strategy="torch"),
    ours("local[4]", 1, 4),
    ours("local-cluster[2,2,1024]"),
    ours("spark://a:7077", gpus=2),
    ours("yarn"),
    ours("yarn", deploy_mode="cluster"),
    ours("k8s://https://host:6443", deploy_mode="cluster", **K8S, **UPLOAD),
    ours(spark__executor__memory="4g", spark__eventLog__enabled="true", spark__task__cpus="1"),
]

# A change of our document, and the rules that it breaks.
ROWS = [
    (put("kind", "launch/sparc"), ["model-enum"]),
    (put("kind", 7), ["model-type"]),
    (put("name", ""), ["model-missing"]),
    (put("deploy_mode", "clstr"), ["model-enum"]),
    (put("deploy_mode", "cluster"), ["spark-deploy-mode"]),
    (put("master", "host:7077"), ["spark-master"]),
    (put("master", ...), ["model-missing"]),
    (
        put("conf", []),
        ["model-type", "spark-conf-python", "spark-driver-setting", "world-size"],
    ),
    (put("arguments", "train.py"), ["model-type"]),
    (put("arguments", []), ["spark-program"]),
    (put("arguments", ["-m"]), ["spark-program"]),
    (put("arguments", [1]), ["model-type"]),
    (put("arguments", ["train.py", "--api-key", KEY]), ["credential"]),
    (put("archives", []), ["spark-code"]),
    (put("archives", ["/a.tgz#launch_code", "/b.tgz#launch_code"]), ["spark-archive-name"]),
    (put("application", "/data/train.py"), ["spark-application"]),
    (put("environment", {}), ["spark-nonce"]),
    (put("environment", {"LAUNCH_NONCE": "short"}), ["nonce"]),
    (put("max_runtime_seconds", "1h"), ["model-type"]),
    (put("max_runtime_seconds", 0), ["model-range"]),
    (put("max_runtime_seconds", 10**30), ["model-range"]),
    (put("argumnets", []), ["model-key"]),
    (prop("spark.task.maxFailures", "4"), ["spark-retries"]),
    (prop("spark.task.maxFailures", ...), ["spark-retries"]),
    (prop("spark.stage.maxConsecutiveAttempts", "4"), ["spark-retries"]),
    (prop("spark.excludeOnFailure.enabled", "true"), ["spark-retries"]),
    (prop("spark.speculation", "true"), ["spark-speculation"]),
    (prop("spark.dynamicAllocation.enabled", "true"), ["spark-dynamic-allocation"]),
    (prop("spark.dynamicAllocation.enabled", ...), ["spark-dynamic-allocation"]),
    (prop("spark.scheduler.maxRegisteredResourcesWaitingTime", "300s"), ["spark-registration"]),
    (prop("spark.redaction.regex", ...), ["spark-redaction"]),
    (prop("spark.cores.max", "2"), ["spark-size", "spark-slots"]),
    (prop("spark.cores.max", ...), ["spark-size"]),
    (prop("spark.executor.cores", "1"), ["spark-size"]),
    (prop("spark.task.cpus", "2"), ["spark-size", "spark-slots"]),
    (prop("spark.task.cpus", "none"), ["spark-task-cpus"]),
    (prop("spark.task.resource.gpu.amount", "1"), ["spark-gpu-amount"]),
    (prop("spark.task.resource.gpu.amount", ...), ["spark-gpu-sides"]),
    (prop("spark.executor.resource.gpu.amount", ...), ["spark-gpu-sides"]),
    (prop("spark.task.resource.gpu.amount", "0.5"), ["spark-gpu-fraction"]),
    (prop("spark.launch.gpus", "2"), ["spark-gpu-amount"]),
    (prop("spark.launch.gpus", "some"), ["spark-driver-setting"]),
    (prop("spark.launch.slots.seconds", "5m"), ["spark-driver-setting"]),
    (prop("spark.launch.slot.seconds", "300"), ["model-key"]),
    (prop("spark.launch.result", ...), ["spark-driver-setting"]),
    (prop("spark.pyspark.python", "python2"), ["spark-conf-python"]),
    (prop("spark.master", "yarn"), ["spark-conf-flag"]),
    (prop("spark.app.name", "other"), ["spark-conf-flag"]),
    (prop("executor.memory", "4g"), ["spark-conf-name"]),
    (prop("spark.executor.core", "4"), ["spark-conf-misspelt"]),
    (prop("spark.executor.memory", 4), ["model-type"]),
    (prop("spark.hadoop.fs.s3a.secret.key", KEY), ["spark-conf-credential"]),
    (prop(ENV + "LAUNCH_WORLD_SIZE", "8"), ["spark-slots", "world-size"]),
    (prop(ENV + "LAUNCH_WORLD_SIZE", "four"), ["world-size"]),
    (prop(ENV + "LAUNCH_PROCESSES", ...), ["world-size"]),
    (prop(ENV + "LAUNCH_STRATEGY", "tensorflow"), ["strategy-provider"]),
    (prop(ENV + "LAUNCH_STRATEGY", "nothing-known"), ["strategy-provider"]),
    (prop(ENV + "LAUNCH_PROOF", "perhaps"), ["proof-mode"]),
    (prop(ENV + "LAUNCH_NONCE", "PLACEHOLDER-NONCE"), ["spark-nonce"]),
    (prop(ENV + "HOROVOD_RANK", "0"), ["env-reserved"]),
    (prop("spark.yarn.appMasterEnv.HOROVOD_SIZE", "8"), ["env-reserved"]),
    (prop(ENV + "PYSPARK_PYTHON", "python3"), ["spark-conf-python"]),
    (prop("spark.pyspark.driver.python", "/usr/bin/python2"), ["spark-conf-python"]),
    (prop("spark.pyspark.driver.python", ...), ["spark-conf-python"]),
    (put("driver_python", "/usr/bin/python2"), ["spark-conf-python"]),
    (prop("spark.task.resource.fpga.amount", "1"), ["spark-other-resource"]),
    (prop("spark.archives", "/b.tgz#b"), ["spark-conf-flag"]),
    (prop("spark.yarn.dist.archives", "/b.tgz#b"), ["spark-conf-flag"]),
    (prop("spark.remote", "sc://host"), ["spark-conf-flag"]),
    (prop("spark.yarn.submit.waitAppCompletion", "false"), ["spark-conf-wait"]),
    (put("files", ["/data/a,b.txt"]), ["spark-path"]),
    (put("archives", [f"{FOLDER}/code.tar.gz#launch_code", "/a b.tgz#b"]), ["spark-path"]),
]


def rules(document, **others):
    return sorted({one.rule for one in check(document, **others)})


@pytest.mark.parametrize("document", KEPT, ids=lambda one: f"{one['master']} {one['deploy_mode']}")
def test_our_own_documents_keep_every_rule(document):
    before = copy.deepcopy(document)
    assert check(document) == []
    assert document == before


@pytest.mark.parametrize(("change", "broken"), ROWS, ids=[str(one) for one in range(len(ROWS))])
def test_a_change_breaks_the_rule_that_is_about_it(change, broken):
    document = ours()
    change(document)
    problems = check(document)
    assert sorted({one.rule for one in problems}) == broken
    for problem in problems:
        assert problem.path.startswith("$")
        assert problem.found
        assert problem.expected
        assert KEY not in str(problem)


def test_a_barrier_stage_is_not_waited_for_ten_minutes():
    document = ours(strategy="torch")
    del document["conf"]["spark.scheduler.barrier.maxConcurrentTasksCheck.maxFailures"]
    assert rules(document) == ["spark-barrier"]


def test_executors_have_the_gpus_that_the_driver_is_told():
    document = ours(gpus=2)
    document["conf"]["spark.executor.resource.gpu.amount"] = "4"
    assert rules(document) == ["spark-gpu-amount"]


def test_yarn_starts_a_driver_once_and_is_told_how_to_find_gpus():
    document = ours("yarn", gpus=2)
    assert rules(document) == ["spark-gpu-discovery"]
    document["conf"]["spark.executor.resource.gpu.discoveryScript"] = "/opt/gpus.sh"
    del document["conf"]["spark.yarn.maxAppAttempts"]
    assert rules(document) == ["spark-retries"]


def test_kubernetes_needs_an_image_in_the_document_too():
    assert rules(ours("k8s://https://host:6443")) == ["spark-image"]


def test_a_pod_gets_the_driver_program_by_a_store_or_has_it():
    document = ours("k8s://https://host:6443", deploy_mode="cluster", **K8S)
    (problem,) = check(document)
    assert problem.rule == "spark-upload"
    assert problem.found.startswith(f"none, for {FOLDER}/code/spark_driver.py")
    document["application"] = "local:///opt/launch/spark_driver.py"
    document["archives"] = ["s3a://bucket/code.tar.gz#launch_code"]
    assert check(document) == []


def test_a_driver_in_the_cluster_gets_its_nonce_by_a_property():
    document = ours("yarn", deploy_mode="cluster")
    del document["conf"]["spark.yarn.appMasterEnv.LAUNCH_NONCE"]
    assert rules(document) == ["spark-nonce"]


@pytest.mark.parametrize(
    ("master", "wanted"),
    [("local[2]", ["spark-local-threads", "spark-slots"]), ("local[*]", ["spark-local-cores"])],
)
def test_one_process_has_slots_for_all_ranks(master, wanted):
    document = ours("local[4]", 1, 4)
    document["master"] = master
    assert rules(document) == wanted


def test_the_size_that_the_caller_means_is_compared():
    (problem,) = check(ours(), world_size=8)
    assert (problem.rule, problem.path, problem.found) == ("world-size", "--world-size", "8")
    assert check(ours(), world_size=4) == []


def test_a_value_that_was_let_pass_passes_here_too():
    document = ours()
    document["conf"][ENV + "SERVICE_PASSWORD"] = "hunter2hunter2"
    assert rules(document) == ["spark-conf-credential"]
    assert check(document, allowed=["SERVICE_PASSWORD"]) == []


def test_what_a_document_starts_is_said():
    found = examined(ours())
    assert (found.started, found.carried, found.program[0]) == (4, 4, "train.py")
    assert "2 executors x 2 slots" in found.because
    document = ours()
    document["conf"]["spark.cores.max"] = "2"
    assert examined(document).started == 0
    document["conf"] = {}
    assert examined(document).started is None


@pytest.mark.parametrize(
    ("document", "known"),
    [
        (ours(), True),
        ({"kind": "launch/spark"}, True),
        ({"master": 1, "conf": 2, "application": 3}, True),
        ({"kind": "launch/local", "master": "x"}, False),
        ({"jobSpec": {}}, False),
        ({}, False),
        ({"kind": ["launch/spark"]}, False),
    ],
)
def test_a_document_is_recognised_by_its_kind_or_its_parts(document, known):
    assert recognises(document) is known


NASTY = [
    None,
    True,
    0,
    -1,
    1e308,
    10**40,
    "",
    "\0",
    "\ud800",
    "9" * 5000,
    "٣",
    "[" * 3000,
    "a" * 5_000,
    [],
    {},
    [[]],
    {"a": {}},
    [None],
    {"spark.task.cpus": None},
]


def places(value, path=()):
    yield path
    inner = value.items() if isinstance(value, dict) else ()
    inner = enumerate(value) if isinstance(value, list) else inner
    for key, entry in inner:
        yield from places(entry, (*path, key))


def with_value(document, path, value):
    changed = copy.deepcopy(document)
    holder = changed
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = value
    return changed


def test_no_value_at_no_place_is_more_than_a_clean_problem():
    dice = random.Random(3)
    for document in (ours(gpus=2, strategy="torch"), ours("yarn", deploy_mode="cluster")):
        for path in places(document):
            for value in dice.sample(NASTY, 3) if path else ():
                told = examined(with_value(document, path, value)).problems
                assert all(isinstance(one, Problem) for one in told)
                assert all(len(str(one)) < 2000 for one in told), (path, str(value)[:20])


def test_no_mixture_of_such_values_is_either():
    dice = random.Random(7)
    for _ in range(60):
        document = ours(dice.choice(["yarn", "local[4]", "spark://a:7077"]), 1, 4)
        for _ in range(dice.randint(2, 8)):
            path = dice.choice([one for one in places(document) if one])
            document = with_value(document, path, dice.choice(NASTY))
        examined(document, dice.choice([None, 4]))


def test_a_document_with_keys_of_other_types_is_read():
    # As YAML has them.
    document = {**ours(), 7: 1, "conf": {**ours()["conf"], 3: "x", None: "y"}}
    assert {"model-key", "model-type"} <= set(rules(document))


def test_the_provider_reads_its_documents():
    assert SPARK.reader is not None
    assert SPARK.reader.recognises(ours())
    text = SPARK.reader.examine(ours()).definition.text
    assert json.loads(text)["folder"] == FOLDER
