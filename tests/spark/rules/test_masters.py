"""What each master can do, and what a misspelt one was meant to be."""

from __future__ import annotations

import pytest

from launchers.core.spark.conf import Executors
from launchers.spark.rules.masters import problems_in_master, problems_in_upload

TWO = Executors(2, 1)
ONE_OF_TWO = Executors(1, 2)
MASTERS = [
    ("spark://a:7077", TWO),
    ("spark://a:7077,b:7077", TWO),
    ("yarn", TWO),
    ("k8s://https://host:6443", TWO),
    ("local[2]", ONE_OF_TWO),
    ("local-cluster[2,1,1024]", TWO),
    ("local-cluster[1,2,2048]", TWO),
]


def found(master, mode="client", executors=TWO, conf=None):
    return problems_in_master(master, mode, executors, conf)


def rules(*words, **others):
    return [one.rule for one in found(*words, **others)]


@pytest.mark.parametrize(("master", "executors"), MASTERS)
def test_a_master_that_can_is_no_problem(master, executors):
    assert found(master, executors=executors) == []


@pytest.mark.parametrize("master", ["spark://a:7077", "local[4]", "local-cluster[2,1,1024]"])
def test_a_python_driver_runs_in_no_such_cluster(master):
    problems = found(master, "cluster", Executors(1, 1))
    assert [(one.rule, one.path) for one in problems] == [("spark-deploy-mode", "--deploy-mode")]
    assert "--deploy-mode client" in problems[0].fix


K8S, UPLOAD = "k8s://https://host:6443", "spark.kubernetes.file.upload.path"
PROGRAM = "/jobs/a/code/spark_driver.py"
UPLOADS = [
    (K8S, "cluster", {}, [PROGRAM], True),
    (K8S, "cluster", {UPLOAD: " "}, [PROGRAM], True),
    (K8S, "cluster", {}, ["s3a://b/spark_driver.py", "file:///jobs/a/code.tar.gz#code"], True),
    (K8S, "cluster", {}, ["local:///opt/spark_driver.py", "s3a://b/code.tar.gz#code"], False),
    (K8S, "cluster", {UPLOAD: "s3a://b/jobs"}, [PROGRAM], False),
    (K8S, "client", {}, [PROGRAM], False),
    ("yarn", "cluster", {}, [PROGRAM], False),
    ("kubernetes", "cluster", {}, [PROGRAM], False),
]


@pytest.mark.parametrize(("master", "mode", "conf", "files", "refused"), UPLOADS)
def test_files_of_this_machine_need_a_way_into_a_drivers_pod(master, mode, conf, files, refused):
    problems = problems_in_upload(master, mode, conf, files)
    named = [(one.rule, one.path) for one in problems]
    assert named == ([("spark-upload", f"--conf {UPLOAD}")] if refused else [])
    assert all(UPLOAD in one.fix for one in problems)


@pytest.mark.parametrize("master", ["yarn", "k8s://https://host:6443"])
def test_yarn_and_kubernetes_run_drivers(master):
    assert found(master, "cluster") == []


@pytest.mark.parametrize(
    ("master", "executors", "wanted", "way"),
    [
        ("local[2]", TWO, ["spark-local-executors"], "--instances 1 --processes 2"),
        ("local", ONE_OF_TWO, ["spark-local-threads"], "local[2]"),
        ("local[1]", ONE_OF_TWO, ["spark-local-threads"], "local[2]"),
        ("local[2]", Executors(1, 2, task_cpus=2), ["spark-local-threads"], "local[4]"),
        ("local[*]", ONE_OF_TWO, ["spark-local-cores"], "local[2]"),
        ("local[2,4]", ONE_OF_TWO, ["spark-retries"], "--master 'local[2]'"),
        ("local[2]", Executors(1, 2, gpus=2), ["spark-local-gpus"], "launch local --gpus"),
        ("local-cluster[2,1,1024]", Executors(2, 1, gpus=1), ["spark-local-gpus"], "launch local"),
        ("local-cluster[1,1,1024]", TWO, ["spark-workers"], "local-cluster[2,1,1024]"),
        ("local-cluster[2,1,512]", TWO, ["spark-workers"], "local-cluster[2,1,1024]"),
        ("local-cluster[2,1,1024]", Executors(2, 2), ["spark-workers"], "local-cluster[2,2,1024]"),
    ],
)
def test_a_master_that_is_too_small_is_refused_with_one_that_is_not(master, executors, wanted, way):
    problems = found(master, executors=executors)
    assert [one.rule for one in problems] == wanted
    assert way in problems[0].fix


def test_a_number_of_threads_that_nobody_knows_is_a_warning():
    assert [one.severity for one in found("local[*]", executors=ONE_OF_TWO)] == ["warning"]


@pytest.mark.parametrize(
    ("memory", "fits"), [("512m", True), ("1g", True), ("2g", False), ("", True), ("x", True)]
)
def test_the_memory_of_an_executor_counts(memory, fits):
    conf = {"spark.executor.memory": memory}
    assert (rules("local-cluster[2,1,1024]", conf=conf) == []) is fits


@pytest.mark.parametrize(
    ("master", "meant"),
    [
        ("host:7077", "spark://host:7077"),
        ("10.0.0.1:7077", "spark://10.0.0.1:7077"),
        ("spark://host", "spark://host:7077"),
        ("spark:/host:7078", "spark://host:7078"),
        ("spark://", "spark://HOST:7077"),
        ("spark://my_host:7078", "spark://HOST:7078 with another name or the IP address: Spark"),
        ("spark://my_host:7077", "takes no _"),
        ("http://my_host:8080", "takes no _"),
        ("spark://a.b.1:7077", "a letter first in the last part"),
        ("spark://a:7077,b", "each address with its port"),
        ("http://host:8080", "spark://host:7077"),
        ("https://host:6443", "k8s://https://host:6443"),
        ("k8s:https://host:6443", "k8s://https://host:6443"),
        ("kubernetes://host:6443", "k8s://https://host:6443"),
        ("k8s://", "k8s://https://HOST:6443"),
        ("YARN", "--master yarn"),
        ("yarn-client", "--master yarn --deploy-mode client"),
        ("yarn-cluster", "--master yarn --deploy-mode cluster"),
        ("local[4", "'local[4]'"),
        ("local4", "'local[4]'"),
        ("Local[*]", "'local[*]'"),
        ("local[0]", "'local[2]'"),
        ("local[1000000000000]", "'local[2]'"),
        ("local-cluster[2,1]", "local-cluster[WORKERS,CORES,MEBIBYTES]"),
        ("mesos://host:5050", "no Mesos"),
        ("sc://host", "Spark Connect"),
        ("databricks", "spark://HOST:7077"),
        ("", "spark://HOST:7077"),
        ("[" * 4000, "spark://HOST:7077"),
    ],
)
def test_a_misspelt_master_is_told_what_it_was_meant_to_be(master, meant):
    (problem,) = found(master)
    assert (problem.rule, problem.path) == ("spark-master", "--master")
    assert meant in problem.fix
    assert len(problem.found) < 100
