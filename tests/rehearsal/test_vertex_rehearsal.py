"""A CustomJob in containers: the bootstrap, the agent and Horovod over Gloo; no ssh, no cloud."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from launchers.core.model.document import document_text
from launchers.core.model.jobs import FAILED, NOT_PROVEN, SUCCEEDED, JobDefinition
from launchers.core.model.problems import LaunchError
from launchers.core.paths import entrypoints_folder
from launchers.core.proof import NO_NONCE
from launchers.core.source.bundle import SourceBundle, scan
from launchers.rehearsal.course.outcome import RehearsalResult
from launchers.rehearsal.engine.workplace import MEMORY
from launchers.rehearsal.options import RehearsalOptions
from launchers.rehearsal.run import rehearse
from launchers.vertex.document import bootstrap, words
from launchers.vertex.launcher import VERTEX
from tests.fakes.vertex_service import VertexService
from tests.keras_2 import KERAS_2
from tests.rehearsal.boxes import Heard, things_of
from tests.rehearsal.requests import RESUMES

pytestmark = [pytest.mark.docker, pytest.mark.horovod, pytest.mark.timeout(300)]

INIT = (
    KERAS_2
    + "import os, sys\nimport tensorflow as tf\nimport horovod.tensorflow as hvd\nhvd.init()\n"
)
# Tells what a rank sees, and leaves a model where the service would look for it.
TELLS = (
    INIT
    + """
import json, socket
total = float(hvd.allreduce(tf.constant([10.0 ** hvd.rank()]), op=hvd.Sum)[0])
names = ("DOLLAR", "REFERS", "TF_CONFIG", "RANK", "AIP_MODEL_DIR", "LAUNCH_CHECKPOINT_DIR")
seen = {"sum": total, "argv": sys.argv[1:], "hostname": socket.gethostname()}
seen["environment"] = {name: os.environ.get(name) for name in names}
print("seen", json.dumps(seen))
folder = os.environ["AIP_MODEL_DIR"].replace("gs://", "/gcs/")
os.makedirs(folder, exist_ok=True)
open(os.path.join(folder, f"of-rank-{hvd.rank()}"), "w").close()
"""
)


@pytest.fixture
def google() -> Iterator[VertexService]:
    """Google Cloud on loopback."""
    with VertexService() as service:
        yield service


def custom_job(
    image: str,
    container: Mapping[str, Any],
    instances: int = 2,
    environment: Sequence[tuple[str, str]] = (),
) -> dict[str, Any]:
    """A CustomJob of one rank a replica, as the client's JSON has it."""
    ranks = [
        ("LAUNCH_JOB", "rehearsed"),
        ("LAUNCH_WORLD_SIZE", str(instances)),
        ("LAUNCH_INSTANCES", str(instances)),
        ("LAUNCH_PROCESSES", "1"),
        ("LAUNCH_PIN_GPU", "none"),
        ("LAUNCH_CHECKPOINT_DIR", "/gcs/my-bucket/launch/checkpoints/rehearsed"),
    ]
    variables = [{"name": name, "value": value} for name, value in [*ranks, *environment]]
    pool = {
        "machineSpec": {"machineType": "n1-standard-4"},
        "replicaCount": "1",
        "containerSpec": {"imageUri": image, "env": variables, **container},
    }
    pools = [pool, {**pool, "replicaCount": str(instances - 1)}][:instances]
    return {
        "displayName": "rehearsed-1",
        "jobSpec": {
            "workerPoolSpecs": pools,
            "scheduling": {"timeout": "3600s", "restartJobOnWorkerRestart": instances > 1},
            "baseOutputDirectory": {"outputUriPrefix": "gs://my-bucket/launch/output/rehearsed"},
        },
    }


def bundle(folder: Path, script: str, requirements: str = "") -> SourceBundle:
    source = folder / "source"
    source.mkdir(exist_ok=True)
    (source / "train.py").write_text(script)
    file = folder / "requirements.txt"
    file.write_text(requirements)
    return scan(source, entrypoints_folder(), file if requirements else None)


