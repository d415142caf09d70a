"""`-m pkg.mod` on the command line and in launch.yaml, on every provider."""

from __future__ import annotations

import json
from typing import Any

import pytest

from launchers.core import registry
from tests.cli.command import Answer, Launch

LOOK = """
import json, sys
from . import model
print("SEEN", json.dumps([sys.argv, sys.path[0], __package__, __spec__.name, model.NAME]))
"""
CLOUD = {
    "sagemaker": ["--gpus", "1"],
    "vertex": ["--gpus", "1", "--image", "europe-docker.pkg.dev/p/r/i:1"],
    "spark": ["--master", "spark://127.0.0.1:7077"],
}


@pytest.fixture
def package(launch: Launch) -> Launch:
    launch.write("pkg/model.py", "NAME = 'linear'\n")
    launch.write("pkg/train.py", LOOK)
    launch.write("train.py", "print('the script')\n")
    return launch


def starts(provider: str, answer: Answer) -> Any:
    """What the document of a dry run starts, with its arguments."""
    assert answer.code == 0, answer.err
    document = answer.json
    if provider == "local":
        return ["-m", document["module"], *document["arguments"]]
    if provider == "sagemaker":
        parameters = document["HyperParameters"]
        assert "sagemaker_launch_script" not in parameters
        names = ("sagemaker_launch_module", "sagemaker_launch_args")
        module, arguments = (json.loads(parameters[name]) for name in names)
        return ["-m", module, *arguments]
    if provider == "spark":
        return document["arguments"]
    pool = document["jobSpec"]["workerPoolSpecs"][0]
    return json.loads(pool["containerSpec"]["args"][2])


@pytest.mark.parametrize("provider", ["local", *CLOUD])
def test_every_provider_carries_module_and_arguments(package: Launch, provider: str):
    words = [provider, "-m", "pkg.train", *CLOUD.get(provider, []), "--dry-run"]
    answer = package(*words, "--", "--epochs", "3", "a b")
    assert starts(provider, answer) == ["-m", "pkg.train", "--epochs", "3", "a b"]
    assert "pkg-train-" in answer.err
    assert "pkg/train.py in " in answer.err
    if registry.provider(provider).reader:
        document = package.write("document.json", answer.out)
        checked = package("check", str(document))
        assert "no errors, 0 warnings" in checked.err + checked.out


def test_a_local_job_runs_the_module_as_python_does(package: Launch):
    answer = package("local", "-m", "pkg.train", "--", "--epochs", "3")
    assert answer.code == 0, answer.err
    seen = next(line for line in answer.out.splitlines() if "SEEN" in line)
    path = str(package.folder / "pkg/train.py")
    expected = [[path, "--epochs", "3"], str(package.folder), "pkg", "pkg.train", "linear"]
    assert json.loads(seen.partition("SEEN ")[2]) == expected


def test_launch_yaml_names_a_module_and_a_flag_wins_over_it(package: Launch):
    package.write("launch.yaml", "module: pkg.train\nargs: [--a, 1.10]\n")
    assert starts("local", package("local", "--dry-run")) == ["-m", "pkg.train", "--a", "1.10"]
    assert package("local", "train.py", "--dry-run").json["script"] == "train.py"
    package.write("launch.yaml", "script: train.py\n")
    assert starts("local", package("local", "-m", "pkg.train", "--dry-run")) == ["-m", "pkg.train"]


def test_a_launch_yaml_elsewhere_names_a_module_of_its_own_folder(package: Launch):
    package.write("sub/inner/run.py", "print(1)\n")
    package.write("sub/job.yaml", "module: inner.run\n")
    document = package("local", "-f", "sub/job.yaml", "--dry-run").json
    assert document["source"] == str(package.folder / "sub")


WRONG = [
    (["train.py", "-m", "pkg.train"], ["SCRIPT and -m", "launch local train.py --dry-run;"]),
    (["-m", "pkg.train", "--epochs", "3"], ["launch local -m pkg.train --dry-run -- --epochs 3"]),
    (["-m", "pkg.train", "data"], ["launch local -m pkg.train --dry-run -- data"]),
    (["-m", "pkg/train.py"], ["write -m pkg.train"]),
    (["-m", "pkg.other"], ["no such module"]),
]


@pytest.mark.parametrize(("words", "told"), WRONG, ids=[" ".join(words) for words, _ in WRONG])
def test_a_mistake_is_told_with_the_line_that_was_meant(
    package: Launch, words: list[str], told: list[str]
):
    answer = package("local", *words, "--dry-run")
    assert answer.code == 2
    assert all(text in answer.err for text in told), answer.err


def test_a_module_that_names_its_device_is_left_to_pin(package: Launch):
    package.write("pkg/model.py", "NAME = 1\ntorch.cuda.set_device(hvd.local_rank())\n")
    answer = package("local", "-m", "pkg.train", "--dry-run", CUDA_VISIBLE_DEVICES="0")
    assert answer.json["environment"]["LAUNCH_PIN_GPU"] == "script"
