"""The requirement files say one thing in every place."""

from __future__ import annotations

from pathlib import Path

import pytest
import tomli

from infra.bootstrap import environment, requirements
from launchers import DISTRIBUTION
from tests.places import ROOT

ALL = ROOT / requirements.REQUIREMENTS


def test_the_launcher_asks_for_the_same_in_both_files() -> None:
    project = tomli.loads((ROOT / "pyproject.toml").read_text())["project"]
    files = (ALL, ROOT / requirements.DEVELOPMENT)
    listed = {requirements.name(line): line for file in files for line in requirements.lines(file)}

    extras = [line for lines in project["optional-dependencies"].values() for line in lines]
    asked = {requirements.name(line): line for line in [*project["dependencies"], *extras]}

    assert asked == {name: listed.get(name) for name in asked}


def test_a_first_run_waits_for_no_cluster_and_ranks_can_read_parquet() -> None:
    listed = {requirements.name(line) for line in requirements.lines(ALL)}

    assert listed.isdisjoint({"distributed", "pyspark"})
    assert listed >= {"pyarrow", "pillow"}


def test_a_laptop_gets_neither_the_training_stack_nor_a_clouds_sdk() -> None:
    project = tomli.loads((ROOT / "pyproject.toml").read_text())["project"]

    asked = {requirements.name(line) for line in project["dependencies"]}

    assert asked.isdisjoint({"tensorflow", "tf-keras", "horovod", "scikit-learn", "sagemaker"})
    assert asked.isdisjoint({"numpy", "pillow", "pyarrow", "distributed", "pyspark"})
    assert asked.isdisjoint({"boto3", "google-cloud-aiplatform", "google-cloud-storage"})


def test_the_project_has_one_name_and_two_commands() -> None:
    project = tomli.loads((ROOT / "pyproject.toml").read_text())["project"]

    assert project["name"] == DISTRIBUTION == environment.LAUNCHER
    # `uvx NAME` and `pipx run NAME` start the command of that name.
    assert set(project["scripts"]) == {"launch", DISTRIBUTION}
    assert len(set(project["scripts"].values())) == 1


@pytest.mark.parametrize(
    ("project", "version"),
    [("tensorflow", "2.18.1"), ("tf-keras", "2.18.0"), ("horovod", "0.28.1")],
)
def test_the_training_stack_is_pinned(project: str, version: str) -> None:
    assert requirements.pin(ALL, project) == version


def test_a_pin_that_is_not_there_is_named(tmp_path: Path) -> None:
    file = tmp_path / "requirements.txt"
    file.write_text("numpy>=2\nhorovod-runner==1.0\n")

    with pytest.raises(LookupError, match="horovod==VERSION"):
        requirements.pin(file, "horovod")


def test_lines_follow_other_files_and_leave_comments_out(tmp_path: Path) -> None:
    (tmp_path / "more.txt").write_text("Tf_Keras==1.0  # why\n")
    (tmp_path / "requirements.txt").write_text("# all\n-r more.txt\n\nclick>=8\n")

    lines = list(requirements.lines(tmp_path / "requirements.txt"))

    assert lines == ["Tf_Keras==1.0", "click>=8"]
    assert requirements.name(lines[0]) == "tf-keras"


@pytest.mark.parametrize("changed", ["requirements.txt", "more.txt", "pyproject.toml"])
def test_the_digest_changes_with_each_file_that_it_stands_for(changed: str, tmp_path: Path) -> None:
    texts = {
        "requirements.txt": "-r more.txt\nclick\n",
        "more.txt": "numpy\n",
        "pyproject.toml": "",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    before = requirements.digest(tmp_path, "requirements.txt")

    (tmp_path / changed).write_text(texts[changed] + "rich\n")

    assert requirements.digest(tmp_path, "requirements.txt") != before


def test_a_comment_does_not_change_the_digest(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "requirements.txt").write_text("click\n")
    before = requirements.digest(tmp_path, "requirements.txt")

    (tmp_path / "requirements.txt").write_text("# the command line\nclick\n")

    assert requirements.digest(tmp_path, "requirements.txt") == before