def ours(code: SourceBundle, *arguments: str) -> dict[str, Any]:
    """The container of our own documents."""
    place = f"/gcs/my-bucket/launch/code/{code.sha256}/sourcedir.tar.gz"
    return {
        "command": ["python3", "-c", bootstrap()],
        "args": [place, code.sha256, words(["train.py"], arguments)],
    }


def run(
    document: dict[str, Any],
    code: SourceBundle | None,
    heard: Heard | None = None,
    world_size: int = 2,
    **options: Any,
) -> RehearsalResult:
    text = document_text(document)
    definition = JobDefinition("vertex", "rehearsed-1", world_size, text, document)
    return rehearse(
        VERTEX.contract, definition, code, RehearsalOptions(**options), heard or Heard()
    )


def test_a_job_of_two_replicas_is_proven(
    home: Path, tmp_path: Path, toolkit_image: str, client: Any
) -> None:
    arguments = ["--name", "a 'b' \"c\"", "$(HOME)", "two\nlines", "ü"]
    code = bundle(tmp_path, TELLS)
    environment = [("DOLLAR", "$$(HOME) $5"), ("REFERS", "$(LAUNCH_JOB)-$(NOBODY)")]
    document = custom_job(toolkit_image, ours(code, *arguments), environment=environment)
    document["jobSpec"]["workerPoolSpecs"].append(
        {"replicaCount": "2", "containerSpec": {"imageUri": "reductionserver:latest"}}
    )
    heard = Heard()
    result = run(document, code, heard)
    assert (result.state, result.reason) == (SUCCEEDED, ""), heard.lines
    proof = "world size 2: 2 hosts x 1 rank, Gloo; no training seen"
    assert result.proof == f"{proof} ({NO_NONCE})"
    seen = [json.loads(line.text[5:]) for line in heard.lines if line.text.startswith("seen ")]
    assert len(seen) == 2
    for rank in seen:
        assert (rank["sum"], rank["argv"]) == (11.0, arguments)
        assert rank["environment"] == {
            "DOLLAR": "$(HOME) $5",
            "REFERS": "rehearsed-$(NOBODY)",
            "TF_CONFIG": None,
            "RANK": None,
            "AIP_MODEL_DIR": "gs://my-bucket/launch/output/rehearsed/model/",
            "LAUNCH_CHECKPOINT_DIR": "/gcs/my-bucket/launch/checkpoints/rehearsed",
        }
        assert not rank["hostname"].startswith("cmle-training")
    (model,) = [path for name, path in result.collected.items() if name.startswith("model")]
    assert {path.name for path in model.iterdir()} == {"of-rank-0", "of-rank-1"}
    assert any("2 replicas of pool 2" in text for text in result.deviations)
    assert {line.host for line in heard.lines} >= {"workerpool0-0", "workerpool1-0"}
    assert things_of(client, "rehearsed-1") == []
    assert not client.api.volumes(filters={"label": "launch.rehearsal.job=rehearsed-1"})["Volumes"]


def test_a_rank_that_fails_on_the_other_replica_fails_the_job(
    home: Path, tmp_path: Path, toolkit_image: str
) -> None:
    code = bundle(tmp_path, INIT + "if hvd.rank() == 1: sys.exit(3)\nimport time\ntime.sleep(999)")
    result = run(custom_job(toolkit_image, ours(code)), code)
    assert result.state == FAILED
    assert result.failure is not None
    assert (result.failure["rank"], result.failure["host"]) == (1, "workerpool1-0")
    assert "the script called sys.exit(3)" in result.reason


def test_another_bundle_than_the_documents_is_refused_by_every_replica(
    home: Path, tmp_path: Path, toolkit_image: str
) -> None:
    code = bundle(tmp_path, INIT)
    container = ours(code)
    container["args"][1] = "0" * 64
    result = run(custom_job(toolkit_image, container), code)
    assert result.state == FAILED
    assert f"the hash is {code.sha256}, expected {'0' * 64}" in result.reason


