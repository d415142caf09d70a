"""One throwaway container of an image, asked one question by a Python program."""

from __future__ import annotations

import contextlib
import json
import os
import threading
from collections import deque
from typing import TYPE_CHECKING, Any

from launchers.core.model.problems import LaunchError
from launchers.image.catalogue import RULES
from launchers.image.probe import MARK
from launchers.image.start_faults import start_fault_of
from launchers.machine.processes import identity

if TYPE_CHECKING:
    import docker

LABEL = "launch.probe"  # its value is the identity of the launcher's process
MEMORY = "3g"
PROCESSES = 512
REMOVED_SECONDS = 20
_HOST = "probe"
# The first Python on PATH is the one that the service's command and our agent find.
FIND_PYTHON = (
    'for python in python3 python; do command -v "$python" >/dev/null && exec "$python" "$@"; done;'
    " echo no python3 and no python on PATH"
)


class NoAnswerError(Exception):
    """The container ended without an answer; the text says what it printed last."""


def answer_of(
    client: docker.DockerClient, image: str, arguments: list[str], seconds: float
) -> dict[str, Any]:
    """What the program answered in a container of ``image``.

    The container has no network, no mount, 3 GB of memory and no privilege; the engine removes it
    when it ends, and it is ended after ``seconds``. Blocks until then.

    Args:
        image: An image on this machine.
        arguments: What follows ``python``.

    Raises:
        NoAnswerError: It ended without one.
        LaunchError: The image is not on this machine, or the engine cannot start it.
    """
    import docker.errors

    try:
        container = client.containers.create(
            image,
            entrypoint=["/bin/sh", "-c", FIND_PYTHON, "sh"],
            command=arguments,
            network_mode="none",
            # Without a network the engine gives a container's own name no address; JAX asks for it.
            hostname=_HOST,
            extra_hosts={_HOST: "127.0.0.1"},
            mem_limit=MEMORY,
            memswap_limit=MEMORY,
            pids_limit=PROCESSES,
            security_opt=["no-new-privileges"],
            labels={LABEL: identity(os.getpid())},
            auto_remove=True,
        )
    except docker.errors.ImageNotFound:
        raise LaunchError(
            RULES["image-absent"].at(
                "IMAGE",
                image,
                "an image on this machine",
                f"docker pull {image}; `launch image build` makes ours",
            )
        ) from None
    is_late = threading.Event()

    def end_late() -> None:
        is_late.set()
        _end(container)

    watch = threading.Timer(seconds, end_late)
    watch.daemon = True
    try:
        output = container.attach(stream=True, logs=True)
        container.start()
        watch.start()
        return _answer(output)
    except docker.errors.APIError as error:
        told = start_fault_of(client, image, str(error.explanation)) or error.explanation
        raise NoAnswerError(f"a container of it does not start: {told}") from None
    except NoAnswerError as error:
        if is_late.is_set():
            raise NoAnswerError(f"no answer in {seconds:.0f} s ({error})") from None
        raise NoAnswerError(start_fault_of(client, image, str(error)) or str(error)) from None
    finally:
        watch.cancel()
        _end(container)


def _answer(output: Any) -> dict[str, Any]:
    lines: deque[str] = deque(maxlen=5)
    rest = ""
    for piece in output:
        rest += piece.decode("utf-8", "replace")
        *whole, rest = rest.split("\n")
        for line in whole:
            if line.startswith(MARK):
                answer: dict[str, Any] = json.loads(line[len(MARK) :])
                return answer
            lines.append(line.strip())
    lines.append(rest.strip())
    raise NoAnswerError("; ".join(line for line in lines if line)[-300:] or "it printed nothing")


def _end(container: Any) -> None:
    """Have the container gone, though it may be ending and being removed by itself right now."""
    import docker.errors

    try:
        container.remove(v=True, force=True)
    except docker.errors.NotFound:
        return
    except docker.errors.APIError:
        # "removal of container ... is already in progress"
        with contextlib.suppress(docker.errors.APIError, OSError):
            container.wait(condition="removed", timeout=REMOVED_SECONDS)
