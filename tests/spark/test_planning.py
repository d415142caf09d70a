"""What a plan of `launch spark` decides: ranks, Spark, the Pythons, archives, where things go."""

from __future__ import annotations

import sys
import venv
from pathlib import Path

import pytest

from tests.cli.command import Launch
from tests.spark.requests import HOROVOD, MASTER, PLAIN, document, dry_run, refusal, spark_in

ENV = "spark.executorEnv."
TORCH = "import torch.distributed as dist\ndist.init_process_group('gloo')\n"


@pytest.mark.parametrize(
    ("words", "world_size", "cores"),
    [
        ([], "1", "1"),
        (["--instances", "2"], "2", "1"),
        (["--instances", "2", "--processes", "3"], "6", "3"),
        (["--gpus", "4", "--instances", "2"], "8", "4"),
        (["--processes", "2", "--conf", "spark.task.cpus=4"], "2", "8"),
    ],
)
def test_instances_are_executors_and_processes_their_ranks(
    launch: Launch, words: list[str], world_size: str, cores: str
):
    conf = document(launch, *words)["conf"]
    assert conf[f"{ENV}LAUNCH_WORLD_SIZE"] == world_size
    assert conf["spark.executor.cores"] == cores


def test_the_plan_says_the_world_size_first(launch: Launch):
    told = dry_run(launch, "--instances", "2", "--processes", "2").err.splitlines()
    assert told[1].split(None, 1)[1].startswith("2 executors x 2 ranks = world size 4")


def test_the_plan_says_all_that_decides_the_run(launch: Launch):
    words = ("--instances", "2", "--env", "A=b", "--max-runtime", "1h", "--limit", "slots=7m")
    told = dry_run(launch, *words, "--conf", "spark.executor.memory=2g", "--", "--epochs", "3").err
    for part in (
        MASTER,
        "a standalone cluster",
        "waited for 7m",
        "--epochs 3",
        "Python 3.",
        "Horovod 0.28.1",
        "python3, asked before any rank starts",
        "Spark 3.",
        "spark.executor.memory",
        "1h",
        "which every executor must see",
    ):
        assert part in told


def test_gpus_are_one_a_rank_on_both_sides(launch: Launch):
    conf = document(launch, "--gpus", "2")["conf"]
    assert conf["spark.executor.resource.gpu.amount"] == "2"
    assert conf["spark.task.resource.gpu.amount"] == "1"
    assert conf[f"{ENV}LAUNCH_PIN_GPU"] == "guard"
    assert "at most one rank a GPU" in refusal(launch, "--gpus", "1", "--processes", "2")
    assert "warning: --processes" in dry_run(launch, "--gpus", "2", "--processes", "1").err


def test_without_gpus_no_rank_gets_one(launch: Launch):
    answer = dry_run(launch)
    assert "none, ranks run on the CPU" in answer.err
    # Said all the same: else those of the cluster's spark-defaults.conf would count.
    for side in ("executor", "task"):
        assert answer.json["conf"][f"spark.{side}.resource.gpu.amount"] == "0"


@pytest.mark.parametrize(
    ("words", "slots", "start"),
    [([], "300", "120"), (["--limit", "slots=90s", "--limit", "start=5m"], "90", "300")],
)
def test_how_long_is_waited_reaches_the_driver(
    launch: Launch, words: list[str], slots: str, start: str
):
    conf = document(launch, *words)["conf"]
    assert (conf["spark.launch.slots.seconds"], conf["spark.launch.start.seconds"]) == (
        slots,
        start,
    )


# Where Spark is looked for.


def test_spark_is_that_of_the_flag_then_of_the_shell_then_of_the_drivers_python(
    launch: Launch, tmp_path: Path
):
    one, other = spark_in(tmp_path / "one"), spark_in(tmp_path / "other")
    assert document(launch, "--spark-home", one, SPARK_HOME=other)["spark_home"] == one
    assert document(launch, SPARK_HOME=other)["spark_home"] == other
    own = document(launch)["spark_home"]
    assert Path(own).name == "pyspark"
    assert Path(own).is_relative_to(sys.prefix)


def test_a_spark_submit_on_path_is_the_last_that_is_looked_at(launch: Launch, tmp_path: Path):
    venv.create(tmp_path / "bare", with_pip=False)
    home = spark_in(tmp_path / "spark")
    (Path(home) / "bin" / "spark-submit").chmod(0o755)
    bare = ("--python", str(tmp_path / "bare"), "--strategy", "torch")
    found = document(launch, *bare, script=TORCH, PATH=f"{home}/bin:/usr/bin:/bin")
    assert found["spark_home"] == home
    told = refusal(launch, *bare, script=TORCH, PATH="/usr/bin:/bin")
    assert "[spark-home]" in told
    assert "pip install 'pyspark" in told


def test_a_folder_that_is_no_spark_is_refused(launch: Launch, tmp_path: Path):
    assert "[spark-home]" in refusal(launch, "--spark-home", str(tmp_path))
    assert "$SPARK_HOME: " in refusal(launch, SPARK_HOME=str(tmp_path))


