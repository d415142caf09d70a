"""The image that containers run: the document's, or ours where that one cannot be had here."""

from __future__ import annotations

import re
import threading
from queue import Empty, SimpleQueue
from typing import Any, Protocol

from launchers.core.model.problems import LaunchError, Problem, did_you_mean
from launchers.core.strategies import FIRST
from launchers.docker.images import images_of
from launchers.image.names import default_image, default_tag
from launchers.image.recipes import RECIPES
from launchers.machine.devices import visible_gpus
from launchers.rehearsal.catalogue import RULES
from launchers.rehearsal.engine.cluster import explanation


class Told(Protocol):
    """Hears what is done about an image."""

    def note(self, text: str) -> None:
        """A line for a person."""

    def progress(self, label: str, done: int, total: int) -> None:
        """So many bytes of ``total`` are there; ``total`` grows as layers become known."""


_FIRST_SECONDS = 20.0  # of silence, until a registry has answered at all
_SILENT_SECONDS = 120.0  # between two words of one that has
_SHOWN = 160  # letters of a reason
# What a registry says that was asked, and has no such image.
_NOT_THERE = re.compile(r"manifest unknown|manifest for \S+ not found|name unknown", re.IGNORECASE)
_REASONS = (
    (r"no such host|name resolution|server misbehaving", "cannot be reached from here"),
    (r"connection refused|no route to host|is unreachable", "cannot be reached from here"),
    (r"timeout|deadline exceeded|no answer", "does not answer"),
    (r"no basic auth|denied|unauthori[sz]ed|authentication required", "wants a login"),
)


class _NotPulledError(Exception):
    """Why an image could not be pulled."""


def have_image(client: Any, image: str, recipe: str, told: Told) -> None:
    """Make sure that ``image`` is on this machine: as it is there, else pulled. May block long.

    Raises:
        LaunchError: It is not there and cannot be pulled; exit code 2, with what can be done.
    """
    try:
        _have(client, image, told)
    except _NotPulledError as error:
        raise LaunchError(_no_image(client, image, str(error), recipe)) from None


def image_or_ours(client: Any, image: str, recipe: str, told: Told) -> tuple[str, str]:
    """The image that stands for a document's, and what is to be said of it; may block long.

    Ours stands in where the document names none, and where a registry cannot be asked. One that has
    no such image is believed: the service would find none either. A name without a registry is one
    of this machine, or a slip.

    Args:
        recipe: Which of our images may stand in.

    Raises:
        LaunchError: It cannot be had, and nothing stands in for it; exit code 2.
    """
    if not image:
        return _our_own(client, recipe)
    try:
        _have(client, image, told)
        return image, ""
    except _NotPulledError as error:
        reason = str(error)
    registry = registry_of(image)
    ours = _ours(client, recipe)
    if not ours or not registry or _NOT_THERE.search(reason):
        raise LaunchError(_no_image(client, image, reason, recipe)) from None
    why = next((told for sign, told in _REASONS if re.search(sign, reason, re.IGNORECASE)), "")
    said = f"its registry {why}" if why else reason[:_SHOWN]
    return ours, f"image {ours} (ours) instead of {image}: not on this machine, and {said}"


def _our_own(client: Any, recipe: str) -> tuple[str, str]:
    """The image of ours for a document that names none, and what is to be said of it."""
    ours = _ours(client, recipe)
    if not ours:
        raise LaunchError(
            RULES["rehearsal-image"].at(
                "image",
                "the document names none, and ours for it is not on this machine",
                fix=f"make it: `{_build_of(recipe)}`; or rehearse in another: "
                "--rehearsal-image IMAGE",
            )
        )
    return ours, f"image {ours} (ours): the document names none"


def _build_of(recipe: str) -> str:
    return "launch image build" + ("" if recipe == FIRST else f" --with {recipe}")


def registry_of(image: str) -> str:
    """The host that an image's name begins with; empty where it names none."""
    first, slash, _ = image.partition("/")
    return first if slash and ("." in first or ":" in first or first == "localhost") else ""


def _ours(client: Any, recipe: str) -> str:
    """By its name, before any that has its labels: those that were made of it have them, too."""
    if recipe not in RECIPES:
        return ""
    for gpu in (True, False) if visible_gpus() else (False,):
        named = default_tag(gpu, recipe)
        found = named if _is_here(client, named) else default_image(client, gpu, recipe)
        if found:
            return found
    return ""


def _is_here(client: Any, image: str) -> bool:
    from docker.errors import ImageNotFound

    try:
        client.api.inspect_image(image)
    except ImageNotFound:
        return False
    return True


def _have(client: Any, image: str, told: Told) -> None:
    from docker.errors import APIError

    try:
        if _is_here(client, image):
            return
    except APIError as error:
        raise _NotPulledError(explanation(error)) from None
    told.note(f"image {image} is not on this machine: pulling it")
    _pull(client, image, told)


def _pull(client: Any, image: str, told: Told) -> None:
    """Pull it, and tell how far that is.

    Raises:
        _NotPulledError: It cannot be, or nothing has come for too long.
    """
    steps: SimpleQueue[dict[str, Any] | Exception | None] = SimpleQueue()
    # The engine's client waits for an answer as long as one may take; this one does not.
    threading.Thread(target=_pull_into, args=(client, image, steps), daemon=True).start()
    layers: dict[str, tuple[int, int]] = {}
    timeout = _FIRST_SECONDS
    while True:
        try:
            step = steps.get(timeout=timeout)
        except Empty:
            raise _NotPulledError(f"no answer in {timeout:.0f} s") from None
        if step is None:
            return
        if isinstance(step, Exception):
            raise _NotPulledError(explanation(step))
        if "error" in step:
            raise _NotPulledError(str(step["error"]))
        timeout = _SILENT_SECONDS
        sizes = step.get("progressDetail") or {}
        if sizes.get("total") and step.get("status") == "Downloading":
            layers[str(step.get("id"))] = (sizes.get("current", 0), sizes["total"])
            done, total = (sum(values) for values in zip(*layers.values(), strict=True))
            told.progress(image, done, total)


def _pull_into(client: Any, image: str, steps: SimpleQueue[Any]) -> None:
    from docker.errors import DockerException

    try:
        for step in client.api.pull(image, stream=True, decode=True):
            steps.put(step)
        client.api.inspect_image(image)
        steps.put(None)
    except (DockerException, OSError, ValueError) as error:
        steps.put(error)


def _no_image(client: Any, image: str, reason: str, recipe: str) -> Problem:
    ours = _ours(client, recipe)
    if ours:
        stand_in = f"rehearse in another: --rehearsal-image {ours}"
    else:
        builds = f"make ours, which stands in for it then: `{_build_of(recipe)}`"
        stand_in = builds if recipe in RECIPES else "rehearse in another: --rehearsal-image IMAGE"
    registry = registry_of(image)
    if registry:
        other = f"or get it: `docker login {registry}`, `docker pull {image}`"
    else:
        near = did_you_mean(image, [tag for one in images_of(client) for tag in one.tags])
        other = near or "or name another: --image IMAGE"
    return RULES["rehearsal-image"].at(
        "image",
        f"{image} is not on this machine and cannot be pulled: {reason[:200]}",
        fix=f"{stand_in}; {other}",
    )
