"""Whether a program's source starts other processes, or joins those of other hosts, by itself."""

from __future__ import annotations

import re
from collections.abc import Collection

from launchers.core.source.texts import SEARCHED_BYTES, Bound, SourceTexts

# Modules, functions and programs by which Python code becomes several ranks. Horovod itself is
# none: hvd.init() without a launcher is the only rank of a world of its own.
_SIGNS = (
    r"\bmultiprocessing\b|\bsubprocess\b|\bconcurrent\.futures\b|\bimportlib\b|\brunpy\b"
    r"|\bos\.(?:system|fork\w*|spawn\w*|exec\w*|popen\w*|posix_spawn\w*)\b|(?<![\w.])(?:exec|eval)\("
    r"|\binit_process_group\b|\binit_distributed\b|\bjax\.distributed\b|\bstart_processes\b"
    r"|\bnotebook_launcher\b|\bhorovodrun\b|\bhorovod\.(?:run|runner|spark|ray)\b"
    r"|\bMultiWorkerMirrored|\bCollectiveAllReduce"
    r"|\bParameterServerStrategy|\bTF_CONFIG\b|\btorchrun\b|\bmpirun\b|\bmpi4py\b"
    r"|\b(?:pytorch_)?lightning\b|\baccelerate\b|\bdeepspeed\b|\bcolossalai\b|\bsmdistributed\b"
    r"|\bray\b|\bdask\b|\bpyspark\b|\bjoblib\b"
)


def own_start(texts: SourceTexts, told: Collection[str] = ()) -> str:
    """The first sign of it in any file of Python or of a shell, as ``train.py:12 uses
    subprocess``; empty where there is none. A comment is no sign.

    Args:
        told: Words by which a program learns of its other hosts from the provider.
    """
    words = "|".join([_SIGNS, *(rf"\b{re.escape(word)}\b" for word in told)])
    sign, bound = re.compile(words.encode()), Bound(SEARCHED_BYTES)
    for path in sorted(texts.paths):
        if not path.endswith((".py", ".sh", ".bash")):
            continue
        content = texts.read(path)
        too_much = bound.reached(path, content)
        if too_much:
            return too_much
        if not sign.search(content):
            continue
        for number, line in enumerate(content.splitlines(), 1):
            found = None if line.lstrip().startswith(b"#") else sign.search(line)
            if found:
                return f"{path}:{number} uses {found[0].decode().rstrip('(')}"
    return ""
