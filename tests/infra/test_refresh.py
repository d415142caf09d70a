"""The data files are what the scripts make of the installed packages, and the scripts say so."""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from infra.refresh import (
    files,
    sagemaker_dockerfiles,
    sagemaker_images,
    sagemaker_machines,
    sagemaker_service_model,
)
from infra.refresh.java_patterns import python_pattern
from tests.places import ENTRYPOINTS

pytestmark = pytest.mark.processes

NONE_OLDER = argparse.Namespace(moto=[], toolkit=[])


def _changes(script: Any) -> list[str]:
    old = files.read_json(script.FILE)
    return files.differences(old, script.make(NONE_OLDER, old))


def _of_substance(changes: list[str]) -> list[str]:
    """Without sources, dates, and what AWS changes from week to week."""
    passing = re.compile(r"\$\.(?:sources|date)\b|\.regions:|: new: ")
    return [change for change in changes if not passing.search(change)]


def test_the_service_model_equals_that_of_the_installed_botocore() -> None:
    changes = [
        change
        for change in _changes(sagemaker_service_model)
        if not change.startswith(("$.sources", "$.date"))
    ]
    assert not changes, "\n".join(changes) + (
        "\nthe installed botocore knows another model of CreateTrainingJob; refresh ours with: "
        "python -m infra.refresh.sagemaker_service_model"
    )


@pytest.mark.parametrize(
    "script", [sagemaker_machines, sagemaker_images], ids=["machines", "images"]
)
def test_the_tables_are_what_the_installed_packages_say(script: Any) -> None:
    changes = _of_substance(_changes(script))
    assert not changes, f"{changes}\nrefresh it with: python -m {script.__name__}"


@pytest.mark.parametrize(
    "script",
    [sagemaker_service_model, sagemaker_machines, sagemaker_images, sagemaker_dockerfiles],
    ids=lambda script: script.FILE.name,
)
def test_each_file_names_its_sources_and_its_day_and_is_laid_out_by_line(script: Any) -> None:
    content = files.read_json(script.FILE)
    assert content["sources"]
    assert re.fullmatch(r"20\d\d-\d\d-\d\d", content["date"])
    assert script.FILE.read_text() == files.laid_out(content)


def test_a_type_that_no_source_describes_any_more_keeps_its_row() -> None:
    old = files.read_json(sagemaker_machines.FILE)
    row = sagemaker_machines.make(NONE_OLDER, old)["machines"]["ml.p3.8xlarge"]
    assert row == old["machines"]["ml.p3.8xlarge"]
    assert row["source"] == "moto 5.0.0"


def test_a_type_that_nothing_describes_stops_the_refresh() -> None:
    with pytest.raises(SystemExit, match=r"ml\.p3\.8xlarge"):
        sagemaker_machines.make(NONE_OLDER, {})


# A script that keeps a file of two facts, run for real.
SCRIPT = """
import sys
from pathlib import Path
from infra.refresh.files import main
sys.exit(main("some.script", Path({file!r}), lambda options, old: {document!r}))
"""


def _run(file: Path, document: dict[str, Any], *arguments: str) -> tuple[int, str]:
    code = SCRIPT.format(file=str(file), document=document)
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=files.CLONE,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return done.returncode, done.stdout + done.stderr


def test_a_check_names_the_difference_and_the_command_and_writes_nothing(tmp_path: Path) -> None:
    file = tmp_path / "facts.json"
    assert _run(file, {"sources": {"a": "1.0"}, "date": "", "facts": {"x": 1}})[0] == 0
    written = file.read_text()
    code, output = _run(file, {"sources": {}, "date": "", "facts": {"x": 2, "y": 3}}, "--check")
    assert code == 1
    assert "$.facts.x: 1 is now 2" in output
    assert "$.facts.y: new: 3" in output
    assert "refresh it with: python -m some.script" in output
    assert file.read_text() == written


