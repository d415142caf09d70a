"""What a local plan decides: ranks, GPUs, Python, where things go."""

from __future__ import annotations

import json
import socket
import sys
from pathlib import Path

import pytest

from launchers.core.model.jobs import JobDefinition
from launchers.core.model.problems import Problem
from launchers.local.launcher import LOCAL
from tests.cli.command import Launch

PLAIN = "print('plain')\n"
HOROVOD = "import horovod.tensorflow as hvd\nhvd.init()\n"


def plan(launch: Launch, *words: str, script: str = HOROVOD, **environment: str) -> dict:
    launch.write("train.py", script)
    answer = launch("local", "train.py", *words, "--dry-run", **environment)
    assert answer.code == 0, answer.err
    return answer.json


def problems_of(document: dict) -> list[Problem]:
    """What is wrong with a document that a supervisor is to run."""
    text = json.dumps(document)
    definition = JobDefinition("local", document["name"], document["world_size"], text, document)
    return LOCAL.definer.check(definition)


@pytest.mark.parametrize(
    ("words", "visible", "world_size", "devices"),
    [
        ([], "", 1, [""]),
        (["--instances", "2", "--processes", "2"], "", 4, ["", ""]),
        ([], "0,1,2,3", 4, ["0,1,2,3"]),
        (["--instances", "2"], "0,1,2,3", 4, ["0,1", "2,3"]),
        (["--instances", "2"], "4,5,6", 2, ["4", "5"]),
        (["--gpus", "1"], "GPU-aa,GPU-bb", 1, ["GPU-aa"]),
        (["--gpus", "0", "--processes", "3"], "0,1", 3, [""]),
        (["--instances", "3"], "0,1", 3, ["", "", ""]),
        ([], "-1", 1, [""]),
    ],
)
def test_ranks_and_devices_are_divided_among_the_hosts(
    launch: Launch, words: list[str], visible: str, world_size: int, devices: list[str]
):
    found = plan(launch, *words, CUDA_VISIBLE_DEVICES=visible)
    assert found["world_size"] == world_size
    assert found["environment"]["LAUNCH_WORLD_SIZE"] == str(world_size)
    assert [host["environment"]["CUDA_VISIBLE_DEVICES"] for host in found["hosts"]] == devices
    assert [rank for host in found["hosts"] for rank in host["ranks"]] == list(range(world_size))


def test_more_ranks_than_gpus_are_refused_and_fewer_are_a_warning(launch: Launch):
    launch.write("train.py", PLAIN)
    more = launch(
        "local",
        "train.py",
        "--gpus",
        "1",
        "--processes",
        "2",
        "--dry-run",
        CUDA_VISIBLE_DEVICES="0",
    )
    assert (more.code, "at most one rank a GPU" in more.err) == (2, True)
    fewer = launch(
        "local",
        "train.py",
        "--gpus",
        "2",
        "--processes",
        "1",
        "--dry-run",
        CUDA_VISIBLE_DEVICES="0,1",
    )
    assert (fewer.code, "warning: --processes" in fewer.err) == (0, True)


@pytest.mark.parametrize(
    ("text", "words", "who"),
    [
        (PLAIN, [], "guard"),
        ("torch.cuda.set_device(hvd.local_rank())\n", [], "script"),
        ("torch.cuda.set_device(hvd.local_rank())\n", ["--pin-gpu", "guard"], "guard"),
        (PLAIN, ["--pin-gpu", "none"], "none"),
    ],
)
def test_who_pins_is_read_from_the_source_and_can_be_said(
    launch: Launch, text: str, words: list[str], who: str
):
    launch.write("train.py", text)
    answer = launch("local", "train.py", *words, "--dry-run", CUDA_VISIBLE_DEVICES="0")
    assert answer.json["environment"]["LAUNCH_PIN_GPU"] == who
    assert f"pinned by {who}" in answer.err


def test_the_python_is_named_with_its_horovod(launch: Launch):
    launch.write("train.py", PLAIN)
    assert "Horovod 0.28.1" in launch("local", "train.py", "--dry-run").err


def test_the_active_environment_is_taken_before_the_launchers_own(launch: Launch, tmp_path: Path):
    active = tmp_path / "env"
    (active / "bin").mkdir(parents=True)
    (active / "bin" / "python").symlink_to(sys.executable)
    found = plan(launch, script=PLAIN, VIRTUAL_ENV=str(active))
    assert found["python"] == str(active / "bin" / "python")
    named = plan(launch, "--python", sys.executable, VIRTUAL_ENV=str(active))
    assert named["python"] == sys.executable


@pytest.mark.parametrize(
    ("imports", "fix"),
    [
        ("import horovod.tensorflow as hvd", "make demo"),
        # make demo builds Horovod for TensorFlow alone
        ("import torch\nimport horovod.torch as hvd", "HOROVOD_WITH_PYTORCH=1"),
    ],
    ids=["tensorflow", "torch"],
)
def test_a_python_without_horovod_is_refused_with_both_fixes(
    launch: Launch, tmp_path: Path, imports: str, fix: str
):
    import venv

    venv.create(tmp_path / "bare", with_pip=False)
    launch.write("train.py", f"{imports}\n")
    answer = launch("local", "train.py", "--python", str(tmp_path / "bare"), "--dry-run")
    assert answer.code == 2
    assert "no Horovod" in answer.err
    assert "[local-no-horovod]" in answer.err
    assert "--python PATH" in answer.err
    assert [one for one in ("make demo", "HOROVOD_WITH_PYTORCH=1") if one in answer.err] == [fix]


