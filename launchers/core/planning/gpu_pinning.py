"""Who gives each rank its GPU: read from the source, decided in the plan, shown to the user.

Horovod's own examples pick ``gpus[hvd.local_rank()]``, which fails when the guard has left one
device visible; a script that picks none needs the guard to.
"""

from __future__ import annotations

import io
import re
import tokenize
from typing import NamedTuple

from launchers.core.source.texts import SourceTexts
from launchers.core.spec.job import GUARD, NONE, SCRIPT, JobSpec
from launchers.core.strategies import FIRST, named
from launchers.core.strategies.strategy import Strategy


class Pinning(NamedTuple):
    """Who gives each rank its GPU, and why."""

    by: str
    why: str


def choose_pinning(
    job: JobSpec,
    texts: SourceTexts,
    gpus: int,
    without_gpus: str,
    strategy: Strategy | None = None,
) -> Pinning:
    """``--pin-gpu``; nobody on a host without GPUs, or where one process has them all; else what
    the source says.

    Args:
        texts: The source's files.
        gpus: GPUs of one host.
        without_gpus: Why nobody does, where it has none.
        strategy: By what the ranks train.
    """
    strategy = strategy or named(FIRST)
    if job.pin_gpu:
        return Pinning(job.pin_gpu, "--pin-gpu")
    if gpus == 0:
        return Pinning(NONE, without_gpus)
    if strategy.one_a_host:
        return Pinning(NONE, f"{strategy.title} has one process a host, for all its GPUs")
    return who_pins(texts, strategy)


def who_pins(texts: SourceTexts, strategy: Strategy | None = None) -> Pinning:
    """``("script", why)`` where a Python file imports a library that gives each rank its device,
    or has the word for the local rank together with something that picks one, comments aside;
    else ``("guard", why)``."""
    strategy = strategy or named(FIRST)
    word = re.compile(strategy.local_rank.encode())
    picks = re.compile(strategy.picks_device.encode())
    for path in sorted(texts.paths):
        if not path.endswith(".py"):
            continue
        content = texts.read(path)
        library = _library(content, strategy)
        if library:
            return Pinning(SCRIPT, f"{library} gives each rank its GPU")
        if not word.search(content) or not picks.search(content):
            continue
        code = without_comments(content.decode("utf-8", "replace")).encode()
        found = picks.search(code)
        if word.search(code) and found:
            what = found[0].decode().strip("(.:")
            return Pinning(SCRIPT, f"{path.rpartition('/')[2]} uses local_rank with {what}")
    return Pinning(GUARD, "no file of the source picks a device by local_rank")


def _library(content: bytes, strategy: Strategy) -> str:
    """The library by which the ranks get their devices and that these lines import, or nothing."""
    if not strategy.may_join.search(content):
        return ""
    for use in strategy.uses:
        line = rf"^[ \t]*(?:from|import)[ \t]+(?:{use.own_devices})"
        if use.own_devices and re.search(line.encode(), content, re.MULTILINE):
            return use.title
    return ""


def without_comments(text: str) -> str:
    """Python's text without its comments; what is no Python, without what stands behind a #."""
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (tokenize.TokenError, SyntaxError):
        return re.sub(r"#.*", "", text)
    lines = text.splitlines(keepends=True)
    for token in reversed(tokens):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            line = lines[row - 1]
            lines[row - 1] = line[:column] + line[token.end[1] :]
    return "".join(lines)