def test_a_check_does_not_mind_another_version_of_the_source(tmp_path: Path) -> None:
    file = tmp_path / "facts.json"
    _run(file, {"sources": {"a": "1.0"}, "date": "", "facts": {"x": 1}})
    code, output = _run(file, {"sources": {"a": "2.0"}, "date": "", "facts": {"x": 1}}, "--check")
    assert (code, output.strip()) == (0, "facts.json: up to date")


def test_a_refresh_writes_the_file_and_its_day(tmp_path: Path) -> None:
    file = tmp_path / "facts.json"
    code, _ = _run(file, {"date": "", "facts": {"x": [1, 2]}, "list": [{"a": 1}], "none": {}})
    assert code == 0
    assert json.loads(file.read_text())["facts"] == {"x": [1, 2]}
    assert '\n  "x": [1, 2]\n }' in file.read_text()
    assert '"date": "20' in file.read_text()


@pytest.mark.parametrize(
    ("java", "python"),
    [
        ("[a-z]+", "[a-z]+"),
        (r"\d+K", r"\d+K"),
        (".*", r"[^\n\r\u0085\u2028\u2029]*"),
        (r"a\.b", r"a\.b"),
        ("[.]+", "[.]+"),
        (r"[\p{Alnum}\-]+", r"[a-zA-Z0-9\-]+"),
        (r"\p{Alpha}.", r"[a-zA-Z][^\n\r\u0085\u2028\u2029]"),
    ],
)
def test_javas_patterns_are_translated(java: str, python: str) -> None:
    assert python_pattern(java) == python


@pytest.mark.parametrize("java", [r"\p{Lu}+", r"[\p{L}]", "[a-z&&[^b]]"])
def test_what_has_no_translation_is_refused(java: str) -> None:
    with pytest.raises(ValueError, match="no translation"):
        python_pattern(java)


TWO_STAGES = """
FROM ubuntu:20.04 AS base_image
ENV HOROVOD_VERSION=0.26.1
FROM base_image AS common
RUN echo common
FROM common AS ec2
RUN pip install horovod==0.1.0
FROM common AS sagemaker
{line}
"""


@pytest.mark.parametrize(
    ("dockerfile", "version"),
    [
        ("FROM ubuntu\nRUN pip install horovod==0.21.0", "0.21.0"),
        (
            "FROM ubuntu\nENV HOROVOD_VERSION=0.2.1\nRUN pip install horovod==${HOROVOD_VERSION}",
            "0.2.1",
        ),
        ("FROM ubuntu\n# RUN pip install horovod==0.21.0", None),
        ("FROM ubuntu\n# Horovod & its dependencies\nRUN apt-get install openmpi", None),
        (TWO_STAGES.format(line="RUN pip install horovod==0.27.0"), "0.27.0"),
        (TWO_STAGES.format(line="RUN pip install horovod==$HOROVOD_VERSION"), "0.26.1"),
        (TWO_STAGES.format(line="RUN pip install torch"), None),
    ],
    ids=["literal", "variable", "comment", "dependencies", "stage", "variable of a stage", "other"],
)
def test_a_dockerfiles_horovod_is_that_of_its_sagemaker_image(
    dockerfile: str, version: str | None
) -> None:
    assert sagemaker_dockerfiles.horovod_in(dockerfile) == version


STARTS = """
FROM ubuntu AS common
COPY start_cuda_compat.sh /usr/local/bin/start_cuda_compat.sh
ENTRYPOINT ["bash", "common.sh"]
FROM common AS ec2
COPY other.sh /usr/local/bin/other.sh
ENTRYPOINT ["bash", "other.sh"]
FROM common AS sagemaker
COPY --chmod=755 scripts/start.py /usr/local/bin/start.py
COPY settings.json /usr/local/bin/settings.json
ENTRYPOINT ["python", "/usr/local/bin/start.py"]
"""


def test_what_an_image_runs_first_is_that_of_its_sagemaker_stage() -> None:
    assert sagemaker_dockerfiles.starts_in(STARTS) == {
        "entry": "python /usr/local/bin/start.py",
        "scripts": ["start.py", "start_cuda_compat.sh"],
    }
    assert sagemaker_dockerfiles.starts_in("FROM ubuntu") == {"entry": "", "scripts": []}