@pytest.mark.parametrize("name", ["python", "source"])
def test_a_path_of_the_document_that_is_not_there_is_told(
    launch: Launch, tmp_path: Path, name: str
):
    document = plan(launch, script=PLAIN)
    assert problems_of(document) == []
    gone = str(tmp_path / "gone")
    (problem,) = problems_of({**document, name: gone})
    assert (problem.rule, problem.path) == ("local-path", f"$.{name}")
    assert problem.found == f"{gone} (does not exist)"


def test_what_is_no_strategys_is_told_once_whatever_the_python_has(launch: Launch, tmp_path: Path):
    import venv

    venv.create(tmp_path / "bare", with_pip=False)
    launch.write("train.py", "import torch\ntorch.nn.DataParallel(torch.nn.Linear(2, 1))\n")
    words = ("--instances", "2", "--python", str(tmp_path / "bare"), "--dry-run")
    answer = launch("local", "train.py", *words)
    assert answer.code == 2
    assert "[strategy-other]" in answer.err
    assert "[local-no-horovod]" not in answer.err


@pytest.mark.parametrize(
    "words",
    [
        ("nosuch.py", "--instances", "2"),
        ("train.py", "--source", "elsewhere", "--instances", "2"),
        ("-m", "a.nope", "--instances", "2"),
        (),
    ],
)
def test_of_a_script_that_is_not_read_nothing_is_said_of_the_pythons_horovod(
    launch: Launch, tmp_path: Path, words: tuple[str, ...]
):
    import venv

    venv.create(tmp_path / "bare", with_pip=False)
    launch.write("train.py", "import torch.distributed as dist\ndist.init_process_group()\n")
    launch.write("elsewhere/other.py", PLAIN)
    bare = ("--python", str(tmp_path / "bare"), "--dry-run")
    answer = launch("local", *words, *bare)
    assert (answer.code, answer.err.count("error: ")) == (2, 1)
    assert "Horovod" not in answer.err


def test_a_plain_script_at_world_size_1_needs_no_horovod(launch: Launch, tmp_path: Path):
    import venv

    venv.create(tmp_path / "bare", with_pip=False)
    launch.write("train.py", PLAIN)
    words = ("local", "train.py", "--python", str(tmp_path / "bare"), "--dry-run")
    assert launch(*words).code == 0
    assert launch(*words, "--processes", "2").code == 2


def test_output_goes_where_it_is_told(launch: Launch, tmp_path: Path):
    found = plan(launch, "--output-path", str(tmp_path / "out"), "--checkpoint", "ckpt")
    assert found["folder"].startswith(str(tmp_path / "out"))
    assert found["environment"]["LAUNCH_CHECKPOINT_DIR"] == str(launch.folder / "ckpt")
    assert not (tmp_path / "out").exists()


def test_checkpoints_go_to_an_object_store_as_it_was_given(launch: Launch):
    found = plan(launch, "--checkpoint", "s3://bucket/c")
    assert found["environment"]["LAUNCH_CHECKPOINT_DIR"] == "s3://bucket/c"


def test_a_requirements_file_that_nobody_asked_for_is_a_line_of_the_plan(launch: Launch):
    launch.write("train.py", PLAIN)
    launch.write("requirements.txt", "six\n")
    assert "not asked for" in launch("local", "train.py", "--dry-run").err


def test_the_digest_is_that_of_request_and_source(launch: Launch):
    def digest(*words: str) -> str:
        return plan(launch, *words)["name"].rsplit("-", 2)[1]

    first = digest()
    assert digest() == digest("--name", "other") == digest("--port", "12345") == first
    assert digest("--env", "A=b") != first
    assert digest("--processes", "2") != first
    launch.write("helper.py", "x = 1\n")
    assert digest() != first


def test_the_plan_says_all_that_decides_the_run(launch: Launch):
    launch.write("train.py", HOROVOD)
    answer = launch(
        "local",
        "train.py",
        "--instances",
        "2",
        "--env",
        "A=b",
        "--max-runtime",
        "1h",
        "--dry-run",
        "--",
        "--epochs",
        "3",
    )
    for part in (
        "2 hosts x 1 rank = world size 2",
        "train.py",
        "--epochs 3",
        "A",
        "Python 3.",
        "1h",
        "checkpoints",
        "output",
    ):
        assert part in answer.err
    json.loads(answer.out)


def test_a_port_that_another_program_has_is_told_before_any_rank():
    from launchers.local import preflight

    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        (problem,) = preflight._port_problems(other.getsockname()[1])
    assert (problem.rule, problem.path) == ("port-taken", "--port")


def test_a_host_name_without_an_address_is_told_before_any_rank(monkeypatch: pytest.MonkeyPatch):
    from launchers.local import preflight

    assert preflight.host_name_problems() == []
    monkeypatch.setattr("socket.gethostname", lambda: "no-such-host.invalid")
    (problem,) = preflight.host_name_problems()
    assert problem.rule == "host-name"
    assert "/etc/hosts: 127.0.1.1 no-such-host.invalid" in problem.fix
