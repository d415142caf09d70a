"""What the containers of a rehearsed job on Spark see, and what its document becomes for them."""

from __future__ import annotations

import copy
import json
import socket
import subprocess
import sys
import tarfile
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from launchers.core.model.containers import Container
from launchers.core.model.jobs import JobDefinition
from launchers.core.records.nonce import PLACEHOLDER
from launchers.spark import container_start
from launchers.spark.contract import conduct, contract, is_guarded, unlike
from launchers.spark.document import submit_words
from launchers.spark.launcher import SPARK
from tests.refusals import refused

FOLDER = "/data/jobs/train-1"
ENVIRONMENT = {
    "LAUNCH_WORLD_SIZE": "4",
    "LAUNCH_INSTANCES": "2",
    "LAUNCH_PROCESSES": "2",
    "LAUNCH_PROOF": "exchange",
    "LAUNCH_CHECKPOINT_DIR": f"{FOLDER}/checkpoints",
    "LAUNCH_MODEL_DIR": f"{FOLDER}/model",
}


def request(
    master: str = "spark://cluster:7077",
    conf: Mapping[str, str] | None = None,
    environment: Mapping[str, str] | None = None,
    **changed: Any,
) -> dict[str, Any]:
    """A document of two executors with two ranks each."""
    ranks = {**ENVIRONMENT, **(environment or {})}
    properties = {
        "spark.cores.max": "4",
        "spark.executor.cores": "2",
        "spark.pyspark.driver.python": "/home/me/venv/bin/python",
        "spark.pyspark.python": "python3",
        "spark.launch.executable": "python3",
        "spark.task.cpus": "1",
        **{f"spark.executorEnv.{name}": value for name, value in ranks.items()},
    }
    return {
        "kind": "launch/spark",
        "name": "train-1",
        "master": master,
        "deploy_mode": "client",
        "conf": dict(sorted({**properties, **(conf or {})}.items())),
        "files": [],
        "archives": [f"{FOLDER}/code.tar.gz#launch_code"],
        "application": f"{FOLDER}/code/spark_driver.py",
        "arguments": ["train.py", "--epochs", "3"],
        "environment": {"LAUNCH_NONCE": PLACEHOLDER},
        "driver_python": "/home/me/venv/bin/python",
        "spark_home": "/home/me/venv/lib/pyspark",
        "max_runtime_seconds": 600,
        "folder": FOLDER,
        **changed,
    }


def words_of(driver: Container) -> list[str]:
    """What the driver's container runs once it has begun."""
    return list(driver.command[driver.command.index("--") + 1 :])


def conf_of(driver: Container) -> dict[str, str]:
    """The properties that spark-submit gets."""
    words = words_of(driver)
    given = [after for word, after in pairwise(words) if word == "--conf"]
    return dict(text.split("=", 1) for text in given)


def test_a_driver_leads_a_master_serves_and_every_executor_has_a_worker_of_its_own() -> None:
    driver, master, *workers = contract(request())
    assert [one.name for one in (driver, master, *workers)] == [
        *("driver", "master", "worker-1", "worker-2")
    ]
    assert [one.leader for one in (driver, master, *workers)] == [True, False, False, False]
    assert (driver.ranks, master.ranks) == ((), ())
    assert [one.ranks for one in workers] == [(0, 1), (2, 3)]
    assert driver.code == f"{FOLDER}/code.tar.gz"
    assert not any(one.image or one.code for one in (master, *workers))
    for worker in workers:
        assert "--cores 2 " in " ".join(worker.command), "one executor fits, and no second"
        assert worker.shared == driver.shared == (FOLDER,)
    assert driver.environment == {"LAUNCH_NONCE": PLACEHOLDER}
    assert not any(one.environment for one in (master, *workers))
    assert driver.collected == {"model": f"{FOLDER}/model"}


