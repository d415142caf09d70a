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

_PICKS_DEVICE = re.compile(
    rb"set_visible_devices|visible_device_list|set_device|torch\.device|\.cuda\(|CUDA_VISIBLE_DEVICES"
)


class Pinning(NamedTuple):
    """Who gives each rank its GPU, and why."""

    by: str
    why: str


def choose_pinning(job: JobSpec, texts: SourceTexts, gpus: int, without_gpus: str) -> Pinning:
    """``--pin-gpu``; nobody on a host without GPUs; else what the source says.

    Args:
        texts: The source's files.
        gpus: GPUs of one host.
        without_gpus: Why nobody does, where it has none.
    """
    if job.pin_gpu:
        return Pinning(job.pin_gpu, "--pin-gpu")
    if gpus == 0:
        return Pinning(NONE, without_gpus)
    return who_pins(texts)


def who_pins(texts: SourceTexts) -> Pinning:
    """``("script", why)`` where a Python file has ``local_rank`` together with something that
    picks a device, comments aside; else ``("guard", why)``."""
    for path in sorted(texts.paths):
        if not path.endswith(".py"):
            continue
        content = texts.read(path)
        if b"local_rank" not in content or not _PICKS_DEVICE.search(content):
            continue
        code = without_comments(content.decode("utf-8", "replace"))
        found = _PICKS_DEVICE.search(code.encode())
        if "local_rank" in code and found:
            what = found[0].decode().rstrip("(").lstrip(".")
            return Pinning(SCRIPT, f"{path.rpartition('/')[2]} uses local_rank with {what}")
    return Pinning(GUARD, "no file of the source picks a device by local_rank")


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