def test_torch_needs_a_spark_that_can_start_it(launch: Launch, tmp_path: Path):
    old, new = spark_in(tmp_path / "old", "3.3.4"), spark_in(tmp_path / "new", "3.4.0")
    assert "[spark-torch-version]" in refusal(launch, "--spark-home", old, script=TORCH)
    conf = document(launch, "--spark-home", new, "--instances", "2", script=TORCH)["conf"]
    assert conf[f"{ENV}LAUNCH_STRATEGY"] == "torch"
    assert conf["spark.scheduler.barrier.maxConcurrentTasksCheck.maxFailures"] == "3"


@pytest.mark.parametrize(
    "script",
    [
        "import tensorflow as tf\nstrategy = tf.distribute.MultiWorkerMirroredStrategy()\n",
        "import jax\njax.distributed.initialize()\n",
    ],
)
def test_another_strategy_than_horovod_and_torch_is_refused(launch: Launch, script: str):
    told = refusal(launch, "--instances", "2", script=script)
    assert "[strategy-provider]" in told
    assert "all that this provider starts" in told


# The two Pythons.


def test_a_driver_without_horovod_is_refused(launch: Launch, tmp_path: Path):
    venv.create(tmp_path / "bare", with_pip=False)
    home = spark_in(tmp_path / "spark")
    words = ("--python", str(tmp_path / "bare"), "--spark-home", home)
    assert "[spark-no-horovod]" in refusal(launch, *words)
    # Of what a script needs that is not there nobody knows.
    missing = launch("spark", "no.py", "--master", "local[2]", *words, "--dry-run")
    assert ("[script-missing]" in missing.err, "Horovod" in missing.err) == (True, False)
    # In cluster mode another machine's Python runs the driver.
    cluster = dry_run(launch, *words, "--deploy-mode", "cluster", master="yarn")
    assert "[spark-no-horovod]" not in cluster.err


@pytest.mark.parametrize(
    ("master", "words", "python"),
    [
        (MASTER, (), "python3"),
        (MASTER, ("--worker-python", "/opt/ml/bin/python"), "/opt/ml/bin/python"),
        (MASTER, ("--archive", "env.tgz"), "./environment/bin/python"),
        (MASTER, ("--archive", "env.tgz#data"), "python3"),
        (
            MASTER,
            ("--archive", "env.tgz", "--worker-python", "./environment/py"),
            "./environment/py",
        ),
        ("local[2]", (), sys.executable),
        ("local-cluster[1,1,1024]", (), sys.executable),
    ],
)
def test_the_ranks_python_is_the_flags_the_archives_or_the_workers(
    launch: Launch, master: str, words: tuple[str, ...], python: str
):
    launch.write("env.tgz", "")
    conf = document(launch, *words, master=master)["conf"]
    assert conf["spark.pyspark.python"] == conf["spark.launch.executable"] == python


def test_archives_travel_behind_the_source(launch: Launch):
    launch.write("env.tgz", "")
    words = ("--archive", "env.tgz", "--archive", "hdfs://nn/digits.zip#digits")
    found = document(launch, *words)
    assert found["archives"] == [
        f"{found['folder']}/code.tar.gz#launch_code",
        f"{launch.folder}/env.tgz#environment",
        "hdfs://nn/digits.zip#digits",
    ]


@pytest.mark.parametrize(
    ("archives", "master", "rule"),
    [
        (["absent.tgz"], MASTER, "spark-archive"),
        (["env.7z"], MASTER, "spark-archive"),
        (["env.tgz", "data.tgz"], MASTER, "spark-archive-name"),
        (["env.tgz#launch_code"], MASTER, "spark-archive-name"),
        (["env.tgz#a/b"], MASTER, "spark-archive-name"),
        (["a,b.tgz"], MASTER, "spark-path"),
        (["env.tgz"], "local[2]", "spark-archive-local"),
    ],
)
def test_an_archive_that_executors_could_not_unpack_is_refused(
    launch: Launch, archives: list[str], master: str, rule: str
):
    for name in ("env.tgz", "data.tgz", "env.7z", "a,b.tgz"):
        launch.write(name, "")
    words = [word for archive in archives for word in ("--archive", archive)]
    assert f"[{rule}]" in refusal(launch, *words, master=master)


# What Spark has no way to do.


def test_requirements_are_refused_with_the_way_that_there_is(launch: Launch):
    launch.write("requirements.txt", "six\n")
    told = refusal(launch, "--requirements", "requirements.txt")
    assert "[spark-requirements]" in told
    assert "--archive env.tgz" in told
    assert "requirements.txt was found" in dry_run(launch).err


def test_a_hang_that_nobody_would_see_is_not_promised(launch: Launch):
    told = refusal(launch, "--hang-after", "10m")
    assert "[spark-hangs]" in told
    assert "--max-runtime" in told


