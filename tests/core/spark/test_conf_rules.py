"""Which properties --conf may give: one row a rule, and everything harmless passes."""

from __future__ import annotations

import base64
import hashlib
import json

import pytest

from infra.refresh.spark_keys import FILE
from launchers.core.spark.conf import Executors
from launchers.core.spark.conf_names import misspelt
from launchers.core.spark.conf_rules import problems_in_conf
from launchers.core.spark.conf_values import same

SECRET = "wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY99"
AZURE_KEY = base64.b64encode(hashlib.sha512(b"an account").digest()).decode()
ALONE, GPUS = Executors(2, 2), Executors(2, 2, gpus=2)
BARRIER = Executors(2, 2, barrier=True)


def refusals(given, executors=ALONE, kind="standalone", **others):
    return problems_in_conf(given, executors, kind, **others)


# A property and its value; the rule that refuses it; what its message says to do.
ROWS = [
    ("spark.dynamicAllocation.enabled", "true", "spark-dynamic-allocation", "--instances"),
    ("spark.dynamicAllocation.enabled", " TRUE", "spark-dynamic-allocation", "--instances"),
    ("spark.speculation", "true", "spark-speculation", "leave it out"),
    ("spark.task.maxFailures", "4", "spark-retries", "same command again"),
    ("spark.task.maxFailures", "many", "spark-retries", "same command again"),
    ("spark.stage.maxConsecutiveAttempts", "4", "spark-retries", "same command again"),
    ("spark.yarn.maxAppAttempts", "2", "spark-retries", "same command again"),
    ("spark.driver.supervise", "true", "spark-retries", "same command again"),
    ("spark.excludeOnFailure.enabled", "true", "spark-retries", "leave it out"),
    (
        "spark.scheduler.maxRegisteredResourcesWaitingTime",
        "30s",
        "spark-registration",
        "--limit slots",
    ),
    ("spark.executor.instances", "4", "spark-size", "--instances"),
    ("spark.executor.cores", "8", "spark-size", "--processes"),
    ("spark.cores.max", "64", "spark-size", "--instances"),
    ("spark.task.cpus", "0", "spark-task-cpus", "leave it out"),
    ("spark.task.cpus", "1.5", "spark-task-cpus", "leave it out"),
    ("spark.redaction.regex", "nothing", "spark-redaction", "leave it out"),
    ("spark.task.resource.gpu.amount", "1", "spark-gpu-sides", "--gpus"),
    ("spark.executor.resource.gpu.amount", "1", "spark-gpu-sides", "--gpus"),
    ("spark.task.resource.gpu.amount", "0.25", "spark-gpu-fraction", "--processes"),
    ("spark.task.resource.fpga.amount", "1", "spark-other-resource", "leave it out"),
    ("spark.master", "yarn", "spark-conf-flag", "use --master"),
    ("spark.remote", "sc://host", "spark-conf-flag", "use --master"),
    ("spark.submit.deployMode", "cluster", "spark-conf-flag", "use --deploy-mode"),
    ("spark.app.name", "mine", "spark-conf-flag", "use --name"),
    ("spark.archives", "env.tgz#env", "spark-conf-flag", "use --archive"),
    ("spark.yarn.dist.archives", "env.tgz", "spark-conf-flag", "use --archive"),
    ("spark.pyspark.python", "python3.9", "spark-conf-python", "--archive"),
    ("spark.pyspark.driver.python", "python3.9", "spark-conf-python", "--archive"),
    ("spark.executorEnv.PYSPARK_PYTHON", "python3", "spark-conf-python", "--archive"),
    ("spark.yarn.appMasterEnv.PYSPARK_PYTHON", "python3", "spark-conf-python", "--archive"),
    ("spark.executorEnv.LAUNCH_WORLD_SIZE", "8", "env-reserved", "--instances"),
    ("spark.executorEnv.HOROVOD_SIZE", "8", "env-reserved", "--instances"),
    ("spark.executorEnv.CUDA_VISIBLE_DEVICES", "0", "env-reserved", "--gpus"),
    ("spark.kubernetes.driverEnv.LAUNCH_NONCE", "x", "env-reserved", "leave it out"),
    ("spark.launch.slots.seconds", "9", "spark-conf-ours", "--limit slots"),
    ("spark.launch.gpus", "9", "spark-conf-ours", "--gpus"),
    ("spark.launch.anything", "9", "spark-conf-ours", "leave it out"),
    ("spark.yarn.submit.waitAppCompletion", "false", "spark-conf-wait", "--detach"),
    ("executor.memory", "4g", "spark-conf-name", "spark.hadoop."),
    ("spark.executor.core", "4", "spark-conf-misspelt", "spark.executor.cores?"),
    ("spark.taks.maxFailures", "4", "spark-conf-misspelt", "spark.task.maxFailures?"),
    ("spark.executor.resource.gpus.amount", "1", "spark-conf-misspelt", "resource.gpu.amount?"),
    ("spark.executor.Instances", "4", "spark-conf-misspelt", "spark.executor.instances?"),
    ("spark.hadoop.fs.s3a.secret.key", SECRET, "spark-conf-credential", "--secret"),
    ("spark.executorEnv.DB_PASSWORD", "hunter2hunter2", "spark-conf-credential", "--secret"),
    (
        "spark.hadoop.fs.azure.account.key.acct.blob.core.windows.net",
        AZURE_KEY,
        "spark-conf-credential",
        "--secret",
    ),
    (
        "spark.hadoop.fs.azure.account.oauth2.client.secret.acct.dfs.core.windows.net",
        "not very random",
        "spark-conf-credential",
        "--secret",
    ),
    ("spark.company.account.key.of-test", AZURE_KEY, "spark-conf-credential", "--secret"),
    ("spark.redis.auth", "hunter2hunter2", "spark-conf-credential", "--secret"),
    ("spark.kubernetes.executor.secretKeyRef.TOKEN", SECRET, "spark-conf-credential", "--secret"),
]


