"""The pre-commit hook and the GitHub Action: what they run is the command as it is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from launchers.cli.reports import REPORTS
from launchers.cli.verbs.check import command
from tests.cli.checking.conftest import Here, broken, job
from tests.places import ROOT

ACTION = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
STEPS = {step["name"]: step for step in ACTION["runs"]["steps"]}


def test_the_hook_runs_the_command_on_json_and_yaml() -> None:
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
    assert (hook["id"], hook["entry"], hook["language"]) == (
        "launch-check",
        "launch check",
        "python",
    )
    assert hook["types_or"] == ["json", "yaml"]


def test_the_action_uses_no_other_action_and_every_input() -> None:
    assert ACTION["runs"]["using"] == "composite"
    assert all("uses" not in step for step in STEPS.values())
    expressions = json.dumps([step["env"] for step in STEPS.values()])
    assert all(f"${{{{ inputs.{name} }}}}" in expressions for name in ACTION["inputs"])
    # What a pull request's author writes reaches the shell as a variable alone.
    assert all("${{" not in step["run"] for step in STEPS.values())
    assert ACTION["outputs"]["report"]["value"] == "${{ steps.check.outputs.report }}"


def test_every_flag_that_the_action_gives_is_one_of_the_command() -> None:
    flags = {flag for parameter in command.params for flag in parameter.opts}
    assert {"--report", "--output", "--strict", "--world-size"} <= flags
    assert all(form in ACTION["inputs"]["report"]["description"] for form in REPORTS)


@pytest.mark.processes
@pytest.mark.parametrize(
    ("inputs", "code", "output"),
    [
        ({"files": "good.json"}, 0, "launch-check.sarif"),
        ({"files": "\n  jobs/**/*.json\n  good.json\n"}, 2, "launch-check.sarif"),
        ({"files": "good.json", "report": "junit"}, 0, "launch-check.xml"),
        ({"files": "good.json", "world-size": "16", "output": "a b.md"}, 2, "a b.md"),
        ({"files": ""}, 2, None),
        ({"files": "--help"}, 2, "launch-check.sarif"),
        ({"files": "$(touch stolen)"}, 2, "launch-check.sarif"),
    ],
)
def test_the_actions_steps_check_and_leave_the_report(
    here: Here, inputs: dict[str, str], code: int, output: str | None
) -> None:
    here.write("good.json", job())
    here.write("jobs/deep/bad job.json", broken())
    place = here.folder / "runner" / "launch-check"
    (place / "bin").mkdir(parents=True)
    python = place / "bin" / "python"
    # Isolated, it would not find this clone by PYTHONPATH.
    python.write_text(f'#!/bin/sh\n[ "$1" = -I ] && shift && exec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    ended = step(STEPS["Check"], inputs, here.folder)
    assert ended.returncode == code, ended.stderr
    if output:
        assert (here.folder / output).stat().st_size > 0
        assert (here.folder / "outputs").read_text() == f"report={output}\n"
    assert not (here.folder / "stolen").exists()


@pytest.mark.pip_network
def test_no_file_of_the_checkout_is_taken_for_a_module_of_the_actions_own(here: Here) -> None:
    """The checkout may be a stranger's: a venv.py in it would run with the workflow's rights."""
    here.write("good.json", job())
    for name in ("venv", "pip", "types", "yaml", "click"):
        (here.folder / f"{name}.py").write_text("open('stolen', 'w').close()\n")
    inputs = {"files": "good.json", "python": sys.executable}
    for name in ("Install launch", "Check"):
        ended = step(STEPS[name], inputs, here.folder, PYTHONPATH=".")
        assert ended.returncode == 0, ended.stderr
    assert not (here.folder / "stolen").exists()
    assert (here.folder / "launch-check.sarif").stat().st_size > 0


def step(
    described: dict[str, Any], inputs: dict[str, str], folder: Path, **variables: str
) -> subprocess.CompletedProcess[str]:
    """A step's shell as the runner starts it."""
    values = {name: str(one.get("default", "")) for name, one in ACTION["inputs"].items()}
    given = {f"${{{{ inputs.{name} }}}}": text for name, text in {**values, **inputs}.items()}
    runner = {
        "${{ runner.temp }}": str(folder / "runner"),
        "${{ github.action_path }}": str(ROOT),
    }
    variables = {"PYTHONPATH": str(ROOT), **variables}
    for name, text in described["env"].items():
        for expression, value in {**given, **runner}.items():
            text = text.replace(expression, value)
        variables[name] = text
    script = folder / "step.sh"
    script.write_text(described["run"])
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", str(script)],
        cwd=folder,
        env={
            **os.environ,
            **variables,
            "GITHUB_OUTPUT": str(folder / "outputs"),
        },
        text=True,
        capture_output=True,
        timeout=300,
        stdin=subprocess.DEVNULL,
        check=False,
    )
