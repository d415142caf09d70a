"""The recipe: its pins, its names, what a build is given of it."""

from __future__ import annotations

import ast
import compileall
import shutil
import tarfile
from pathlib import Path

import pytest

from infra.bootstrap import locks, requirements
from launchers.core.model.problems import LaunchError
from launchers.core.paths import images_folder
from launchers.core.records import pushed_image
from launchers.core.records.ledger import data_folder
from launchers.image import build, names, probe
from launchers.image.build import BuildRequest
from launchers.image.build_context import context, files_of
from launchers.image.host_settings import HostSettings
from launchers.image.own_requirements import own_requirements
from launchers.image.recipes import HOROVOD, RECIPES, SPARK, recipe_digest, recipe_files
from launchers.image.steps import instructions
from tests.cli.command import Launch
from tests.image.told import NOTHING_OF_THE_HOST
from tests.places import ROOT

FOLDER = images_folder()
PINS = FOLDER / "pins"


def pinned() -> dict[str, str]:
    """Project to version, of all files of pins."""
    found: dict[str, str] = {}
    for file in PINS.iterdir():
        for line in requirements.lines(file):
            assert requirements.name(line) not in found, line
            found[requirements.name(line)] = requirements.pin(file, requirements.name(line))
    return found


def test_every_package_of_the_image_is_pinned_once() -> None:
    assert len(pinned()) > 50


def test_the_image_holds_the_training_stack_of_the_requirements() -> None:
    training = ROOT / "requirements-training.txt"

    for project in ("tensorflow", "tf-keras", "horovod"):
        assert pinned()[project] == requirements.pin(training, project)


def test_every_slow_instruction_has_a_title() -> None:
    found = instructions((FOLDER / "Dockerfile").read_text())

    assert not [item.text for item in found if item.text.startswith("RUN") and not item.title]


def test_the_dockerfile_names_the_bases_that_the_command_uses() -> None:
    text = (FOLDER / "Dockerfile").read_text()

    for base in (build.CPU_BASE, *build.GPU_BASES):
        assert base in text


def test_the_gpu_variant_is_said_to_be_unbuilt_where_it_is_read() -> None:
    text = " ".join((FOLDER / "Dockerfile").read_text().split())

    assert "The GPU variant (`--gpu`) has not been built by us" in text


@pytest.mark.parametrize(
    ("request_", "bases", "ending"),
    [
        (BuildRequest(), ("debian:bookworm-slim",) * 2, ""),
        (BuildRequest(base="mine:1"), ("mine:1",) * 2, ""),
        (BuildRequest(gpu=True), build.GPU_BASES, "-gpu"),
        (BuildRequest(gpu=True, base="cuda:1"), ("cuda:1",) * 2, "-gpu"),
    ],
)
def test_a_request_gives_bases_and_name(
    request_: BuildRequest, bases: tuple[str, str], ending: str
) -> None:
    assert request_.bases == bases
    assert request_.name.startswith("launch-horovod:")
    assert request_.name.endswith("-gpu") is bool(ending)


def test_the_context_is_the_recipe_with_the_hosts_settings_and_nothing_else() -> None:
    host = HostSettings("[global]\nindex-url = https://a\n", b"CERTIFICATES", {}, None, ())

    with tarfile.open(fileobj=context(recipe_files(FOLDER), host)) as archive:
        held = {entry.name: archive.extractfile(entry).read() for entry in archive}  # type: ignore[union-attr]

    assert set(held) == set(recipe_files(FOLDER))
    assert held["host/pip.conf"] == host.pip_conf.encode()
    assert held["host/ca.pem"] == host.ca_bundle


def test_the_same_recipe_gives_the_same_bytes() -> None:
    files = recipe_files(FOLDER)

    first, second = (context(files, NOTHING_OF_THE_HOST).read() for _ in range(2))

    assert first == second


def test_the_digest_is_of_the_recipe_and_not_of_the_hosts_settings(tmp_path: Path) -> None:
    (tmp_path / "host").mkdir()
    (tmp_path / "Dockerfile").write_text("FROM scratch\n")
    before = recipe_digest(tmp_path)

    (tmp_path / "host" / "pip.conf").write_text("[global]\n")
    assert recipe_digest(tmp_path) == before
    (tmp_path / "Dockerfile").write_text("FROM other\n")
    assert recipe_digest(tmp_path) != before


@pytest.mark.parametrize("recipe", RECIPES)
def test_what_python_compiles_is_no_part_of_the_recipe(tmp_path: Path, recipe: str) -> None:
    folder = tmp_path / "images"
    shutil.copytree(FOLDER, folder, ignore=shutil.ignore_patterns("__pycache__"))
    before = (recipe_digest(folder, recipe), recipe_files(folder, recipe))
    assert compileall.compile_dir(folder, quiet=1)
    assert list(folder.rglob("*.pyc"))
    assert (recipe_digest(folder, recipe), recipe_files(folder, recipe)) == before


def test_the_probe_keeps_to_the_syntax_of_python_3_6() -> None:
    program = probe.source("facts")[1]

    ast.parse(program, feature_version=(3, 6))
    # One argument of a command line holds 128 KB on Linux.
    assert len(program.encode()) < 100_000


def test_what_was_pushed_last_is_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAUNCH_HOME", str(tmp_path))
    assert pushed_image.last_pushed() is None

    pushed_image.remember_pushed("a.example/x@sha256:1", "a.example/x:1")
    pushed_image.remember_pushed("a.example/x@sha256:2", "a.example/x:2")

    assert pushed_image.last_pushed() == "a.example/x@sha256:2"
    assert [file.name for file in data_folder().iterdir()] == ["image.json"]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"reference": 3}', "not json"])