def test_of_every_script_that_an_image_brings_the_agent_knows_what_to_do_with_it() -> None:
    """In the images of the last three years, those without Horovod among them."""
    known = files.read_json(ENTRYPOINTS / "launch_runtime/host/sagemaker/entry_scripts.json")
    images = files.read_json(sagemaker_dockerfiles.FILE)["images"]
    recent = [one for one in images if one.get("last_release", "2026") >= "2023-11"]
    scripts = {name for one in recent for name in one["scripts"]}
    assert "start_cuda_compat.sh" in scripts
    assert scripts - {*known["sourced"], *known["not_run"]} == set()
    assert {*known["sourced"], *known["not_run"]} - scripts == set()


@pytest.fixture
def repository(tmp_path: Path) -> Callable[[dict[str, str], str], Path]:
    """Commits files to a small repository and tags the commit, any number of times."""

    def git(*arguments: str) -> None:
        who = ["-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", "-C", str(tmp_path), *who, *arguments], check=True, timeout=60)

    git("init", "--quiet")

    def commit(content: dict[str, str], tag: str) -> Path:
        for name, text in content.items():
            file = tmp_path / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        git("add", "--all")
        git("commit", "--quiet", "--allow-empty", "--message", tag)
        git("tag", tag)
        return tmp_path

    return commit


def test_an_image_is_read_from_its_newest_release_tag(
    repository: Callable[[dict[str, str], str], Path],
) -> None:
    folder = "tensorflow/training/docker/2.12/py3"
    first = {
        f"{folder}/cu118/Dockerfile.gpu": "FROM cuda\nRUN pip install horovod==0.26.0",
        f"{folder}/Dockerfile.cpu": "FROM ubuntu\nRUN pip install horovod==0.26.0",
        f"{folder}/cu118/Dockerfile.gpu.os_scan_allowlist.json": "{}",
        "docker/tensorflow/2.21/Dockerfile.cuda": 'FROM cuda\nENTRYPOINT ["bash", "start.sh"]\n',
        "docs/src/legacy/legacy_support.yml": (
            'tensorflow: [{version: "2.11", eop: "2023-11-18"}]\n'
            'pytorch: [{version: "1.13", eop: "2024-10-28"}]\n'
        ),
        "docs/src/data/tensorflow-training/2.21-gpu-sagemaker.yml": (
            'framework: TensorFlow\nversion: "2.21"\naccelerator: gpu\npython: py312\n'
            'cuda: cu129\neop: "2027-07-10"\ntags: ["2.21.0-gpu-py312-cu129-sagemaker"]\n'
        ),
    }
    repository(first, "v1.9-tf-sagemaker-2.12.0-tr-py310")
    newer = {f"{folder}/cu118/Dockerfile.gpu": "FROM cuda\nRUN pip install horovod==0.27.0"}
    repository(newer, "v1.10-tf-sagemaker-2.12.0-tr-gpu-py310")
    clone = repository({}, "v9.9-tf-sagemaker-2.12.0-inf-gpu-py310")

    made = sagemaker_dockerfiles.make(argparse.Namespace(repository=str(clone)), {})

    released, documented = made["images"]
    assert released == {
        "framework": "tensorflow",
        "version": "2.12.0",
        "python": "3.10",
        "cuda": "11.8",
        "horovod": {"gpu": "0.27.0", "cpu": "0.26.0"},
        "entry": "",
        "scripts": [],
        "last_release": released["last_release"],
        "read_from": "v1.10-tf-sagemaker-2.12.0-tr-gpu-py310",
    }
    assert (documented["version"], documented["horovod"]["gpu"]) == ("2.21.0", None)
    assert documented["entry"] == "bash start.sh"
    assert made["end_of_patch"] == {
        "pytorch 1.13": "2024-10-28",
        "tensorflow 2.11": "2023-11-18",
        "tensorflow 2.21": "2027-07-10",
    }
