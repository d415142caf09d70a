"""`launch image check`: an image's facts against what each provider needs of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from launchers.core.model.problems import LaunchError, Problem
from launchers.image import probe
from launchers.image.catalogue import RULES
from launchers.image.needs import NEEDS, PROVIDERS, TITLES, Facts, Need
from launchers.image.probe_container import NoAnswerError, answer_of

if TYPE_CHECKING:
    import docker

# On 2 cores with an image that is not in memory yet, TensorFlow's four imports take a minute.
PROBE_SECONDS = 420.0
OK, MISSING = "ok", "missing"


@dataclass(frozen=True)
class Row:
    """One need as the image meets it; ``state`` is "ok" or "missing"."""

    need: Need
    state: str
    found: str


@dataclass(frozen=True)
class CheckedImage:
    """What a check found.

    Attributes:
        size: Bytes, all layers.
        rows: The needs that apply to this kind of image.
        nccl: Whether Horovod was built with NCCL, which ranks with GPUs want.
        entrypoint: The image's ENTRYPOINT; SageMaker's command becomes its argument.
    """

    image: str
    id: str
    size: int
    rows: tuple[Row, ...]
    nccl: bool
    entrypoint: tuple[str, ...]

    def missing(self, providers: Sequence[str] = PROVIDERS) -> list[Row]:
        """The rows that keep one of ``providers`` from running this image."""
        return [
            row
            for row in self.rows
            if row.state == MISSING and set(row.need.providers) & set(providers)
        ]

    def problems(self, providers: Sequence[str] = PROVIDERS) -> list[Problem]:
        """The same as problems, each with what to add."""
        return [
            RULES[f"image-{row.need.name}"].at(
                f"{self.image}: {row.need.title}",
                row.found or "not there",
                "for "
                + " and ".join(TITLES[name] for name in row.need.providers if name in providers),
                row.need.fix,
            )
            for row in self.missing(providers)
        ]

    def as_dict(self) -> dict[str, Any]:
        """The ``--json`` answer."""
        return {
            "image": self.image,
            "id": self.id,
            "size": self.size,
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


def check(client: docker.DockerClient, image: str) -> CheckedImage:
    """Start a container of ``image``, look into it, and say what each provider would miss.

    Blocks for about half a minute on 2 cores. The image stays as it is; the container is removed.

    Raises:
        LaunchError: The image is not on this machine, or no Python answers in it.
    """
    import docker.errors

    try:
        found = client.images.get(image)
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
    facts: dict[str, Any] = {"architecture": found.attrs["Architecture"]}
    try:
        facts.update(answer_of(client, found.id, probe.source("facts"), PROBE_SECONDS))
    except NoAnswerError as error:
        raise LaunchError(
            RULES["image-python"].at(
                image,
                str(error),
                "an image with /bin/sh and a Python of 3.8 or newer",
                "take a base that has them, or build ours: launch image build",
            )
        ) from None
    return CheckedImage(
        image=image,
        id=str(found.id),
        size=int(found.attrs["Size"]),
        rows=rows(facts),
        nccl=any(parts.get("nccl") for parts in facts["horovod"].values()),
        entrypoint=tuple(found.attrs["Config"].get("Entrypoint") or ()),
    )


def rows(facts: Facts) -> tuple[Row, ...]:
    """The needs that apply to these facts, each with its state."""
    return tuple(
        Row(need, OK if need.good(facts) else MISSING, need.found(facts))
        for need in NEEDS
        if need.applies(facts)
    )
