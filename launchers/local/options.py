"""What only `launch local` has."""

from dataclasses import dataclass
from typing import Annotated

from launchers.core.spec.compound_types import Pairs
from launchers.core.spec.job import JobSpec, ProviderOptions
from launchers.core.spec.limits import Limits
from launchers.core.spec.option import option
from launchers.core.spec.value_types import Count, Text


@dataclass(frozen=True, kw_only=True)
class LocalOptions(ProviderOptions):
    """The keys under ``local:`` and the flags of `launch local` alone."""

    python: Annotated[str | None, Text()] = option(
        "--python",
        metavar="PATH",
        group="what",
        help="The Python of the ranks. Default: the active environment's, else the launcher's.",
    )
    channels: Annotated[
        dict[str, str], Pairs(name_pattern=r"[A-Za-z0-9._-]{1,64}", what="NAME=FOLDER")
    ] = option(
        "--channel",
        metavar="NAME=FOLDER",
        default={},
        group="data",
        help="Input data of a script for SageMaker, as SM_CHANNEL_NAME (repeatable).",
    )
    port: Annotated[int, Count(0, 65535)] = option(
        "--port",
        metavar="PORT",
        default=0,
        group="where",
        rare=True,
        help="The port of the first host's agent on loopback. Default: a free one.",
    )
    limits: Annotated[dict[str, str], Limits(names=("join", "host", "init", "reminder"))] = option(
        "--limit",
        metavar="NAME=TIME",
        default={},
        group="safety",
        rare=True,
        help="How long agents wait: join, host, init or reminder (repeatable).",
    )


LocalJob = JobSpec[LocalOptions]