def test_an_image_is_for_kubernetes(launch: Launch):
    image = ("--image", "registry.example/spark:1")
    assert "[spark-image-place]" in refusal(launch, *image)
    conf = document(launch, *image, master="k8s://https://127.0.0.1:6443")["conf"]
    assert conf["spark.kubernetes.container.image"] == "registry.example/spark:1"


def test_an_image_of_a_file_for_other_providers_stops_nothing(launch: Launch):
    launch.write("launch.yaml", "image: registry.example/horovod:1\n")
    document(launch)


def test_a_job_needs_a_master(launch: Launch):
    launch.write("train.py", HOROVOD)
    none = launch("spark", "train.py", "--dry-run")
    assert (none.code, "[spark-master]" in none.err) == (2, True)
    assert "[spark-master]" in refusal(launch, master="sparky://host")
    variable = launch("spark", "train.py", "--dry-run", LAUNCH_SPARK_MASTER="local[2]")
    assert (variable.code, variable.json["master"]) == (0, "local[2]")


def test_a_job_needs_a_script(launch: Launch):
    answer = launch("spark", "--master", "local[2]", "--dry-run")
    assert (answer.code, "[script-missing]" in answer.err) == (2, True)


# Where things go.


def test_output_and_checkpoints_go_where_they_are_told(launch: Launch, tmp_path: Path):
    out = tmp_path / "out"
    found = document(launch, "--output-path", str(out), "--checkpoint", "ckpt")
    assert found["folder"] == str(out / found["name"])
    assert found["conf"][f"{ENV}LAUNCH_CHECKPOINT_DIR"] == str(launch.folder / "ckpt")
    assert found["conf"][f"{ENV}LAUNCH_MODEL_DIR"] == f"{found['folder']}/model"
    assert found["conf"]["spark.launch.result"] == f"{found['folder']}/driver-result.json"
    assert not out.exists()


def test_a_url_is_a_place_for_checkpoints_and_none_for_the_jobs_files(launch: Launch):
    conf = document(launch, "--checkpoint", "gs://bucket/c")["conf"]
    assert conf[f"{ENV}LAUNCH_CHECKPOINT_DIR"] == "gs://bucket/c"
    assert "[spark-output]" in refusal(launch, "--output-path", "hdfs://nn/jobs")
    assert "[spark-path]" in refusal(launch, "--output-path", "my jobs")


def test_executors_elsewhere_are_said_to_need_the_folder(launch: Launch, tmp_path: Path):
    elsewhere = "spark://cluster.example:7077"
    assert "[spark-place]" in dry_run(launch, master=elsewhere).err
    out = ("--output-path", str(tmp_path))
    assert "[spark-place]" not in dry_run(launch, *out, master=elsewhere).err
    assert "[spark-place]" not in dry_run(launch).err
    assert "must see" not in dry_run(launch, master="local[2]").err


# What must not stand in a document.


@pytest.mark.parametrize(
    "words",
    [
        ("--env", "DB_PASSWORD=hunter2hunter2x"),
        ("--conf", "spark.hadoop.fs.s3a.secret.key=hunter2hunter2x"),
        ("--", "--password=hunter2hunter2x"),
    ],
)
def test_a_credential_in_a_job_is_refused(launch: Launch, words: tuple[str, ...]):
    told = refusal(launch, *words)
    assert "looks like a" in told
    assert "--allow-value" in told
    assert "hunter2hunter2x" not in told


def test_secrets_go_by_reference_and_are_resolved_on_the_executors(launch: Launch):
    words = ("--secret", "KEY=file:/run/secrets/key", "--secret", "TOKEN=env:TOKEN")
    answer = dry_run(launch, *words)
    assert "by reference" in answer.err
    held = answer.json["conf"][f"{ENV}LAUNCH_SECRETS"]
    assert held == '{"KEY": "file:/run/secrets/key", "TOKEN": "env:TOKEN"}'
    assert "[secret-reference]" in refusal(launch, "--secret", "KEY=hunter2")


def test_a_module_runs_as_python_runs_it(launch: Launch):
    launch.write("trainer/__init__.py", "")
    launch.write("trainer/task.py", PLAIN)
    words = ("spark", "-m", "trainer.task", "--master", MASTER, "--dry-run", "--", "--epochs", "3")
    found = launch(*words, SPARK_HOME="").json
    assert found["arguments"] == ["-m", "trainer.task", "--epochs", "3"]


def test_keys_of_the_file_are_the_flags(launch: Launch):
    launch.write("env.tgz", "")
    launch.write(
        "launch.yaml",
        "script: train.py\ninstances: 2\nspark:\n  master: spark://127.0.0.1:7077\n"
        "  archives: [env.tgz]\n  conf:\n    spark.executor.memory: 2g\n  limits: {slots: 1m}\n",
    )
    launch.write("train.py", HOROVOD)
    found = launch("spark", "--dry-run", SPARK_HOME="").json
    assert found["conf"]["spark.executor.memory"] == "2g"
    assert found["conf"]["spark.launch.slots.seconds"] == "60"
    assert found["archives"][1].endswith("env.tgz#environment")