def test_a_broken_note_of_the_last_push_counts_as_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setenv("LAUNCH_HOME", str(tmp_path))
    (tmp_path / "image.json").write_text(text)

    assert pushed_image.last_pushed() is None


def framework_pins() -> dict[str, str]:
    """Project to version, of the pins of the images without Horovod, which agree."""
    found: dict[str, str] = {}
    for file in (FOLDER / "frameworks" / "pins").iterdir():
        for line in requirements.lines(file):
            pin = requirements.pin(file, requirements.name(line))
            assert found.get(requirements.name(line), pin) == pin, line
            found[requirements.name(line)] = pin
    return found


def test_images_without_horovod_share_the_pins_of_what_both_have() -> None:
    both = set(framework_pins()) & set(pinned()) - {"setuptools"}

    assert {"numpy", "boto3", "botocore", "s3transfer"} <= both
    assert {name: framework_pins()[name] for name in both} == {
        name: pinned()[name] for name in both
    }


@pytest.mark.parametrize("recipe", [name for name, one in RECIPES.items() if one.pins])
def test_an_image_without_horovod_is_built_of_its_own_files_alone(recipe: str) -> None:
    files = recipe_files(FOLDER, recipe)

    assert set(files) == {
        "Dockerfile",
        "host/ca.pem",
        "host/pip.conf",
        "own/requirements.txt",
        "pins/framework.txt",
        "pins/pictures.txt",
        "pins/secrets.txt",
        "sbom/sbom.py",
    }
    assert f"\n{recipe}==".encode() in files["pins/framework.txt"]
    assert not any(b"horovod==" in content for content in files.values())
    assert recipe_digest(FOLDER, recipe) != recipe_digest(FOLDER)
    assert BuildRequest(recipe=recipe).name.startswith(f"launch-{recipe}:")
    assert BuildRequest(gpu=True, recipe=recipe).bases == (build.CPU_BASE,) * 2


def test_horovods_image_knows_nothing_of_the_others() -> None:
    others = ("frameworks", "own", "spark")
    assert not [name for name in recipe_files(FOLDER) if any(one in name for one in others)]


def test_sparks_layers_have_files_of_their_own_and_begin_with_our_image() -> None:
    assert set(recipe_files(FOLDER, SPARK)) == {
        "Dockerfile",
        "host/ca.pem",
        "host/pip.conf",
        "pins/spark.txt",
        "sbom/sbom.py",
    }
    request = BuildRequest(recipe=SPARK)
    assert request.name.startswith("launch-spark:")
    assert request.bases == (names.default_tag(),) * 2
    assert BuildRequest(recipe=SPARK, gpu=True).bases == (names.default_tag(gpu=True),) * 2
    assert BuildRequest(recipe=SPARK, base="mine:1").bases == ("mine:1", "mine:1")
    found = instructions((FOLDER / "spark" / "Dockerfile").read_text())
    assert not [item.text for item in found if item.text.startswith("RUN") and not item.title]


def test_the_image_has_the_spark_that_the_locks_have() -> None:
    pins = requirements.lines(FOLDER / "spark" / "pins" / "spark.txt")

    locked = locks.read(ROOT, "spark")

    assert sorted(pins) == sorted(f"{name}=={pin}" for name, pin, *_ in locked)


def test_an_image_with_spark_stands_for_no_other_and_keeps_what_its_ranks_train_by() -> None:
    over_torch = {names.WITH_LABEL: "torch", names.LAYER_LABEL: SPARK}

    assert names.recipe_of({}) == HOROVOD
    assert names.recipe_of({names.WITH_LABEL: "torch"}) == "torch"
    assert names.recipe_of(over_torch) == SPARK
    assert f"{names.LAYER_LABEL}={SPARK}" in (FOLDER / "spark" / "Dockerfile").read_text()


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        ("wandb==0.1", True),
        ("torchvision==0.2", True),
        ("--extra-index-url https://a.example\nTorch>=2", False),
    ],
)
def test_a_framework_of_the_users_own_takes_the_place_of_ours(line: str, kept: bool) -> None:
    request = BuildRequest(recipe="torch", requirements=line.encode())

    files = files_of(FOLDER, request.recipe, request.requirements)

    assert files["own/requirements.txt"] == line.encode()
    assert bool(files["pins/framework.txt"]) is kept


def test_a_release_of_pillow_of_the_users_own_takes_the_place_of_ours() -> None:
    request = BuildRequest(recipe="torch", requirements=b"pillow>=11\n")

    pins = files_of(FOLDER, request.recipe, request.requirements)["pins/pictures.txt"].decode()

    assert "pillow" not in pins
    assert "pyarrow==" in pins


def test_requirements_that_would_leave_a_password_in_a_layer_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "requirements.txt"
    file.write_text("wandb\n--extra-index-url https://me:word@a.example/simple\n")

    with pytest.raises(LaunchError) as caught:
        own_requirements(file, "torch")

    (problem,) = caught.value.problems
    assert (problem.rule, problem.path) == ("image-index-password", f"{file}:2")
    assert "word@" not in str(problem)


@pytest.mark.parametrize("recipe", [HOROVOD, SPARK])
def test_requirements_would_change_what_horovod_was_compiled_against(
    launch: Launch, recipe: str
) -> None:
    answer = launch("image", "build", "--with", recipe, "--requirements", "any.txt")

    assert answer.code == 2
    assert f"--requirements: --with {recipe}" in answer.err
    assert "[image-horovod-pins]" in answer.err
