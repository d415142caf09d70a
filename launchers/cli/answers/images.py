"""Images: one that was built, one that was looked into."""

from __future__ import annotations

from typing import Annotated, TypedDict

from launchers.cli.answers.problems import ProblemAnswer


class BuiltImageAnswer(TypedDict):
    """An image that was built."""

    image: Annotated[str, "Its name on this machine."]
    id: str
    size: Annotated[int, "Bytes."]
    architecture: str
    versions: Annotated[dict[str, str], "Package and version."]
    cached: Annotated[bool, "Whether it was there already."]
    seconds: Annotated[float, "What the build took."]
    freed: Annotated[int, "Bytes of the build stage and an earlier image that were removed."]
    pushed: Annotated[str | None, "For `--image`; null where it was not pushed."]


class ImageCheck(TypedDict):
    """One thing that a provider needs of an image."""

    name: str
    title: str
    state: Annotated[str, "`ok`, `missing`, or `advice` where it runs without."]
    found: str
    needed_by: Annotated[list[str], "Providers."]
    fix: Annotated[str, "Empty where nothing is to be done."]


class CheckedImageAnswer(TypedDict):
    """What an image has, and what it lacks."""

    image: str
    id: str
    size: Annotated[int, "Bytes."]
    strategy: Annotated[str, "What its ranks are to train by."]
    usable: Annotated[dict[str, bool], "Of each provider, whether it has everything."]
    nccl: Annotated[bool | None, "Whether Horovod has NCCL; null for other strategies."]
    entrypoint: Annotated[list[str], "Gets the service's command as arguments."]
    checks: list[ImageCheck]
    remarks: Annotated[list[str], "Worth knowing, and no fault."]
    problems: Annotated[list[ProblemAnswer], "What the providers that were asked for lack."]


class ImageDifference(TypedDict):
    """A path that is not the same in both images."""

    path: str
    what: Annotated[str, "`only in the first`, `only in the second`, or what differs."]
    why: Annotated[str, "Why any two builds of a recipe differ there; empty where that is unknown."]


class ImageDifferencesAnswer(TypedDict):
    """What differs between the files of two images."""

    images: Annotated[list[str], "The first and the second."]
    paths: Annotated[int, "How many both have together."]
    differences: list[ImageDifference]
