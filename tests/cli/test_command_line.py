"""Words on the command line: which are ours, which are the script's, and what a mistake is told."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from launchers.cli.main import ended
from tests.cli.command import Launch
from tests.places import ROOT
from tests.rights import without_rights

PLAIN = "print('plain')\n"


def document(launch: Launch, *words: str) -> dict:
    launch.write("train.py", PLAIN)
    answer = launch("local", *words, "--dry-run")
    assert answer.code == 0, answer.err
    return answer.json


def test_help_names_every_verb_and_imports_none_of_them():
    program = (
        "import sys\n"
        "sys.argv = ['launch', '--help']\n"
        "from launchers.cli import main\n"
        "try:\n    main.main()\n"
        "except SystemExit:\n    pass\n"
        "heavy = {'rich', 'jinja2', 'yaml', 'boto3', 'docker', 'sqlite3'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
        "ours = [name for name in sys.modules if name.startswith('launchers.local')]\n"
        "assert not ours, ours\n"
        "for verb in main.VERBS:\n    print('VERB', verb)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, text=True, capture_output=True, check=True
    )
    help_text, _, _ = done.stdout.partition("VERB")
    for verb in [line.split()[1] for line in done.stdout.splitlines() if line.startswith("VERB")]:
        assert f"\n  {verb} " in help_text


@pytest.mark.parametrize("verb", ["local", "sagemaker"])
def test_a_dry_run_imports_no_cloud_sdk_no_yaml_and_no_rich(launch: Launch, verb: str):
    launch.write("train.py", PLAIN)
    program = (
        "import sys\n"
        f"sys.argv = ['launch', {verb!r}, 'train.py', '--gpus', '0', '--dry-run']\n"
        "from launchers.cli import main\n"
        "try:\n    main.main()\n"
        "except SystemExit as end:\n    assert end.code == 0\n"
        "heavy = {'rich', 'yaml', 'boto3', 'botocore', 'docker', 'google.auth',"
        " 'sagemaker', 'tensorflow', 'horovod', 'pandas', 'requests'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
    )
    subprocess.run(
        [sys.executable, "-c", program],
        cwd=launch.folder,
        env=launch.environment({}),
        check=True,
        capture_output=True,
    )


def test_what_follows_the_separator_is_never_the_script(launch: Launch):
    launch.write("train.py", PLAIN)
    words = ("--dry-run", "--", "--epochs", "3", "x.py")
    found = launch("local", "train.py", *words).json
    assert found["script"] == "train.py"
    assert found["arguments"] == ["--epochs", "3", "x.py"]
    assert launch("local", *words).code == 2


SHARED = "entrypoints/train_image_classifier.py"


@pytest.mark.parametrize("text", ["", "instances: 2\n"], ids=["no launch.yaml", "no script in it"])
def test_a_local_job_without_a_script_names_what_to_write(launch: Launch, text: str):
    if text:
        launch.write("launch.yaml", text)
    answer = launch("local", "--gpus", "0")
    assert answer.code == 2
    for part in ("launch local train.py", "launch init", str(ROOT / SHARED)):
        assert part in answer.err
    assert ("script: train.py" in answer.err) == bool(text)
    assert not (launch.home / "jobs").exists()


def test_the_shared_script_runs_by_its_path_here_and_by_default_in_the_clouds(launch: Launch):
    by_path = launch("local", str(ROOT / SHARED), "--dry-run")
    assert by_path.json["script"] == "train_image_classifier.py"
    assert "the shared script" in by_path.err
    cloud = launch("sagemaker", "--gpus", "1", "--dry-run")
    assert (cloud.code, "the shared script" in cloud.err) == (0, True)


def test_a_dry_run_does_not_swallow_the_script(launch: Launch):
    launch.write("train.py", PLAIN)
    answer = launch("local", "--dry-run", "train.py")
    assert (answer.code, answer.json["script"]) == (0, "train.py")


@pytest.mark.parametrize(
    "arguments",
    [
        ["--lr", "1.10", "--flag", "--name", "a b", "-v", "-v", "file#1", ""],
        ["--", "--dry-run", "--", "-x"],
        ["--instances", "9", "--help"],
        ["é", "$HOME", "*", "'", '"', "\\", "a\nb"],
        [],
    ],
)
def test_arguments_reach_the_document_verbatim_and_in_order(launch: Launch, arguments: list[str]):
    launch.write("train.py", PLAIN)
    answer = launch("local", "train.py", "--dry-run", "--", *arguments)
    assert answer.json["arguments"] == arguments


def test_what_follows_two_hyphens_are_words_of_a_verb_that_runs_no_script(launch: Launch):
    (launch.folder / "-dash").mkdir()
    assert launch("init", "--", "-dash").code == 0
    assert (launch.folder / "-dash" / "launch.yaml").is_file()
    assert "Got unexpected extra argument (foo)" in launch("list", "--", "foo").err


RIGHT_LINES = [
    (["train.py", "--epochs", "3"], "launch local train.py -- --epochs 3"),
    (
        ["--instances", "2", "train.py", "--epochs", "3"],
        "launch local train.py --instances 2 -- --epochs 3",
    ),
    (
        ["train.py", "--epochs", "3", "--instances", "2"],
        "launch local train.py --instances 2 -- --epochs 3",
    ),
    (["train.py", "data", "more"], "launch local train.py -- data more"),
    (["--epochs", "3"], "launch local -- --epochs 3"),
    (["train.py", "-v"], "launch local train.py -- -v"),
    (["train.py", "--data=a b"], "launch local train.py -- '--data=a b'"),
]


@pytest.mark.parametrize(("words", "right"), RIGHT_LINES, ids=[line for _, line in RIGHT_LINES])
def test_arguments_without_the_separator_get_the_line_that_was_meant(
    launch: Launch, words: list[str], right: str
):
    launch.write("train.py", PLAIN)
    answer = launch("local", *words)
    assert answer.code == 2
    assert f"write: {right}\n" in answer.err


MISTAKES = [
    (["--instnaces", "2"], ["--instnaces", "did you mean --instances?"]),
    (["--gpu", "2"], ["did you mean --gpus?"]),
    (["--dryrun"], ["did you mean --dry-run?"]),
    (["--instances", "two"], ["--instances: 'two'", "a whole number from 1 to 1000"]),
    (["--instances", "0"], ["--instances: '0'"]),
    (["--processes", "0"], ["--processes: '0'"]),
    (["--gpus", "-1"], ["--gpus"]),
    (["--gpus", "4"], ["at most 0 GPUs, which this machine shows", "[local-gpus]"]),
    (["--env", "NOVALUE"], ["--env: 'NOVALUE'", "NAME=VALUE"]),
    (["--env", "A=1", "--env", "A=2"], ["--env A: the same name twice", "[flag-name-twice]"]),
    (["--secret", "A=env:B", "--secret", "A=env:C"], ["--secret A: the same name twice"]),
    (["--env", "LAUNCH_WORLD_SIZE=8"], ["a name that the launcher sets", "--instances"]),
    (["--max-runtime", "90"], ["a time with its unit"]),
    (["--name", "a_b"], ["letters, digits and inner hyphens"]),
    (["--pin-gpu", "me"], ["one of guard, script, none"]),
    (["--dry-run=dokcer"], ["--dry-run or --dry-run=docker"]),
    (["--source", "nosuch", "train.py"], ["--source: nosuch", "a folder that exists"]),
    (["trian.py"], ["trian.py (no such file)", "did you mean train.py?"]),
    (["--python", "/nosuch/python"], ["/nosuch/python (no such file)", "[local-python]"]),
    (["--requirements", "nosuch.txt"], ["nosuch.txt (no such file)"]),
    (["-f", "nosuch.yaml"], ["nosuch.yaml"]),
    (["--machine", "ml.p3.8xlarge"], ["--machine"]),
]


@pytest.mark.parametrize(("words", "parts"), MISTAKES, ids=[" ".join(m[0]) for m in MISTAKES])
def test_a_mistake_is_one_clear_message_and_exit_2(
    launch: Launch, words: list[str], parts: list[str]
):
    launch.write("train.py", PLAIN)
    answer = launch("local", *words)
    assert answer.code == 2, answer.err
    for part in parts:
        assert part in answer.err
    assert "Traceback" not in answer.err
    assert answer.out == ""
    assert not (launch.home / "jobs").exists()


def test_all_mistakes_of_a_command_line_are_told_at_once(launch: Launch):
    answer = launch("local", "--instances", "0", "--gpus", "x", "--env", "A", "--instnaces", "2")
    assert (answer.code, answer.err.count("error: ")) == (2, 4)


def test_an_unknown_verb_gets_the_verb_or_the_line_that_was_meant(launch: Launch):
    assert "[verb-unknown]. did you mean local?" in launch("locla").err
    assert "launch local train.py" in launch("train.py").err


def test_flags_win_over_the_file_and_the_plan_names_it(launch: Launch):
    launch.write("train.py", PLAIN)
    launch.write(
        "launch.yaml", "script: train.py\ninstances: 3\nargs: [--a, 1.10]\nenv: {A: x, B: y}\n"
    )
    answer = launch("local", "--instances", "1", "--env", "B=z", "--dry-run")
    assert answer.json["instances"] == 1
    assert answer.json["arguments"] == ["--a", "1.10"]
    assert answer.json["environment"]["A"] == "x"
    assert answer.json["environment"]["B"] == "z"
    assert "from launch.yaml and flags" in answer.err.splitlines()[0]


def test_no_file_reads_none_and_another_one_is_read_from_its_own_folder(launch: Launch):
    launch.write("train.py", PLAIN)
    launch.write("launch.yaml", "instances: nonsense\n")
    launch.write("sub/train.py", PLAIN)
    launch.write("sub/job.yaml", "script: train.py\n")
    assert launch("local", "train.py", "--no-file", "--dry-run").code == 0
    found = launch("local", "-f", "sub/job.yaml", "--dry-run").json
    assert found["source"] == str(launch.folder / "sub")


def test_the_document_alone_is_on_stdout_and_yaml_is_a_view_of_it(launch: Launch):
    import yaml

    launch.write("train.py", PLAIN)
    as_json = launch("local", "train.py", "--dry-run")
    as_yaml = launch("local", "train.py", "--dry-run", "--format", "yaml")
    assert json.loads(as_json.out) == yaml.safe_load(as_yaml.out)
    assert as_json.err.startswith("plan  ")


def test_a_dry_run_gives_the_same_bytes_every_time_and_leaves_nothing(launch: Launch):
    launch.write("train.py", PLAIN)
    words = ("local", "train.py", "--env", "Z=1", "--env", "A=2", "--dry-run")
    assert launch(*words).out == launch(*words, TZ="Asia/Tokyo", PYTHONHASHSEED="7").out
    assert list(launch.home.iterdir()) == []


def test_init_writes_two_files_that_run_and_never_writes_over_yours(launch: Launch):
    assert launch("init").code == 0
    assert launch("local", "--dry-run").json["script"] == "train.py"
    launch.write("train.py", "mine\n")
    again = launch("init")
    assert again.code == 2
    assert "[init-exists]. `launch init FOLDER`" in again.err
    assert (launch.folder / "train.py").read_text() == "mine\n"


def test_a_file_that_init_cannot_write_is_named(launch: Launch):
    folder = launch.folder / "job"
    folder.mkdir()
    (folder / "launch.yaml").symlink_to("/nowhere/launch.yaml")
    answer = launch("init", "job")
    assert answer.code == 2
    assert answer.err.startswith("error: job/launch.yaml: No such file or directory; ")
    assert "it is a link to /nowhere/launch.yaml: remove it" in answer.err
    assert not (folder / "train.py").exists()


def test_a_folder_that_init_may_not_look_into_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    assert ended(["init", str(tmp_path / "own")]) == 0  # everything is imported
    with without_rights(tmp_path):
        assert ended(["init", str(tmp_path)]) == 2
    told = capsys.readouterr().err.splitlines()[-1]
    assert told.startswith(f"error: {tmp_path}: Permission denied; expected a folder")


def test_the_file_that_init_writes_is_no_request_and_check_says_what_checks_it(launch: Launch):
    launch("init")
    answer = launch("check", "launch.yaml")
    assert answer.code == 2
    assert "[file-shape]. `launch PROVIDER -f launch.yaml --dry-run` runs every rule" in answer.err
    line = ["sagemaker", "-f", "launch.yaml", "--gpus", "1", "--dry-run"]
    assert launch(*line).code == 0


def test_schema_is_valid_json_schema_for_the_file_that_init_writes(launch: Launch):
    found = launch("schema").json
    assert found["properties"]["instances"]["minimum"] == 1


def test_a_home_folder_is_refused_as_source(launch: Launch):
    launch.write("train.py", PLAIN)
    answer = launch("local", "train.py", "--dry-run", HOME=str(launch.folder))
    assert answer.code == 2
    assert "home folder" in answer.err
    assert "[source-folder]" in answer.err


@pytest.mark.parametrize("verb", ["status", "logs", "wait", "cancel"])
def test_an_unknown_job_is_exit_2(launch: Launch, verb: str):
    answer = launch(verb, "nosuch")
    assert answer.code == 2
    assert "launch list" in answer.err


@pytest.mark.parametrize("words", ["schema", "--help", "explain"])
def test_a_closed_pipe_is_no_error(launch: Launch, words: str):
    line = f"{sys.executable} -m launchers.cli.main {words} | (exec <&-)"
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {line}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env=launch.environment({}),
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_what_was_found_counts_where_nobody_reads_the_answer(launch: Launch):
    launch.write("bad.json", "{}")
    line = f"{sys.executable} -m launchers.cli.main check bad.json"
    for form in ("--json", "--report sarif"):
        done = subprocess.run(
            ["bash", "-c", f"set -o pipefail; {line} {form} | (exec <&-)"],
            cwd=launch.folder,
            capture_output=True,
            check=False,
            env={**launch.environment({}), "PYTHONPATH": str(ROOT)},
        )
        assert done.returncode == 2, form


def test_the_package_is_the_command_where_it_is_not_on_path(launch: Launch):
    done = subprocess.run(
        [sys.executable, "-m", "launchers", "machines", "--gpus", "4", "--json"],
        cwd=launch.folder,
        capture_output=True,
        text=True,
        check=True,
        env=launch.environment({}),
    )
    assert done.stdout == launch("machines", "--gpus", "4", "--json").out
