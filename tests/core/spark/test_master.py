"""Which cluster a --master names: read as Spark 3.5 reads it."""

from __future__ import annotations

import pytest

from launchers.core.spark.master import read_master


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("local", "local"),
        ("local[2]", "local"),
        ("local[*]", "local"),
        ("local[2, 3]", "local"),
        ("local-cluster[2,1,1024]", "local-cluster"),
        ("local-cluster[ 2 , 1 , 1024 ]", "local-cluster"),
        ("spark://host:7077", "standalone"),
        ("spark://a.example:7077,b.example:7078", "standalone"),
        ("spark://10.0.0.1:7077", "standalone"),
        ("spark://[::1]:7077", "standalone"),
        ("spark://1node:7077", "standalone"),
        ("spark://1node.2rack.a-b.x1:7077", "standalone"),
        ("yarn", "yarn"),
        ("k8s://https://host:6443", "kubernetes"),
        ("k8s://host", "kubernetes"),
        ("k8s://[::1]:6443", "kubernetes"),
        ("k8s://https://rancher.example/k8s/clusters/c-m-1", "kubernetes"),
    ],
)
def test_a_master_of_spark_is_read(text, kind):
    found = read_master(text)
    assert found is not None
    assert (found.kind, found.text) == (kind, text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " yarn",
        "Yarn",
        "yarn-client",
        "local[0]",
        "local[2,0]",
        "local[two]",
        "local[2",
        "local[" + "9" * 5000 + "]",
        "local-cluster[2,1]",
        "local-cluster[0,1,1024]",
        "spark://host",
        "spark://host:0",
        "spark://host:70777",
        "spark://host:7077,other",
        "spark://user@host:7077",
        "spark://my_host:7077",
        "spark://my_rack.example:7077",
        "spark://a.b.1:7077",
        "spark://node1.2b:7077",
        "spark://10.0.0.300:7077",
        "spark://a-.example:7077",
        "spark://a..b:7077",
        "spark://" + "a-" * 4000 + ":7077",
        "spark://host:7077/path",
        "host:7077",
        "mesos://host:5050",
        "k8s://",
        "k8s://host:70777",
        "k8s://https://host:0",
        "k8s://https://host:99999/path",
        "https://host:6443",
    ],
)
def test_another_text_is_none(text):
    assert read_master(text) is None


def test_the_numbers_of_a_master_are_known():
    assert (read_master("local").threads, read_master("local[4,3]").tries) == (1, 3)
    assert read_master("local[*]").threads is None
    cluster = read_master("local-cluster[3,2,512]")
    assert (cluster.workers, cluster.cores, cluster.memory) == (3, 2, 512)
