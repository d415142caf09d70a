"""What README and docs show works: command lines run offline or as dry runs, YAML is launch.yaml's,
Python and JSON can be read; what is not run has its row in not_run.py."""

from __future__ import annotations

import ast
import json
import re

import click
import pytest
import yaml

from launchers.cli.main import cli
from launchers.cli.verb_table import VERBS
from tests.cli.command import Launch
from tests.data import made
from tests.docs import not_run
from tests.docs.blocks import Block, blocks, blocks_of, words_of
from tests.places import ROOT

BLOCKS = blocks()
LINES = sorted({line for block in BLOCKS for line in block.commands()})
LAUNCH = [line for line in LINES if re.match(r"(\.venv/bin/)?launch(-training)?( |$)", line)]
# A line that shows a form: choices, parts that may be left out, words for what the user has.
FORM = re.compile(r"\[|\.\.\.|[a-z]\|[a-z]|\b(JOB|NAME|FILE|DIR|ID|TOPIC|RULE|SCRIPT|FOLDER)\b")
RUN = [line for line in LAUNCH if not FORM.search(line) and line not in not_run.COMMANDS]
PROVIDERS = ("local", "sagemaker", "vertex", "spark")
# Flags of a rehearsal, which a dry run that only prints refuses.
REHEARSAL = {"--ranks-per-host": 2, "--interrupt-after": 2, "--with-credentials": 1}

MIRRORED = "import tensorflow as tf\n\ntf.distribute.MirroredStrategy()\n"
TRAIN = "import horovod.tensorflow.keras as hvd\n\nhvd.init()\n"
REQUEST = ROOT / "tests" / "corpus" / "sagemaker" / "estimator_mpi.json"
# What lies in the folder of a page's reader.
FILES = {
    "train.py": TRAIN,
    "mnist_hvd.py": TRAIN,
    "entrypoints/train_image_classifier.py": TRAIN,
    "entrypoints/train_custom_loop.py": TRAIN,
    "train_image_classifier.py": TRAIN,
    "train_custom_loop.py": TRAIN,
    "train_mirrored.py": MIRRORED,
    "broken.py": TRAIN,
    "tracking.txt": "mlflow-skinny\nprotobuf<6\n",
    "data/train/one.txt": "1",
    "settings.json": "{}",
    "env.tgz": "",
    "sweep.yaml": "script: train.py\ngpus: 4\nsweep: {matrix: {args.lr: [0.1, 0.01]}}\n",
    "config.yaml": "trainingInput: {scaleTier: BASIC, pythonModule: trainer.task}\n",
    "job.json": REQUEST.read_text("utf-8"),
    "jobs/train.json": REQUEST.read_text("utf-8"),
    "pools.yaml": REQUEST.read_text("utf-8"),
    "train.yaml": REQUEST.read_text("utf-8"),
}
# And what stands in a page for what is the reader's own.
MEANT = {
    "ARN": "arn:aws:iam::111122223333:role/training",
    "IMAGE": "gcr.io/project/image:1",
    "B": "my-bucket",
    "R": "us-east-1",
}


@pytest.fixture
def reader(launch: Launch) -> Launch:
    for name, text in FILES.items():
        launch.write(name, text)
    return launch


@pytest.mark.parametrize("line", RUN)
def test_a_line_runs_offline_or_as_a_dry_run(line: str, reader: Launch) -> None:
    words = [MEANT.get(word, word) for word in words_of(line)]
    if words[:2] == ["data", "info"]:
        made.place(reader.folder / "food", {"train": [8, 8], "test": [4]})
    elif words[:2] == ["data", "parquet"]:
        made.class_folders(reader.folder / words[2], each=4)
    if words and words[0] in (*PROVIDERS, "scaling"):
        words = as_dry_run(words)

    # What a line writes for its user, such as a shell's completion, is not for ours.
    ended = reader(*words, HOME=str(reader.home), SHELL="/bin/bash")

    assert ended.code == 0, f"{ended.err}\nmend the page, or give the line a row in not_run.py"


def as_dry_run(words: list[str]) -> list[str]:
    """The words of a job, so that it is only printed."""
    end = words.index("--") if "--" in words else len(words)
    ours, script = words[:end], words[end:]
    for flag, count in REHEARSAL.items():
        if flag in ours:
            del ours[ours.index(flag) : ours.index(flag) + count]
    return [*(word for word in ours if not word.startswith("--dry-run")), "--dry-run", *script]