@pytest.mark.parametrize(
    ("key", "value", "rule", "way"), ROWS, ids=[f"{row[0]}={row[1]}" for row in ROWS]
)
def test_a_property_that_changes_the_ranks_is_refused_with_the_way_to_go(key, value, rule, way):
    (problem,) = refusals({key: value})
    assert (problem.rule, problem.severity) == (rule, "error")
    assert problem.path == f"--conf {key}"
    assert way in problem.fix
    assert SECRET not in str(problem)
    assert AZURE_KEY not in str(problem)


@pytest.mark.parametrize(
    "kind", ["local", "local-cluster", "standalone", "yarn", "kubernetes", None]
)
def test_a_refused_property_is_refused_on_every_cluster(kind):
    for key, value, rule, _ in ROWS:
        assert rule in [one.rule for one in refusals({key: value}, kind=kind)]


@pytest.mark.parametrize(
    ("given", "rule"),
    [
        ({"spark.scheduler.barrier.maxConcurrentTasksCheck.maxFailures": "40"}, "spark-barrier"),
        ({"spark.scheduler.barrier.maxConcurrentTasksCheck.interval": "15s"}, "spark-barrier"),
    ],
)
def test_the_settings_of_a_barrier_count_where_ranks_start_in_one(given, rule):
    assert [one.rule for one in refusals(given, BARRIER)] == [rule]
    assert refusals(given) == []


@pytest.mark.parametrize(
    ("given", "rules"),
    [
        ({"spark.executor.resource.gpu.amount": "4"}, ["spark-gpu-amount"]),
        ({"spark.task.resource.gpu.amount": "2"}, ["spark-gpu-amount"]),
        ({"spark.executor.resource.gpu.amount": "2", "spark.task.resource.gpu.amount": "1"}, []),
        ({"spark.task.resource.gpu.amount": "1.0"}, []),
        ({"spark.task.resource.gpu.amount": "x"}, ["spark-gpu-amount"]),
    ],
)
def test_gpus_are_those_of_the_flag(given, rules):
    assert [one.rule for one in refusals(given, GPUS)] == rules


def test_yarn_and_kubernetes_need_a_way_to_find_gpus():
    given = {"spark.kubernetes.container.image": "repo/image:1"}
    found = [one.rule for one in refusals(given, GPUS, "kubernetes")]
    assert found == ["spark-gpu-discovery"] == [one.rule for one in refusals({}, GPUS, "yarn")]
    script = {"spark.executor.resource.gpu.discoveryScript": "/opt/getGpusResources.sh"}
    assert refusals({**given, **script}, GPUS, "kubernetes") == []
    assert refusals({}, GPUS, "standalone") == []


def test_kubernetes_needs_an_image():
    assert [one.rule for one in refusals({}, kind="kubernetes")] == ["spark-image"]


