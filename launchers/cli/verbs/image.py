"""`launch image build|check|diff`: the image that the ranks run in, in the clouds and here."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from launchers.cli.show.as_json import problem_as_json
from launchers.cli.show.output import answer, say, say_problems, styled
from launchers.cli.show.progress import LiveProgress
from launchers.cli.show.table import table
from launchers.cli.values import FlagType
from launchers.cli.verb import Verb
from launchers.cli.verb_group import VerbGroup
from launchers.core.model.problems import EXIT_BAD_REQUEST, EXIT_JOB_DID_NOT_SUCCEED, EXIT_OK
from launchers.core.spec.value_types import Text
from launchers.core.strategies import NAMES
from launchers.image.check import CheckedImage
from launchers.image.needs import PROVIDERS, TITLES
from launchers.image.recipes import HOROVOD, RECIPES

if TYPE_CHECKING:
    from launchers.cli.answers.images import BuiltImageAnswer
    from launchers.image.build import BuiltImage

# An empty one is a variable of a shell that was never set: it names nothing.
_TEXT = FlagType(Text())


@click.group(
    "image",
    cls=VerbGroup,
    examples=("launch image build", "launch image check IMAGE --for sagemaker"),
    elsewhere={"push": "launch image build --push HOST/PATH:TAG"},
    help="Build, push, check and compare images that ranks run in.",
)
def command() -> None:
    """The group of the verbs below."""


@command.command(
    "build",
    cls=Verb,
    examples=("launch image build", "launch image build --with torch --push HOST/PATH:TAG"),
    help="Build the image for SageMaker, Vertex AI and --dry-run=docker.",
)
@click.option(
    "--with",
    "recipe",
    type=click.Choice(tuple(RECIPES)),
    default=HOROVOD,
    help="What the ranks train by. All others come without Horovod, MPI and sshd; spark is Java "
    "and PySpark over Horovod's image, or over --base.",
)
@click.option("--gpu", is_flag=True, help="With CUDA and NCCL; not yet built by us, see docs.")
@click.option(
    "--base",
    type=_TEXT,
    metavar="IMAGE",
    help="Begin with this image instead; a framework that it has is used as it is.",
)
@click.option(
    "--requirements",
    type=_TEXT,
    metavar="FILE",
    help="Packages of your own, too; a torch or tensorflow in it replaces ours. Not with horovod.",
)
@click.option(
    "--tag", type=_TEXT, metavar="TAG", help="The image's name. Default: launch-horovod:VERSION"
)
@click.option(
    "--push",
    "repository",
    type=_TEXT,
    metavar="REPO",
    help="The repository to push to: HOST/PATH[:TAG].",
)
@click.option(
    "--sbom",
    type=_TEXT,
    metavar="FILE",
    help="Write its bill of materials (CycloneDX) there, too.",
)
@click.option("--no-cache", "is_anew", is_flag=True, help="Build every layer anew.")
@click.option(
    "--keep-stage",
    "keeps_stage",
    is_flag=True,
    help="Keep the build stage (3 GB), for a quick next build of a changed recipe.",
)
@click.option("--json", "as_json", is_flag=True, help="The answer as JSON on stdout.")
def build_command(
    recipe: str,
    gpu: bool,
    base: str | None,
    requirements: str | None,
    tag: str | None,
    repository: str | None,
    sbom: str | None,
    is_anew: bool,
    keeps_stage: bool,
    as_json: bool,
) -> int:
    """Build, then print size and versions; push where asked."""
    from launchers.docker.engine import connected
    from launchers.image import build as image_build
    from launchers.image import push as image_push
    from launchers.image.host_settings import host_settings
    from launchers.image.names import check_tag
    from launchers.image.own_requirements import own_requirements
    from launchers.image.sbom import check_place, save_sbom

    own = own_requirements(Path(requirements), recipe) if requirements else b""
    request = image_build.BuildRequest(gpu, base, tag, recipe, own, is_anew, keeps_stage)
    reference = None
    # What is wrong with these shows before minutes of a build.
    check_tag(request.name)
    if repository:
        image_push.target(repository, request.name)
    if sbom:
        check_place(Path(sbom))
    with connected() as client:
        say(
            f"{styled('image', 'bold')}  {request.name} from {' and '.join(set(request.bases))}, "
            f"{'GPU' if gpu else 'CPU'}"
        )
        if gpu:
            say("  the GPU variant has not been built or tried by us: check it before you use it")
        if RECIPES[recipe].warning and not (base or gpu):
            say(f"  {RECIPES[recipe].warning}")
        host = host_settings()
        for note in host.notes:
            say(f"  {note}")
        with LiveProgress() as progress:
            built = image_build.build(client, request, host, progress)
        _say_built(built)
        if sbom:
            say(f"bill of materials: {sbom}, {save_sbom(client, built.id, Path(sbom))} components")
        if repository:
            client.api.timeout = image_push.PUSH_SECONDS
            with LiveProgress() as progress:
                reference = image_push.push(client, built.tag, repository, progress)
            say(f"pushed {reference}")
            say(f"use it with: --image {reference}")
    if as_json:
        answer(_built_as_json(built, reference))
    return EXIT_OK


@command.command(
    "check",
    cls=Verb,
    examples=("launch image check IMAGE --for sagemaker",),
    help="Check that an image has what a provider needs.",
)
@click.argument("image", metavar="IMAGE")
@click.option(
    "--for",
    "providers",
    multiple=True,
    type=click.Choice(PROVIDERS),
    default=PROVIDERS,
    help="Only what this provider needs. Default: all.",
)
@click.option(
    "--strategy",
    type=click.Choice(NAMES),
    help="What its ranks train by. Default: what `image build --with` made it for, else horovod.",
)
@click.option("--json", "as_json", is_flag=True, help="The answer as JSON on stdout.")
def check_command(
    image: str, providers: tuple[str, ...], strategy: str | None, as_json: bool
) -> int:
    """Exit 0 where nothing is missing for ``providers``, else 2 with what to add."""
    from launchers.docker.engine import connected
    from launchers.image.check import check
    from launchers.image.names import made_for

    with connected() as client, LiveProgress() as progress:
        progress.step(f"Look into {image}")
        checked = check(client, image, strategy or made_for(client, image))
    if as_json:
        problems = [problem_as_json(one) for one in checked.problems(providers)]
        answer({**checked.as_dict(), "remarks": list(checked.remarks), "problems": problems})
    else:
        _print_checked(checked, providers)
    say_problems(checked.problems(providers))
    return EXIT_BAD_REQUEST if checked.missing(providers) else EXIT_OK


def _built_as_json(built: BuiltImage, pushed: str | None) -> BuiltImageAnswer:
    return {
        "image": built.tag,
        "id": built.id,
        "size": built.size,
        "architecture": built.architecture,
        "versions": dict(built.versions),
        "cached": built.cached,
        "seconds": round(built.seconds, 1),
        "freed": built.freed,
        "pushed": pushed,
    }


@command.command(
    "diff",
    cls=Verb,
    examples=("launch image diff launch-horovod:1 launch-horovod:2",),
    help="What differs between the files of two images.",
)
@click.argument("first", metavar="IMAGE")
@click.argument("second", metavar="IMAGE")
@click.option("--json", "as_json", is_flag=True, help="The answer as JSON on stdout.")
def diff_command(first: str, second: str, as_json: bool) -> int:
    """Exit 0 where nothing differs but what two builds of one recipe do, else 1."""
    from launchers.docker.engine import connected
    from launchers.image.compare import compare

    with connected() as client, LiveProgress() as progress:
        progress.step(f"Compare {first} with {second}")
        paths, found = compare(client, first, second)
    others = [one for one in found if not one.why]
    if as_json:
        answer({"images": [first, second], "paths": paths, "differences": list(map(asdict, found))})
    else:
        if others:
            table(("PATH", "DIFFERS"), [(one.path, one.what) for one in others])
        for why, count in Counter(one.why for one in found if one.why).items():
            say(f"{count} as between any two builds: {why}")
        say(f"{paths} paths, {len(found)} differ, {len(others)} of them without a known reason")
    return EXIT_JOB_DID_NOT_SUCCEED if others else EXIT_OK


def _say_built(built: BuiltImage) -> None:
    from launchers.docker.progress import clock, size_text
    from launchers.image import build as image_build

    took = "all layers were there" if built.cached else f"built in {clock(built.seconds)}"
    if built.freed:
        took += f"; {size_text(built.freed)} of build stage and earlier image removed"
    say(f"{styled(built.tag, 'bold')}: {size_text(built.size)}, {took}")
    say("  " + ", ".join(f"{name} {version}" for name, version in built.versions.items()))
    if built.architecture != image_build.ARCHITECTURE:
        say(
            f"warning: it is for {built.architecture}; the clouds' GPU machines are "
            f"{image_build.ARCHITECTURE}: build it on such a machine for them"
        )
    say(f"next: launch image check {built.tag}")


def _print_checked(checked: CheckedImage, providers: tuple[str, ...]) -> None:
    from launchers.docker.progress import size_text

    rows = [
        (
            row.need.title,
            row.found or "-",
            *((row.state if name in row.need.providers else "not needed") for name in providers),
        )
        for row in checked.rows
        if set(row.need.providers) & set(providers)
    ]
    columns = ("NEEDED", "FOUND", *(TITLES[name].upper() for name in providers))
    table(columns, rows, prose="FOUND")
    say(f"{checked.image}: {size_text(checked.size)}, {checked.id[:19]}")
    for text in checked.remarks:
        say(text)
    if checked.entrypoint:
        say(f"its ENTRYPOINT {list(checked.entrypoint)} gets the service's command as arguments")
    for name in providers:
        lacks = checked.missing([name])
        say(f"{TITLES[name]}: " + (f"{len(lacks)} missing" if lacks else "has everything"))