def test_the_drivers_words_are_the_documents_but_for_master_and_places() -> None:
    document = request()
    before = copy.deepcopy(document)
    found = words_of(contract(document)[0])
    changed = {
        "/home/me/venv/lib/pyspark/bin/spark-submit": "spark-submit",
        "spark://cluster:7077": "spark://master:7077",
        "spark.pyspark.driver.python=/home/me/venv/bin/python": (
            "spark.pyspark.driver.python=python3"
        ),
    }
    assert found == [changed.get(word, word) for word in submit_words(document)]
    assert document == before
    ways = conduct(document)
    assert ways.substituted == (
        "master spark://master:7077, with 2 workers in containers, instead of spark://cluster:7077",
        "spark.pyspark.driver.python: the image's python3 instead of /home/me/venv/bin/python",
        "spark_home: the image's Spark instead of /home/me/venv/lib/pyspark",
    )
    assert (ways.unlike, ways.max_runtime, ways.recipe) == ((), 600, "spark")
    assert ways.ranks_environment == ENVIRONMENT


@pytest.mark.parametrize(
    ("master", "prefix", "said"),
    [
        ("yarn", "spark.yarn.appMasterEnv.", "YARN's queues"),
        ("k8s://https://api:6443", "spark.kubernetes.driverEnv.", "pods, their image"),
    ],
)
def test_other_clusters_are_rehearsed_by_standalone_workers_which_is_said(
    master: str, prefix: str, said: str
) -> None:
    conf = {f"{prefix}LAUNCH_NONCE": PLACEHOLDER, "spark.executor.instances": "2"}
    document = request(master, conf, environment=None, deploy_mode="cluster")
    document["environment"] = {}
    del document["conf"]["spark.cores.max"]
    driver, *others = contract(document)
    assert len(others) == 3
    assert driver.environment == {"LAUNCH_NONCE": PLACEHOLDER}
    assert f"{prefix}LAUNCH_NONCE" not in conf_of(driver)
    assert conf_of(driver)["spark.cores.max"] == "4", "a standalone master counts cores"
    words = " ".join(words_of(driver))
    assert "--master spark://master:7077 --deploy-mode client " in words
    ways = conduct(document)
    assert "the driver runs in a container of its own, not in the cluster" in ways.substituted
    assert "spark.cores.max=4: a standalone master counts cores" in ways.substituted
    (text,) = ways.unlike
    assert text.startswith("standalone workers run the executors; ")
    assert said in text


def test_spark_in_one_process_is_one_container_which_has_the_ranks() -> None:
    document = request("local[4]", environment={"LAUNCH_INSTANCES": "1", "LAUNCH_PROCESSES": "4"})
    (driver,) = contract(document)
    assert (driver.ranks, driver.leader) == ((0, 1, 2, 3), True)
    assert "--await" not in driver.command
    assert "local[4]" in driver.command
    assert not any(text.startswith("master") for text in conduct(document).substituted)


def test_fewer_ranks_an_executor_change_size_and_slots_alike() -> None:
    driver, _, *workers = contract(request(), ranks_per_host=1)
    assert [one.ranks for one in workers] == [(0,), (1,)]
    assert all("--cores 1 " in " ".join(one.command) for one in workers)
    conf = conf_of(driver)
    assert (conf["spark.cores.max"], conf["spark.executor.cores"]) == ("2", "1")
    assert conf["spark.executorEnv.LAUNCH_WORLD_SIZE"] == "2"
    assert conf["spark.executorEnv.LAUNCH_PROCESSES"] == "1"
    ranks = {"LAUNCH_INSTANCES": "1", "LAUNCH_PROCESSES": "4"}
    (alone,) = contract(request("local[4]", environment=ranks), ranks_per_host=2)
    assert "local[2]" in alone.command