HARMLESS = {
    "spark.executor.memory": "4g",
    "spark.executor.memoryOverhead": "1g",
    "spark.driver.memory": "2g",
    "spark.driver.maxResultSize": "2g",
    "spark.executor.extraJavaOptions": "-XX:+UseG1GC",
    "spark.eventLog.enabled": "true",
    "spark.eventLog.dir": "hdfs:///logs",
    "spark.local.dir": "/scratch",
    "spark.ui.enabled": "false",
    "spark.task.cpus": "4",
    "spark.dynamicAllocation.maxExecutors": "9",
    "spark.shuffle.service.enabled": "true",
    "spark.speculation.multiplier": "3",
    "spark.sql.shuffle.partitions": "200",
    "spark.sql.catalog.lake": "org.example.Catalog",
    "spark.hadoop.fs.s3a.endpoint": "http://127.0.0.1:9000",
    "spark.executorEnv.NCCL_DEBUG": "INFO",
    "spark.executorEnv.HOROVOD_TIMELINE": "/tmp/t.json",
    "spark.executorEnv.TOKENIZERS_PARALLELISM": "false",
    "spark.yarn.queue": "ml",
    "spark.yarn.appMasterEnv.TZ": "UTC",
    "spark.kubernetes.namespace": "ml",
    "spark.kubernetes.executor.request.cores": "1500m",
    "spark.kubernetes.executor.podTemplateFile": "/etc/pod.yaml",
    "spark.kubernetes.executor.secretKeyRef.TOKEN": "mysecret:key",
    "spark.kafka.clusters.main.sasl.token.mechanism": "SCRAM-SHA-512",
    "spark.hadoop.fs.azure.account.auth.type.acct.dfs.core.windows.net": "OAuth",
    "spark.hadoop.fs.gs.auth.service.account.private.key.id": SECRET.lower(),
    "spark.executor.resource.fpga.amount": "1",
    "spark.executor.resource.npu.amount": "1",
    "spark.executor.resource.gpu.amount": "0",
    "spark.task.resource.gpu.amount": "0",
    "spark.task.resource.fpga.amount": "0",
    "spark.yarn.submit.waitAppCompletion": "true",
    "spark.jars.packages": "org.example:x:1",
    "spark.plugins": "com.nvidia.spark.SQLPlugin",
    "spark.rapids.sql.enabled": "true",
    "spark.databricks.delta.preview.enabled": "true",
    "spark.extraListeners": "org.example.Listener",
    "spark.network.timeout": "300s",
    "spark.my.company.setting": "1",
}


@pytest.mark.parametrize("key", HARMLESS)
def test_a_harmless_property_passes_untouched(key):
    assert refusals({key: HARMLESS[key]}) == []


def test_no_property_of_spark_itself_is_taken_for_a_slip():
    known = json.loads(FILE.read_bytes())["keys"]
    assert len(known) > 500
    assert [key for key in known if misspelt(key, key)] == []


def test_a_slip_that_changes_no_rank_is_a_warning():
    (problem,) = refusals({"spark.executor.memroy": "4g"})
    assert (problem.rule, problem.severity) == ("spark-conf-misspelt", "warning")


def test_a_credential_passes_by_its_name_and_is_never_shown():
    given = {"spark.hadoop.fs.s3a.secret.key": SECRET}
    assert refusals(given, allowed=["spark.hadoop.fs.s3a.secret.key"]) == []


def test_a_variable_that_is_given_twice_has_one_value():
    given = {"spark.executorEnv.MODE": "fast"}
    assert refusals(given, environment={"MODE": "fast"}) == []
    (problem,) = refusals(given, environment={"MODE": "slow"})
    assert (problem.rule, problem.fix) == ("spark-conf-flag", "use --env MODE alone")


def test_a_secret_variable_is_told_under_its_own_name():
    (problem,) = refusals({"spark.executorEnv.DB_PASSWORD": "hunter2hunter2"})
    assert "--secret DB_PASSWORD=" in problem.fix


def test_all_problems_are_told_at_once():
    given = {row[0]: row[1] for row in ROWS}
    assert len(refusals(given)) >= len(given) - 2


@pytest.mark.parametrize(
    ("value", "wanted", "equal"),
    [
        ("True", "true", True),
        ("1", "1.0", True),
        ("5m", "300s", True),
        ("5min", "300s", True),
        ("300", "300s", False),
        ("1x", "1", False),
        ("", "1", False),
    ],
)
def test_two_values_are_the_same_where_spark_reads_the_same(value, wanted, equal):
    assert same(value, wanted) is equal
