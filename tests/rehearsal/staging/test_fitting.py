"""What would end every rank is told before the first container of the job. No engine is asked."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import pytest

from launchers.core.analysis.facts import SourceFacts, facts_in
from launchers.core.model.problems import LaunchError
from launchers.core.source.texts import SourceTexts
from launchers.core.strategies import named
from launchers.image.check import MISSING, OK, CheckedImage, Row
from launchers.image.needs import NEEDS, needs_of
from launchers.rehearsal.staging import fitting, script_reading
from launchers.rehearsal.staging.fitting import refuse_unfit
from tests.refusals import refused
from tests.rehearsal.boxes import box

OURS = ".".join(map(str, sys.version_info[:2]))
MPI = ("python", "horovod", "toolkit", "mpirun", "sshd")
CLIENT: Any = object()


def looked(*missing: str, strategy: str = "horovod", python: str = f"{OURS}.7") -> CheckedImage:
    """What a quick look found that misses these rows."""
    needs = NEEDS if strategy == "horovod" else needs_of(named(strategy).image)
    rows = [
        Row(need, MISSING, "") if need.name in missing else Row(need, OK, python) for need in needs
    ]
    return CheckedImage("image:1", "sha256:1", 1, tuple(rows), None, ())


def fit(
    monkeypatch: pytest.MonkeyPatch,
    found: CheckedImage,
    *,
    needed: Sequence[str] = MPI,
    strategy: str = "horovod",
    script: str = "import a",
    **files: str,
) -> None:
    monkeypatch.setattr(fitting, "quick_look", lambda *given: found)
    command = tuple(files.pop("command", "train").split())
    containers = [box(1, "", image="image:1", command=command)]
    refuse_unfit(CLIENT, containers, needed, "sagemaker", named(strategy), facts(script, **files))


def facts(script: str, **files: str) -> SourceFacts:
    contents = {"train.py": script.encode()}
    contents.update({name.replace("__", "."): text.encode() for name, text in files.items()})
    found = facts_in(SourceTexts(contents=contents), "train.py")
    assert found is not None
    return found


def test_an_image_that_has_all_of_it_is_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    fit(monkeypatch, looked())


@pytest.mark.parametrize("missing", ["horovod", "toolkit", "mpirun", "sshd"])
def test_what_the_start_needs_and_the_image_lacks_is_told(
    missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with refused(f"image-{missing}", "`launch image check image:1` tells all that it lacks"):
        fit(monkeypatch, looked(missing))


def test_where_two_recipes_make_the_image_both_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    found = looked("torch", strategy="torch")
    monkeypatch.setattr(fitting, "quick_look", lambda *given: found)
    hosts = [box(1, "", image="image:1")]
    with refused("image-strategy", "--with torch` makes one, and .* --with spark --base IMAGE` "):
        refuse_unfit(CLIENT, hosts, (), "spark", named("torch"), None, "spark")


def test_everything_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(LaunchError) as raised:
        fit(monkeypatch, looked("horovod", "sshd"))
    assert [one.rule for one in raised.value.problems] == ["image-horovod", "image-sshd"]


@pytest.mark.parametrize("missing", ["architecture", "tf-keras", "code", "sshd"])
def test_what_this_start_can_do_without_stops_nothing(
    missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fit(monkeypatch, looked(missing), needed=("python", "horovod"))


def test_the_package_of_another_strategy_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    with refused("image-strategy", "PyTorch"):
        fit(monkeypatch, looked("torch", strategy="torch"), strategy="torch", needed=("python",))


@pytest.mark.parametrize(
    "more", [{"requirements__txt": "horovod"}, {"command": "sh -c pip_install;pip install horovod"}]
)
def test_what_the_containers_install_themselves_may_be_missing(
    more: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    fit(monkeypatch, looked("horovod"), **more)
    with refused("image-sshd", "sshd"):
        fit(monkeypatch, looked("horovod", "sshd"), **more)


def test_a_script_that_cannot_be_read_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with refused("script-syntax", r"train\.py:2: a syntax error"):
        fit(monkeypatch, looked(), script="import a\nfor x in y print(x)")


def test_so_is_a_module_of_the_tree_that_it_imports(monkeypatch: pytest.MonkeyPatch) -> None:
    big = "x = 1\n" * 20_000 + "def f(:\n"
    with refused("script-syntax", r"layers\.py:20001: "):
        fit(monkeypatch, looked(), script="import layers", layers__py=big)
    fit(monkeypatch, looked(), script="import a", layers__py=big)


class Image:
    """Answers what its own Python says of the files; remembers whether it was asked."""

    def __init__(self, **found: list[Any]):
        self.found = {name.replace("__", "."): said for name, said in found.items()}
        self.asked = 0

    def answer(self, client: Any, image: str, arguments: list[str], seconds: float) -> Any:
        self.asked += 1
        return self.found


@pytest.mark.parametrize(
    ("python", "script", "says", "asked", "is_told"),
    [
        ("3.99.1", "type T[A] = lazy x", {}, 1, False),  # a syntax that ours does not know yet
        ("3.99.1", "def f(:", {"train__py": [1, "invalid syntax"]}, 1, True),
        ("3.6.9", "if (x := 1): pass", {"train__py": [1, "invalid syntax"]}, 1, True),
        ("3.6.9", "print(1)", {}, 0, False),
        ("3.99.1", "print(1)", {}, 0, False),
    ],
)
def test_a_python_of_another_version_is_asked_itself(
    python: str,
    script: str,
    says: dict[str, list[Any]],
    asked: int,
    is_told: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    image = Image(**says)
    monkeypatch.setattr(script_reading, "answer_of", image.answer)
    if is_told:
        with refused("script-syntax", f"what Python {python} of the image can read"):
            fit(monkeypatch, looked(python=python), script=script)
    else:
        fit(monkeypatch, looked(python=python), script=script)
    assert image.asked == asked


@pytest.mark.processes
def test_the_program_that_asks_a_python_gives_its_words(monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(client: Any, image: str, arguments: list[str], seconds: float) -> Any:
        done = subprocess.run([sys.executable, *arguments], capture_output=True, check=True)
        return json.loads(done.stdout.decode().rpartition(script_reading.MARK)[2])

    monkeypatch.setattr(script_reading, "answer_of", answer)
    long = "# " + "".join(chr(33 + number * 7919 % 90) for number in range(400_000))
    with refused("script-syntax", r"train\.py:2: a syntax error: "):
        fit(monkeypatch, looked(python="3.99.1"), script=f"{long}\ndef f(:")
    fit(monkeypatch, looked(python="3.6.0"), script="# -*- coding: latin-1 -*-\nif (x := 1): pass")
