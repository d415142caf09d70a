"""`launch image check`: an image's facts against what each provider needs of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from launchers.core.model.image_needs import ImageNeeds, Part
from launchers.core.model.problems import LaunchError, Problem
from launchers.core.strategies import FIRST, NAMES, named
from launchers.core.strategies.strategy import Strategy
from launchers.image import probe
from launchers.image.catalogue import RULES
from launchers.image.needs import KEYS, PROVIDERS, TITLES, Facts, Need, needs_of
from launchers.image.probe_container import NoAnswerError, answer_of

if TYPE_CHECKING:
    import docker
    from docker.models.images import Image

# On 2 cores with an image that is not in memory yet, TensorFlow's four imports take a minute.
PROBE_SECONDS = 420.0
OK, MISSING, ADVICE = "ok", "missing", "advice"


@dataclass(frozen=True)
class Row:
    """One need as the image meets it; ``state`` is "ok", "missing" or, where it runs without,
    "advice"."""

    need: Need
    state: str
    found: str


@dataclass(frozen=True)
class CheckedImage:
    """What a check found.

    Attributes:
        size: Bytes, all layers.
        rows: The needs that apply to this kind of image.
        nccl: Whether Horovod was built with NCCL, which ranks with GPUs want; None where the image
            was checked for another strategy.
        entrypoint: The image's ENTRYPOINT; SageMaker's command becomes its argument.
        remarks: What is worth knowing of it and no fault, one line each.
        strategy: For which it was checked.
    """

    image: str
    id: str
    size: int
    rows: tuple[Row, ...]
    nccl: bool | None
    entrypoint: tuple[str, ...]
    remarks: tuple[str, ...] = ()
    strategy: str = FIRST

    def missing(self, providers: Sequence[str] = PROVIDERS) -> list[Row]:
        """The rows that keep one of ``providers`` from running this image."""
        return [
            row
            for row in self.rows
            if row.state == MISSING and set(row.need.providers) & set(providers)
        ]

    def problems(self, providers: Sequence[str] = PROVIDERS) -> list[Problem]:
        """The same as problems, each with what to add; then what is advice, as warnings."""
        advice = [row for row in self.rows if row.state == ADVICE]
        return [
            RULES[row.need.rule or f"image-{row.need.name}"].at(
                f"{self.image}: {row.need.title}",
                row.found or "not there",
                "for "
                + " and ".join(TITLES[name] for name in row.need.providers if name in providers),
                row.need.fix,
            )
            for row in (*self.missing(providers), *advice)
        ]

    def as_dict(self) -> dict[str, Any]:
        """The ``--json`` answer."""
        return {
            "image": self.image,
            "id": self.id,
            "size": self.size,
            "strategy": self.strategy,
            "usable": {name: not self.missing([name]) for name in PROVIDERS},
            "nccl": self.nccl,
            "entrypoint": list(self.entrypoint),
            "checks": [
                {
                    "name": row.need.name,
                    "title": row.need.title,
                    "state": row.state,
                    "found": row.found,
                    "needed_by": list(row.need.providers),
                    "fix": "" if row.state == OK else row.need.fix,
                }
                for row in self.rows
            ],
        }


def check(client: docker.DockerClient, image: str, strategy: str = FIRST) -> CheckedImage:
    """Start a container of ``image``, look into it, and say what each provider would miss.

    Blocks for about half a minute on 2 cores. The image stays as it is; the container is removed.

    Args:
        strategy: What its ranks are to train by.

    Raises:
        LaunchError: The image is not on this machine, or no Python answers in it.
    """
    found = image_of(client, image)
    needs = needs_for(named(strategy))
    facts: dict[str, Any] = {"architecture": found.attrs["Architecture"]}
    entrypoint = tuple(found.attrs["Config"].get("Entrypoint") or ())
    programs = {**(needs.programs if needs else {}), KEYS: probe.private_keys_program()}
    given = {"programs": programs, "entrypoint": entrypoint}
    question = probe.source("answers" if needs else "facts", given)
    facts.update(ask(client, str(found.id), image, question, PROBE_SECONDS))
    return CheckedImage(
        image=image,
        id=str(found.id),
        size=int(found.attrs["Size"]),
        rows=rows(facts, needs),
        nccl=None if needs else any(parts.get("nccl") for parts in facts["horovod"].values()),
        entrypoint=entrypoint,
        remarks=_remarks(facts, needs),
        strategy=strategy,
    )


def image_of(client: docker.DockerClient, image: str) -> Image:
    """``image`` as the engine has it.

    Raises:
        LaunchError: It is not on this machine, or this is no image's name.
    """
    import docker.errors

    if not image:
        raise LaunchError(RULES["image-name"].at("IMAGE", "''"))
    try:
        return client.images.get(image)
    except docker.errors.ImageNotFound:
        raise LaunchError(
            RULES["image-absent"].at(
                "IMAGE",
                f"{image} is not on this machine",
                "an image of `docker images`",
                f"docker pull {image}; `launch image build` makes ours",
            )
        ) from None
    except docker.errors.APIError as error:
        raise LaunchError(
            RULES["image-name"].at("IMAGE", f"{image}: {error.explanation}")
        ) from None


def needs_for(strategy: Strategy) -> ImageNeeds | None:
    """What an image must hold for its ranks: what it says, else its package; None for Horovod,
    whose table is :data:`launchers.image.needs.NEEDS`."""
    if strategy.image is not None or strategy.name == FIRST:
        return strategy.image
    package = strategy.package
    part = Part(package, strategy.library, strategy.install)
    program = f"import {package}\nprint('ANSWER {package}', {package}.__version__)\n"
    return ImageNeeds((package,), (part,), {package: program})


def rows(facts: Facts, needs: ImageNeeds | None = None) -> tuple[Row, ...]:
    """The needs that apply to these facts, each with its state."""
    return tuple(row_of(need, facts) for need in needs_of(needs) if need.applies(facts))


def row_of(need: Need, facts: Facts) -> Row:
    """One of them."""
    state = OK if need.good(facts) else ADVICE if need.is_advice else MISSING
    return Row(need, state, need.found(facts))


def ask(
    client: docker.DockerClient, identifier: str, image: str, question: list[str], seconds: float
) -> dict[str, Any]:
    """What the probe answers in a container of the image, named ``image`` in messages.

    Raises:
        LaunchError: No Python answers in it.
    """
    try:
        return answer_of(client, identifier, question, seconds)
    except NoAnswerError as error:
        raise LaunchError(
            RULES["image-python"].at(
                image,
                str(error),
                "an image with /bin/sh and a Python of 3.8 or newer",
                "take a base that has them, or build ours: launch image build",
            )
        ) from None


def _remarks(facts: Facts, needs: ImageNeeds | None) -> tuple[str, ...]:
    if needs is not None:
        answers = facts["answers"]
        is_there = all(name in answers for name in needs.packages)
        lacks = needs.remark and is_there and "remark" not in answers
        return (needs.remark,) if lacks else ()
    if any(parts.get("nccl") for parts in facts["horovod"].values()):
        return ()
    remark = "no NCCL in its Horovod: ranks with GPUs exchange gradients over the CPU"
    lacks = not any("error" not in parts for parts in facts["horovod"].values())
    others = [name for name in NAMES if lacks and facts["versions"].get(named(name).package)]
    hint = "without Horovod: `--strategy {0}` asks for what ranks of {0} need"
    return (remark, *(hint.format(name) for name in others if named(name).image))
