"""What a document starts, for `launch check`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from launchers.core.model.document import document_text
from launchers.core.model.jobs import Examined, JobDefinition
from launchers.core.planning.plan import counted
from launchers.core.spark import keys
from launchers.core.strategies import said_by
from launchers.spark.rules.document import check, master_of, texts, words
from launchers.spark.rules.size import read_size


def examined(document: Mapping[str, Any], world_size: int | None = None) -> Examined:
    """A document, with every rule that it breaks.

    Args:
        world_size: What the caller expects, where it says so.
    """
    conf, name = texts(document, "conf"), document.get("name")
    size = read_size(conf, master_of(document))
    environment = {
        key.removeprefix(keys.EXECUTOR_ENV): value
        for key, value in conf.items()
        if key.startswith(keys.EXECUTOR_ENV)
    }
    # The driver starts as many ranks as the document names, or none.
    started = size.carried
    because = f"the driver starts as many as the document names, on {size.because}"
    if size.slots is not None and size.carried and size.slots < size.carried:
        started, because = 0, f"the driver starts none on {counted(size.slots, 'slot')}"
    return Examined(
        definition=JobDefinition(
            provider="spark",
            name=name if isinstance(name, str) and name else "job",
            world_size=size.carried or world_size or 0,
            text=document_text(document),
            document=document,
            strategy=said_by(environment),
        ),
        problems=tuple(check(document, world_size=world_size)),
        started=started,
        carried=size.carried,
        program=tuple(words(document, "arguments")),
        because=because if size.carried else "the document names no world size",
    )
