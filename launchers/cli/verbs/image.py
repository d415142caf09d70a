"""`launch image build|check`: the image that the ranks run in, in the clouds and here."""

from __future__ import annotations

from pathlib import Path

import click

from launchers.cli.show.output import answer, say, say_problems, styled, table
from launchers.cli.show.progress import LiveProgress
from launchers.core.model.problems import EXIT_BAD_REQUEST, EXIT_OK
from launchers.core.strategies import NAMES
from launchers.image.check import CheckedImage
from launchers.image.needs import PROVIDERS, TITLES
from launchers.image.recipes import HOROVOD, RECIPES


@click.group("image", help="Build, push and check the image that ranks run in.")
def command() -> None:
    """The group of the verbs below."""


@command.command("build", help="Build the image for SageMaker, Vertex AI and --dry-run=docker.")
@click.option(
    "--with",
    "recipe",
    type=click.Choice(tuple(RECIPES)),
    default=HOROVOD,
    show_default=True,
    help="What the ranks train by. torch and tensorflow come without Horovod, MPI and sshd.",
)
@click.option("--gpu", is_flag=True, help="With CUDA and NCCL; not yet built by us, see docs.")
@click.option(
    "--base",
    metavar="IMAGE",
    help="Begin with this image instead; a framework that it has is used as it is.",
)
@click.option(
    "--requirements",
    metavar="FILE",
    help="Packages of your own, too; a torch or tensorflow in it replaces ours. Not with horovod.",
)
@click.option("--tag", metavar="TAG", help="The image's name. Default: launch-horovod:VERSION")
@click.option("--push", "repository", metavar="REPO", help="Push it there: HOST/PATH[:TAG].")
def build_command(
    recipe: str,
    gpu: bool,
    base: str | None,
    requirements: str | None,
    tag: str | None,
    repository: str | None,
) -> int:
    """Build, then print size and versions; push where asked."""
    from launchers.docker.engine import engine
    from launchers.image import build as image_build
    from launchers.image import push as image_push
    from launchers.image.host_settings import host_settings
    from launchers.image.own_requirements import own_requirements

    own = own_requirements(Path(requirements), recipe) if requirements else b""
    request = image_build.BuildRequest(gpu, base, tag, recipe, own)
    client = engine()
    try:
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
        if repository:
            client.api.timeout = image_push.PUSH_SECONDS
            with LiveProgress() as progress:
                reference = image_push.push(client, built.tag, repository, progress)
            say(f"pushed {reference}")
            say(f"use it with: --image {reference}")
    finally:
        client.close()
    return EXIT_OK


@command.command("check", help="Look into an image: has it what a provider needs?")
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
    from launchers.docker.engine import engine
    from launchers.image.check import check
    from launchers.image.names import made_for

    client = engine()
    try:
        with LiveProgress() as progress:
            progress.step(f"Look into {image}")
            checked = check(client, image, strategy or made_for(client, image))
    finally:
        client.close()
    if as_json:
        answer(checked.as_dict())
    else:
        _print_checked(checked, providers)
    say_problems(checked.problems(providers))
    return EXIT_BAD_REQUEST if checked.missing(providers) else EXIT_OK


def _say_built(built: object) -> None:
    from launchers.docker.progress import clock, size_text
    from launchers.image import build as image_build

    assert isinstance(built, image_build.BuiltImage)
    took = "all layers were there" if built.cached else f"built in {clock(built.seconds)}"
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
    table(("NEEDED", "FOUND", *(TITLES[name].upper() for name in providers)), rows)
    say(f"{checked.image}: {size_text(checked.size)}, {checked.id[:19]}")
    for text in checked.remarks:
        say(text)
    if checked.entrypoint:
        say(f"its ENTRYPOINT {list(checked.entrypoint)} gets the service's command as arguments")
    for name in providers:
        lacks = checked.missing([name])
        say(f"{TITLES[name]}: " + (f"{len(lacks)} missing" if lacks else "has everything"))
