"""The document of `launch spark` and the spark-submit line that is the same; which job it is."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

from launchers.core.model.jobs import JobDefinition
from launchers.core.records.nonce import PLACEHOLDER, filled
from launchers.core.source.script import read_source
from launchers.core.spec.job import JobSpec
from launchers.spark.document import secret_conf, submit_environment, submit_words
from tests.cli.command import Answer, Launch
from tests.places import ROOT
from tests.spark.requests import HOROVOD, MASTER, document, dry_run

KEYS = [
    "kind",
    "name",
    "master",
    "deploy_mode",
    "conf",
    "files",
    "archives",
    "application",
    "arguments",
    "environment",
    "driver_python",
    "spark_home",
    "max_runtime_seconds",
    "folder",
]
# What no dry run needs.
HEAVY = {
    "pyspark",
    "py4j",
    "horovod",
    "tensorflow",
    "boto3",
    "google.auth",
    "docker",
    "http.client",
}
_LINE = re.compile(r"^  the same  (.*)$", re.MULTILINE)


def line_of(answer: Answer) -> list[str]:
    found = _LINE.search(answer.err)
    assert found is not None, answer.err
    return shlex.split(found[1])


def test_the_document_is_a_request_of_spark_submit(launch: Launch):
    found = document(launch, "--instances", "2", "--max-runtime", "2h", "--", "--epochs", "3")
    assert list(found) == KEYS
    assert list(found["conf"]) == sorted(found["conf"])
    assert found["application"] == f"{found['folder']}/code/spark_driver.py"
    assert found["arguments"] == ["train.py", "--epochs", "3"]
    assert found["max_runtime_seconds"] == 7200


def test_the_line_says_what_the_document_says(launch: Launch):
    launch.write("env.tgz", "")
    words = ("--archive", "env.tgz", "--env", "NOTE=a b $c 'd'", "--", "--name", "it's $HOME")
    answer = dry_run(launch, *words)
    found, line = answer.json, line_of(answer)
    program = next(at for at, word in enumerate(line) if word.endswith("/bin/spark-submit"))
    assert dict(word.split("=", 1) for word in line[:program]) == submit_environment(found)
    assert line[program:] == submit_words(found)
    pairs = [line[at + 1] for at, word in enumerate(line) if word == "--conf"]
    assert dict(pair.split("=", 1) for pair in pairs) == found["conf"]
    assert line[line.index("--archives") + 1].split(",") == found["archives"]
    at = line.index(found["application"])
    assert line[at + 1 :] == found["arguments"]
    for flag, key in (("--master", "master"), ("--deploy-mode", "deploy_mode"), ("--name", "name")):
        assert line[line.index(flag) + 1] == found[key]


def test_yaml_is_the_same_document(launch: Launch):
    import yaml

    answer = dry_run(launch, "--format", "yaml")
    assert yaml.safe_load(answer.out) == document(launch)


def test_the_same_request_is_the_same_bytes(launch: Launch):
    words = ("--instances", "2", "--conf", "spark.executor.memory=2g")
    assert dry_run(launch, *words).out == dry_run(launch, *words).out


def test_the_nonce_stands_in_no_property_of_a_driver_here(launch: Launch):
    found = document(launch)
    assert found["environment"] == {"LAUNCH_NONCE": PLACEHOLDER}
    assert secret_conf(found) == {}
    assert PLACEHOLDER not in json.dumps(found["conf"])


def test_the_nonce_of_a_driver_in_the_cluster_is_filled_and_on_no_command_line(launch: Launch):
    words = ("--deploy-mode", "cluster", "--output-path", str(launch.folder))
    answer = dry_run(launch, *words, master="yarn")
    assert answer.code == 0, answer.err
    assert answer.json["environment"] == {}
    place = "spark.yarn.appMasterEnv.LAUNCH_NONCE"
    assert f'$.conf["{place}"]' in answer.err
    text = json.dumps(answer.json)
    nonce = "0123456789abcdef" * 2
    sent = filled(JobDefinition("spark", "job-1", 1, text, answer.json), nonce).document
    assert secret_conf(sent) == {place: nonce}
    words = submit_words(sent, properties="/jobs/spark.conf")
    assert nonce not in " ".join(words)
    assert words[words.index("--properties-file") + 1] == "/jobs/spark.conf"


def digest(launch: Launch, *words: str, **said: Any) -> str:
    return document(launch, *words, **said)["name"].rsplit("-", 2)[1]


def test_the_digest_is_that_of_request_and_source(launch: Launch, tmp_path: Path):
    first = digest(launch)
    assert digest(launch) == digest(launch, "--name", "other") == first
    assert digest(launch, "--output-path", str(tmp_path)) == first
    assert digest(launch, "--checkpoint", str(tmp_path)) == first
    assert digest(launch, "--env", "A=b") != first
    assert digest(launch, "--instances", "2") != first
    assert digest(launch, "--conf", "spark.executor.memory=2g") != first
    assert digest(launch, master="local[2]") != first
    launch.write("helper.py", "x = 1\n")
    assert digest(launch) != first


def test_the_bundle_brings_the_driver_program(tmp_path: Path):
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "train.py").write_text(HOROVOD)
    bundle = read_source(JobSpec(script=str(tmp_path / "src" / "train.py"))).bundle
    bundle.write_tar_gz(tmp_path / "code.tar.gz")
    with tarfile.open(tmp_path / "code.tar.gz") as archive:
        names = archive.getnames()
    assert {"spark_driver.py", "agent.py", "guard.py", "src/train.py"} <= {*names}
    assert "launch_runtime/spark/driver.py" in names


def test_a_dry_run_imports_no_spark_and_no_sdk(launch: Launch):
    launch.write("train.py", HOROVOD)
    program = (
        "import sys; from launchers.cli.main import main\n"
        "try:\n    main()\nexcept SystemExit as end:\n    print(end.code, file=sys.stderr)\n"
        f"print(sorted({HEAVY} & {{*sys.modules}}), file=sys.stderr)\n"
    )
    words = ("spark", "train.py", "--master", MASTER, "--instances", "2", "--dry-run")
    done = subprocess.run(
        [sys.executable, "-c", program, *words],
        cwd=launch.folder,
        env=launch.environment({"PYTHONPATH": str(ROOT)}),
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert json.loads(done.stdout)["kind"] == "launch/spark"
    assert done.stderr.splitlines()[-1] == "[]"