@pytest.mark.parametrize("line", [line for line in LAUNCH if FORM.search(line)])
def test_a_form_names_verbs_and_flags_that_there_are(line: str) -> None:
    words = re.sub(r"[\[\]|]", " ", line.partition(" -- ")[0]).split()
    command: click.Command = cli
    if words[1] in VERBS:
        command = command_of(words[1])
        if isinstance(command, click.Group):
            command = command.commands[words[2]]
    elif "|" not in line.partition("launch ")[2].split()[0]:
        pytest.fail(f"no verb {words[1]}")
    if command.name in ("import",):  # gcloud's own flags follow
        return
    flags = {flag for parameter in command.params for flag in parameter.opts}
    named = {word.partition("=")[0].rstrip(",") for word in words if re.match(r"--?[a-z]", word)}
    assert named <= flags | {"--help"}, f"{line}: {sorted(named - flags)}"


def command_of(verb: str) -> click.Command:
    with click.Context(cli) as context:
        command = cli.get_command(context, verb)
    assert command is not None
    return command


def test_every_goal_of_make_is_there() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    goals = {line.split()[1] for line in LINES if line.startswith("make ")}
    missing = [goal for goal in goals if not re.search(rf"^{goal}:", makefile, re.MULTILINE)]
    assert goals
    assert missing == []


def test_what_is_installed_is_this_project_or_what_a_flag_asks_for() -> None:
    installing = [line for line in LINES if re.match(r"(pip|pipx|uvx?) ", line)]
    assert installing
    for line in installing:
        assert re.search(
            r"launch.training|requirements/|mlflow-skinny$|'setuptools<70'|'?\.(\[|'|$)", line
        )


@pytest.mark.parametrize(
    "block", [one for one in BLOCKS if one.kind == "yaml"], ids=lambda block: block.place
)
def test_yaml_is_that_of_a_job_unless_it_is_anothers(block: Block, reader: Launch) -> None:
    value = yaml.safe_load(block.text)
    assert value
    if any(block.text.startswith(first) for first in not_run.OTHERS_YAML):
        return
    reader.write("page.yaml", block.text)
    provider = next((name for name in PROVIDERS if name in value), "sagemaker")
    flags = [] if "script" in value else ["train.py", "--instances", "2", "--gpus", "4"]
    image = ["--image", MEANT["IMAGE"]] if provider == "vertex" and "image" not in value else []

    ended = reader(provider, *flags, *image, "-f", "page.yaml", "--dry-run")

    assert ended.code == 0, ended.err


@pytest.mark.parametrize(
    "block", [one for one in BLOCKS if one.kind in ("json", "python")], ids=lambda one: one.place
)
def test_json_and_python_can_be_read(block: Block) -> None:
    if block.kind == "python":
        ast.parse(block.text)
    else:
        text = block.text
        assert json.loads(text if text.startswith(("{", "[")) else f"{{{text}}}")


def test_fenced_python_runs_in_a_test() -> None:
    fenced = {one.place.partition(":")[0] for one in BLOCKS if one.language == "python"}
    assert fenced == set(not_run.PYTHON)


def test_no_row_is_left_of_a_line_that_is_gone() -> None:
    assert set(not_run.COMMANDS) <= set(LINES)
    starts = tuple(not_run.OTHERS_YAML)
    found = {first for one in BLOCKS for first in starts if one.text.startswith(first)}
    assert found == set(starts)


def test_blocks_and_their_lines_are_found() -> None:
    page = (
        "Text\n\n    $ launch check \\\n        job.json  # why\n    job.json: no errors\n\n"
        "```yaml\nscript: train.py\n```\n\n* item\n  with text\n\n    launch list | head\n"
    )
    first, second, third = blocks_of("page.md", page)
    assert [one.kind for one in (first, second, third)] == ["commands", "yaml", "commands"]
    assert [one.place for one in (first, second, third)] == ["page.md:3", "page.md:7", "page.md:14"]
    assert list(first.commands()) == ["launch check job.json"]
    assert words_of(next(iter(third.commands()))) == ["list"]