def test_a_document_alone_runs_with_a_source_that_is_named(
    home: Path, tmp_path: Path, toolkit_image: str
) -> None:
    code = bundle(tmp_path, INIT)
    document = custom_job(toolkit_image, ours(code))
    (tmp_path / "source" / "train.py").write_text(INIT + "print('changed since')\n")
    heard = Heard()
    result = run(document, None, heard, source=str(tmp_path / "source"))
    assert (result.state, result.reason) == (SUCCEEDED, ""), heard.lines
    assert [line.rank for line in heard.lines if line.text == "changed since"]
    assert any("another than the bundle whose hash" in text for text in result.deviations)


def test_requirements_are_installed_once_a_replica(
    home: Path, tmp_path: Path, toolkit_image: str
) -> None:
    (tmp_path / "source").mkdir()
    wheel(tmp_path / "source")
    script = INIT + "import made_up\nprint('has', made_up.WORD)\n"
    code = bundle(tmp_path, script, "--no-index\n--find-links ./src\nmade-up\n")
    heard = Heard()
    result = run(custom_job(toolkit_image, ours(code)), code, heard)
    assert (result.state, result.reason) == (SUCCEEDED, ""), heard.lines
    installed = [line for line in heard.lines if "installed made-up 1.0" in line.text]
    assert {line.host for line in installed} == {"workerpool0-0", "workerpool1-0"}
    assert {line.rank for line in heard.lines if line.text == "has made up"} == {0, 1}


def test_an_interruption_goes_on_from_the_checkpoint_in_the_bucket(
    home: Path, tmp_path: Path, toolkit_image: str
) -> None:
    script = RESUMES.replace("path =", 'os.makedirs(os.environ["LAUNCH_CHECKPOINT_DIR"], '
                             "exist_ok=True)\npath =", 1)  # fmt: skip
    code = bundle(tmp_path, script)
    result = run(custom_job(toolkit_image, ours(code)), code, interrupt_after=2)
    assert (result.state, result.reason) == (SUCCEEDED, "")
    first, second = result.restarts
    assert "SIGTERM was seen: workerpool" in first
    assert second == "after the interruption: went on from epoch 4/6, reached epoch 6/6, step 1/1"


def test_a_crash_that_counts_as_transient_runs_the_whole_job_again(
    home: Path, tmp_path: Path, toolkit_image: str
) -> None:
    script = (
        INIT
        + """
import signal, time
folder = os.environ["LAUNCH_CHECKPOINT_DIR"]
again = os.path.exists(folder)
hvd.allreduce(tf.constant([0.0]), name="all have looked")
if not again and hvd.rank() == 1:
    os.makedirs(folder)
    os.kill(os.getpid(), signal.SIGSEGV)
while not again:
    time.sleep(0.1)
print("the second time")
"""
    )
    code, heard = bundle(tmp_path, script), Heard()
    result = run(custom_job(toolkit_image, ours(code)), code, heard)
    assert (result.state, result.reason) == (SUCCEEDED, ""), heard.lines
    (told,) = result.restarts
    assert told == (
        "workerpool0-0 ended with code 139 (SIGSEGV), which the service takes for a passing "
        "fault: it runs the whole job again (1 of 3 times at most)"
    )
    assert {line.rank for line in heard.lines if line.text == "the second time"} == {0, 1}


def test_a_replica_that_is_gone_without_the_primary_ones_notice_ends_the_rehearsal(
    home: Path, tmp_path: Path, toolkit_image: str
) -> None:
    script = "import os, sys, time\nsys.exit(3) if os.environ['RANK'] == '1' else time.sleep(999)"
    result = run(foreign(toolkit_image, "python3", "-c", script, instances=2), None)
    assert result.state == FAILED
    assert "workerpool1-0 ended with code 3, and the service would start the whole job" in (
        result.reason
    )


TOKEN = """
import hashlib, json, os, urllib.request
host = os.environ.get("GCE_METADATA_HOST", "metadata.google.internal")
address = f"http://{host}/computeMetadata/v1/instance/service-accounts/default/token"
asked = urllib.request.Request(address, headers={"Metadata-Flavor": "Google"})
try:
    token = json.load(urllib.request.urlopen(asked, timeout=20))["access_token"]
    print("token", hashlib.sha256(token.encode()).hexdigest())
except OSError as error:
    print("no token")
"""