def test_workers_offer_the_gpus_that_executors_ask_for() -> None:
    conf = {
        "spark.executor.resource.gpu.amount": "2",
        "spark.task.resource.gpu.amount": "1",
    }
    driver, master, worker, _ = contract(request(conf=conf))
    assert (driver.gpus, master.gpus, worker.gpus) == (0, 0, 2)
    assert b"spark.worker.resource.gpu.amount 2\n" in worker.files["/launch/worker.conf"]
    (offered,) = json.loads(worker.files["/launch/gpus.json"])
    assert offered["addresses"] == ["0", "1"]
    assert "--properties-file /launch/worker.conf" in " ".join(worker.command)


def test_an_environment_of_the_job_is_kept_and_a_path_of_other_machines_is_not(
    tmp_path: Path,
) -> None:
    packed = tmp_path / "env.tgz"
    packed.write_bytes(b"")
    own = "./environment/bin/python"
    document = request(conf={"spark.pyspark.python": own, "spark.launch.executable": own})
    document["archives"].append(f"{packed}#environment")
    driver = contract(document)[0]
    assert driver.mounts == {str(packed): str(packed)}
    assert conf_of(driver)["spark.launch.executable"] == own
    theirs = request(conf={"spark.pyspark.python": "/opt/conda/bin/python"})
    assert conf_of(contract(theirs)[0])["spark.pyspark.python"] == "python3"
    told = "spark.pyspark.python: the image's python3 instead of /opt/conda/bin/python"
    assert told in conduct(theirs).substituted


def test_a_driver_of_the_cluster_has_the_images_python_where_executors_have_an_archives() -> None:
    own = "./environment/bin/python"
    document = request("yarn", {"spark.pyspark.python": own}, deploy_mode="cluster")
    del document["conf"]["spark.pyspark.driver.python"]
    conf = conf_of(contract(document)[0])
    assert (conf["spark.pyspark.driver.python"], conf["spark.pyspark.python"]) == ("python3", own)
    told = f"spark.pyspark.driver.python: the image's python3 instead of {own}"
    assert told in conduct(document).substituted


@pytest.mark.parametrize("place", ["hdfs://name/env.tgz", "/no/such/env.tgz"])
def test_an_archive_that_is_not_here_is_refused(place: str) -> None:
    document = request()
    document["archives"].append(f"{place}#environment")
    with refused("spark-rehearsal-file", place):
        contract(document)


def test_checkpoints_apart_from_the_jobs_folder_are_shared_too() -> None:
    document = request(environment={"LAUNCH_CHECKPOINT_DIR": "/mnt/checkpoints"})
    driver, _, worker, _ = contract(document)
    assert driver.shared == worker.shared == (FOLDER, "/mnt/checkpoints")


def test_a_job_that_starts_another_driver_is_not_rehearsed() -> None:
    document = request(application="/data/etl.py")
    definition = JobDefinition("spark", "etl", 2, "{}\n", document)
    assert SPARK.contract is not None
    assert not SPARK.contract.is_guarded(definition)
    assert "spark_driver.py" in SPARK.contract.unlike(definition)
    assert (is_guarded(request()), unlike(request())) == (True, "")


def test_a_container_unpacks_the_code_awaits_the_master_and_becomes_its_program(
    tmp_path: Path,
) -> None:
    (tmp_path / "agent.py").write_text("code")
    with tarfile.open(tmp_path / "code.tar.gz", "w:gz") as packed:
        packed.add(tmp_path / "agent.py", "agent.py")
    with socket.create_server(("127.0.0.1", 0)) as master:
        address = f"127.0.0.1:{master.getsockname()[1]}"
        done = subprocess.run(
            [
                *(sys.executable, container_start.__file__, "--await", address),
                *("--unpack", str(tmp_path / "code.tar.gz"), str(tmp_path / "code")),
                *("--", sys.executable, "-c", "import sys; print(sys.argv[1:])", "--", "a"),
            ],
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
    assert done.stdout == "['--', 'a']\n"
    assert (tmp_path / "code" / "agent.py").read_text() == "code"
