"""What each provider needs of an image, over tables of facts."""

from __future__ import annotations

import ast
from typing import Any

import pytest

from launchers.core.model.image_needs import ImageNeeds, Part
from launchers.core.strategies import FIRST, NAMES, named
from launchers.core.strategies.strategy import Strategy
from launchers.image.check import MISSING, CheckedImage, needs_for, rows

GOOD: dict[str, Any] = {
    "architecture": "amd64",
    "python": "3.11.2",
    "user": 0,
    "versions": {
        "tensorflow": "2.18.1",
        "tf-keras": "2.18.0",
        "torch": "",
        "horovod": "0.28.1",
        "mpi4py": "4.1.2",
        "sagemaker-training": "5.1.4",
    },
    "horovod": {"tensorflow": {"mpi": True, "gloo": True, "nccl": False}},
    "mpirun": {"path": "/usr/bin/mpirun", "version": "4.1.4", "name": "mpirun (Open MPI) 4.1.4"},
    "mpi4py": "",
    "sshd": {
        "path": "/usr/sbin/sshd",
        "keys": ["ed25519"],
        "pam": True,
        "login": "",
        "environment": True,
    },
    "train": "/opt/venv/bin/train",
    "shim": "",
    "code": [],
    "ranks": "",
    "answers": {"private-keys": "none"},
    "errors": {},
}
NO_SSHD = {"path": "", "keys": [], "pam": False, "login": "", "environment": False}


def changed(**changes: Any) -> dict[str, Any]:
    """GOOD with keys replaced; ``versions`` and ``sshd`` are merged."""
    merged = {**GOOD, **changes}
    for key in ("versions", "sshd"):
        merged[key] = {**GOOD[key], **changes.get(key, {})}
    return merged


def checked(facts: dict[str, Any]) -> CheckedImage:
    return CheckedImage("image", "sha256:0", 1, rows(facts), False, ())


def test_an_image_with_everything_lacks_nothing() -> None:
    assert checked(GOOD).missing() == []
    assert checked(GOOD).as_dict()["usable"] == {"sagemaker": True, "vertex": True}


@pytest.mark.parametrize(
    ("changes", "missing", "sagemaker", "vertex"),
    [
        ({"architecture": "arm64"}, ["architecture"], False, False),
        ({"python": "3.7.17"}, ["python"], False, False),
        ({"python": "3.10.1"}, [], True, True),
        ({"versions": {"tf-keras": ""}}, ["tf-keras"], False, False),
        ({"versions": {"tf-keras": "", "tensorflow": "2.15.1"}}, [], True, True),
        ({"versions": {"tf-keras": "", "tensorflow": "", "torch": "1.13.1"}}, [], True, True),
        (
            {"versions": {"tensorflow": ""}, "horovod": {}},
            ["framework", "horovod", "horovod-gloo", "horovod-mpi"],
            False,
            False,
        ),
        (
            {"horovod": {"tensorflow": {"error": "no libmpi.so.40"}}},
            ["horovod", "horovod-gloo", "horovod-mpi"],
            False,
            False,
        ),
        (
            {"horovod": {"tensorflow": {"mpi": False, "gloo": True, "nccl": False}}},
            ["horovod-mpi"],
            False,
            True,
        ),
        (
            {"horovod": {"tensorflow": {"mpi": True, "gloo": False, "nccl": False}}},
            ["horovod-gloo"],
            True,
            False,
        ),
        ({"mpirun": {"path": "", "version": "", "name": ""}}, ["mpirun"], False, True),
        (
            {"mpirun": {"path": "/usr/bin/mpirun", "version": "4.0", "name": "HYDRA build"}},
            ["mpirun"],
            False,
            True,
        ),
        ({"versions": {"mpi4py": ""}}, ["mpi4py"], False, True),
        ({"mpi4py": "libmpi.so.40: cannot open"}, ["mpi4py"], False, True),
        ({"ranks": "ranks 0/1, 0/1 of 2"}, ["ranks"], False, True),
        ({"sshd": NO_SSHD}, ["sshd"], False, True),
        (
            {"sshd": {"keys": [], "login": "no hostkeys available"}},
            ["host-keys", "root-login"],
            False,
            True,
        ),
        ({"sshd": {"login": "Permission denied (publickey)"}}, ["root-login"], False, True),
        ({"sshd": {"pam": False, "environment": False}}, ["pam"], False, True),
        ({"sshd": {"pam": True, "environment": False}}, ["pam"], False, True),
        ({"versions": {"sagemaker-training": ""}, "train": ""}, ["toolkit"], False, True),
        ({"train": ""}, ["toolkit"], False, True),
        ({"shim": "No module named 'gethostname'"}, ["shim"], False, True),
        ({"code": ["train.py"]}, ["code"], False, True),
    ],
)
def test_what_is_missing_is_named_for_the_provider_that_needs_it(
    changes: dict[str, Any], missing: list[str], sagemaker: bool, vertex: bool
) -> None:
    image = checked(changed(**changes))

    assert [row.need.name for row in image.missing()] == missing
    assert image.as_dict()["usable"] == {"sagemaker": sagemaker, "vertex": vertex}
    assert [problem.rule for problem in image.problems()] == [f"image-{name}" for name in missing]
    for problem in image.problems():
        assert problem.fix
        assert problem.found