def test_the_account_of_this_machine_reaches_the_containers_on_request_alone(
    home: Path,
    tmp_path: Path,
    toolkit_image: str,
    client: Any,
    google: VertexService,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in google.environment().items():
        monkeypatch.setenv(name, value)
    given: list[str] = []
    give = google.tokens.give
    monkeypatch.setattr(google.tokens, "give", lambda who: given.append(give(who)) or given[-1])
    configs: list[Any] = []

    class Inspector(Heard):
        def line(self, line: Any, watch: Any) -> None:
            super().line(line, watch)
            if not configs:
                configs.extend(map(client.api.inspect_container, containers_of(client)))

    code, heard = bundle(tmp_path, INIT + TOKEN), Inspector()
    document = custom_job(toolkit_image, ours(code))
    result = run(document, code, heard, with_credentials=True)
    assert (result.state, result.reason) == (SUCCEEDED, ""), heard.lines
    (token,) = given
    digest = hashlib.sha256(token.encode()).hexdigest()
    assert {line.rank for line in heard.lines if line.text == f"token {digest}"} == {0, 1}
    assert any("Google account" in text for text in result.deviations)
    assert len(configs) == 3
    assert token not in json.dumps(configs), "the engine keeps a container's settings on disk"
    assert list(MEMORY.glob("launch-rehearsal-*")) == []

    heard = Heard()
    assert run(document, code, heard).state == SUCCEEDED
    assert {line.rank for line in heard.lines if line.text == "no token"} == {0, 1}
    assert len(given) == 1


def containers_of(client: Any) -> list[str]:
    """Names of the containers of this module's job."""
    return [name for name in things_of(client, "rehearsed-1") if name.count("-") > 1]


def test_without_an_account_the_request_is_refused(
    home: Path, tmp_path: Path, toolkit_image: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "none.json"))
    code = bundle(tmp_path, INIT)
    with pytest.raises(LaunchError, match="gcloud auth application-default login"):
        run(custom_job(toolkit_image, ours(code)), code, with_credentials=True)
    assert list(MEMORY.glob("launch-rehearsal-*")) == []


FOREIGN = INIT + "print('total', float(hvd.allreduce(tf.constant([1.0]), op=hvd.Sum)[0]))\n"


def foreign(image: str, *command: str, instances: int = 1) -> dict[str, Any]:
    """A job of somebody else's: its image has the script, its command starts it."""
    return custom_job(image, {"command": list(command[:1]), "args": list(command[1:])}, instances)


def test_a_foreign_document_of_one_replica_is_watched_and_proven(
    home: Path, tmp_path: Path, toolkit_image: str
) -> None:
    words_ = ("horovodrun", "-np", "2", "--gloo", "python3", "-c", FOREIGN)
    heard = Heard()
    result = run(foreign(toolkit_image, *words_), None, heard)
    assert (result.state, result.reason) == (SUCCEEDED, ""), heard.lines
    assert result.proof == f"world size 2: 1 host x 2 ranks, Gloo ({NO_NONCE})"
    assert any("on PYTHONPATH" in text for text in result.deviations)


def test_foreign_copies_are_no_job(home: Path, tmp_path: Path, toolkit_image: str) -> None:
    document = foreign(toolkit_image, "python3", "-c", FOREIGN, instances=2)
    result = run(document, None)
    assert result.state in (FAILED, NOT_PROVEN)
    assert "2 jobs of world size 1 where one of 2 was expected" in result.reason


def test_an_images_own_command_that_never_initialises_horovod_is_not_proven(
    home: Path, tmp_path: Path, toolkit_image: str
) -> None:
    result = run(foreign(toolkit_image, "true"), None)
    assert result.state == NOT_PROVEN


WHEEL = "made_up-1.0-py3-none-any.whl"


def wheel(folder: Path) -> Path:
    """A package without code to build."""
    path = folder / WHEEL
    told = "Metadata-Version: 2.1\nName: made-up\nVersion: 1.0\n"
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr("made_up.py", "WORD = 'made up'\n")
        packed.writestr("made_up-1.0.dist-info/METADATA", told)
        packed.writestr("made_up-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        packed.writestr("made_up-1.0.dist-info/RECORD", "")
    return path
