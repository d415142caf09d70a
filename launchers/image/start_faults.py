"""Why a container's program does not start, in words about the image instead of its runtime's.

Source: runc 1.1 and crun 1.8 (what they say of a program that cannot be executed), execve(2).
"""

from __future__ import annotations

import re
from typing import Any

_NAME = r"[\"'`]?([^\"'`:\s]+)[\"'`]?"
_FORMAT = re.compile(rf"exec {_NAME}: exec format error|exec format error")
_TOLD = (
    (
        re.compile(rf"exec: {_NAME}: executable file not found|executable file {_NAME} not found"),
        "it has no program {} on its PATH",
    ),
    (
        re.compile(rf"exec: {_NAME}: stat \S+ no such file or directory"),
        "it has no program {}",
    ),
    (
        re.compile(rf"exec: {_NAME}: permission denied|exec {_NAME}: permission denied"),
        "{} is a folder, or a file that may not be executed (chmod 755)",
    ),
    (
        re.compile(rf"exec {_NAME}: no such file or directory"),
        "{} is there, but not what runs it: the interpreter of its first line, or its loader",
    ),
)
# The same machines by the names of images and of engines.
_SAME = {"x86_64": "amd64", "aarch64": "arm64"}


def start_fault(said: str, built_for: str = "", runs: str = "") -> str:
    """What ``said`` means, about an image as "it"; empty where it speaks of something else.

    Args:
        said: What the engine or the first line of a container says.
        built_for: The image's architecture.
        runs: The engine's.

    Example:
        >>> start_fault('exec: "train": executable file not found in $PATH: unknown')
        'it has no program train on its PATH'
    """
    wrong_format = _FORMAT.search(said)
    if wrong_format:
        ours = _SAME.get(runs, runs)
        if ours and built_for and built_for != ours:
            return f"it is built for {built_for}, and this machine is {ours}"
        what = wrong_format[1] or "its program"
        return f"{what} is neither a program for this machine nor a script that begins with #!"
    for pattern, text in _TOLD:
        if match := pattern.search(said):
            return text.format(next(group for group in match.groups() if group))
    return ""


def start_fault_of(client: Any, image: str, said: str) -> str:
    """:func:`start_fault` with the architectures that the engine knows."""
    from docker.errors import DockerException

    try:
        built_for = str(client.images.get(image).attrs.get("Architecture", ""))
        runs = str(client.info().get("Architecture", ""))
    except DockerException:
        built_for = runs = ""
    return start_fault(said, built_for, runs)