def test_every_row_has_a_rule_of_its_own() -> None:
    ids = """
        image-architecture image-code image-framework image-horovod image-horovod-gloo
        image-horovod-mpi image-host-keys image-mpi4py image-mpirun image-pam image-private-keys
        image-python image-ranks image-root-login image-shim image-sshd image-tf-keras image-toolkit
    """
    assert sorted(f"image-{row.need.name}" for row in checked(GOOD).rows) == ids.split()


def test_a_private_key_in_the_image_is_a_warning_and_keeps_nobody_from_running_it() -> None:
    image = checked(changed(answers={}, errors={"private-keys": "/root/.ssh/id_rsa"}))

    (problem,) = image.problems()
    assert (problem.rule, problem.severity) == ("image-private-keys", "warning")
    assert problem.found == "/root/.ssh/id_rsa"
    assert image.as_dict()["usable"] == {"sagemaker": True, "vertex": True}
    assert image.as_dict()["checks"][-1]["state"] == "advice"


def test_every_row_that_is_missing_says_so_in_json() -> None:
    answer = checked(changed(train="")).as_dict()

    assert [item["name"] for item in answer["checks"] if item["state"] == MISSING] == ["toolkit"]
    assert [item["name"] for item in answer["checks"] if item["fix"]] == ["toolkit"]


# A strategy of the test's own: one package, one of its parts, two ranks.
OWN = ImageNeeds(
    packages=("aether",),
    parts=(
        Part("aether", "Aether", "pip install aether"),
        Part("waves", "Aether's waves", "build Aether with WAVES=1"),
        Part("ranks", "two ranks find each other", "see what they say"),
    ),
    programs={"aether": "", "ranks": ""},
    remark="no light in its Aether",
)
ALL = {"aether": "1.0", "waves": "built in", "ranks": "world size 2"}


@pytest.mark.parametrize(
    ("answers", "errors", "states"),
    [
        (ALL, {}, {"aether": "1.0", "waves": "built in", "ranks": "world size 2"}),
        ({}, {"aether": "No module named 'aether'"}, {"aether": "-No module named 'aether'"}),
        (
            {"aether": "1.0"},
            {"ranks": "timed out"},
            {"aether": "1.0", "waves": "-", "ranks": "-timed out"},
        ),
    ],
    ids=["all", "not installed", "parts missing"],
)
def test_a_strategys_own_table_takes_the_place_of_horovods(
    answers: dict[str, str], errors: dict[str, str], states: dict[str, str]
) -> None:
    answers = {**answers, "private-keys": "none"}
    facts = {"architecture": "amd64", "python": "3.11.2", "answers": answers, "errors": errors}
    image = CheckedImage("image", "sha256:0", 1, rows(facts, OWN), None, (), (), "own")

    found = {row.need.name: ("-" if row.state == MISSING else "") + row.found for row in image.rows}
    always = {"architecture": "amd64", "python": "3.11.2", "private-keys": "none"}
    assert found == {**always, **states}
    assert [problem.rule for problem in image.problems()] == ["image-strategy"] * len(
        [text for text in states.values() if text.startswith("-")]
    )


@pytest.mark.parametrize("name", [name for name in NAMES if name != FIRST])
def test_every_strategy_but_horovod_has_a_table_of_its_own(name: str) -> None:
    needs = needs_for(named(name))

    assert needs is not None
    parts = {part.name for part in needs.parts}
    assert set(needs.packages) <= parts, "a quick look tells of missing packages by their parts"
    assert set(needs.programs) <= parts
    for part, program in needs.programs.items():
        ast.parse(program, part, feature_version=(3, 8))


def test_a_strategy_that_says_no_more_needs_its_package() -> None:
    needs = needs_for(Strategy("own", "Own", library="Aether", package="aether", install="get it"))

    assert needs is not None
    assert needs.packages == ("aether",)
    assert needs.parts == (Part("aether", "Aether", "get it"),)
    assert needs_for(named(FIRST)) is None
