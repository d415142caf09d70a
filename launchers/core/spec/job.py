"""What the user asks for: one dataclass, from which flags, launch.yaml, its JSON schema and the
documentation's table are made.

The annotations are real objects here (no ``from __future__ import annotations``), so that the
command line can read a field's :class:`~launchers.core.spec.value_types.ValueType` without
evaluating strings.
"""

import re
from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from typing import TYPE_CHECKING, Annotated, Any, Generic, cast

from launchers.core.spec.value_types import (
    Arguments,
    Choice,
    Count,
    Duration,
    Pairs,
    Switch,
    Text,
    ValueType,
    Words,
)
from launchers.core.strategies import NAMES

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    # A JobSpec of which nothing more is said may have any provider's options.
    Options = TypeVar("Options", bound="ProviderOptions", default=Any, covariant=True)
else:
    from typing import TypeVar

    Options = TypeVar("Options", covariant=True)

SHARED_SCRIPT = "train_image_classifier.py"
# Who gives each rank its GPU; entrypoints/launch_runtime/host/settings.py reads the same words.
GUARD, SCRIPT, NONE = PIN_MODES = ("guard", "script", "none")
# What a success must show; entrypoints/launch_runtime/evidence says what each means.
EXCHANGE, INIT, STRICT = PROOF_MODES = ("exchange", "init", "strict")
# What is done with a job that hangs; entrypoints/launch_runtime/host/settings.py reads the same.
WAIT, END = HANG_ACTIONS = ("wait", "end")
# What `--strategy` can be; `auto` is read from the source, as without it.
STRATEGIES = ("auto", *NAMES)
NAME_PATTERN = r"[a-zA-Z0-9](-*[a-zA-Z0-9])*"


def option(
    *flags: str,
    help: str,  # noqa: A002 - the word of click and argparse
    metavar: str = "",
    default: Any = None,
    key: str = "",
) -> Any:
    """A dataclass field that is also a flag and a key of launch.yaml.

    Args:
        flags: The flag and its aliases; none for a key that only a file can give.
        help: One line, for ``--help``, the JSON schema and the documentation.
        metavar: What stands for the value in the help.
        default: The value when neither flag nor file gives one; a mutable one is copied.
        key: The key in launch.yaml where it differs from the field's name.
    """
    metadata = {"flags": flags, "help": help, "metavar": metavar, "key": key}
    if isinstance(default, dict):
        return field(default_factory=dict, metadata=metadata)
    return field(default=default, metadata=metadata)


@dataclass(frozen=True, kw_only=True)
class ProviderOptions:
    """The fields that only one provider has; a provider's package subclasses it."""


@dataclass(frozen=True, kw_only=True)
class JobSpec(Generic[Options]):
    """A job as its user describes it. Nothing here was looked up; nothing here is a default of
    the provider.

    ``options`` are those of ``provider`` alone. ``origins`` says which file gave a value that no
    flag gave, by the field's name.

    ``world_size = instances x processes`` is not a field: the plan computes it once, from what
    the machine has.
    """

    script: Annotated[str | None, Text()] = option(
        help="The training script, a path below --source.", metavar="SCRIPT"
    )
    module: Annotated[str | None, Text()] = option(
        "-m",
        "--module",
        help="A module to run instead, as `python -m` does in --source.",
        metavar="MODULE",
    )
    arguments: Annotated[tuple[str, ...], Arguments()] = option(
        help="The script's own arguments, verbatim and in order.", key="args", default=()
    )
    source: Annotated[str | None, Text()] = option(
        "--source",
        help="The folder that travels. Default: the script's; for -m this one.",
        metavar="DIR",
    )
    requirements: Annotated[str | None, Text()] = option(
        "--requirements", help="A requirements file to install for the ranks.", metavar="FILE"
    )
    name: Annotated[
        str | None,
        Text(NAME_PATTERN, "letters, digits and inner hyphens"),
    ] = option("--name", help="First part of the job's name. Default: the script's.")
    instances: Annotated[int, Count(1, 1000)] = option(
        "--instances", help="Hosts.", metavar="N", default=1
    )
    processes: Annotated[int | None, Count(1, 512)] = option(
        "--processes", help="Ranks on each host. Default: one a GPU.", metavar="M"
    )
    gpus: Annotated[int | None, Count(0, 64)] = option(
        "--gpus", help="GPUs on each host.", metavar="G"
    )
    machine: Annotated[str | None, Text()] = option(
        "--machine", help="The provider's machine type.", metavar="TYPE"
    )
    image: Annotated[str | None, Text()] = option(
        "--image", help="The container image of the ranks.", metavar="IMAGE"
    )
    environment: Annotated[dict[str, str], Pairs()] = option(
        "--env",
        help="A variable for every rank (repeatable).",
        metavar="K=V",
        key="env",
        default={},
    )
    secrets: Annotated[dict[str, str], Pairs(what="NAME=REFERENCE")] = option(
        "--secret",
        help="A variable from a secret store, by reference (repeatable).",
        metavar="NAME=REF",
        default={},
    )
    pin_gpu: Annotated[str | None, Choice(PIN_MODES)] = option(
        "--pin-gpu",
        help="Who gives each rank its GPU. Default: read from the source.",
        metavar="|".join(PIN_MODES),
    )
    proof: Annotated[str, Choice(PROOF_MODES)] = option(
        "--proof",
        help="What a success must show: that the ranks exchanged what they trained, hvd.init() "
        "alone, or every rank's evidence.",
        metavar="exchange|init|strict",
        default=EXCHANGE,
    )
    strategy: Annotated[str | None, Choice(STRATEGIES)] = option(
        "--strategy",
        help="What makes the ranks train together. Default: read from the source.",
        metavar="|".join(STRATEGIES),
    )
    keras: Annotated[str, Choice(("auto", "2", "3"))] = option(
        "--keras",
        help="The Keras of the script and of Horovod. Default: read from the source.",
        metavar="auto|2|3",
        default="auto",
    )
    max_runtime: Annotated[int | None, Duration()] = option(
        "--max-runtime", "--timeout", help="End the job after this time.", metavar="2h"
    )
    hang_after: Annotated[int | None, Duration(1, 7 * 86400)] = option(
        "--hang-after",
        help="Name the rank that hangs, with every rank's stack in the log, once no rank has made "
        "visible progress for this time.",
        metavar="10m",
    )
    hang_action: Annotated[str, Choice(HANG_ACTIONS)] = option(
        "--hang-action",
        help="What is done with a job that hangs: a warning alone, or its end.",
        metavar="wait|end",
        default=WAIT,
    )
    spot: Annotated[bool, Switch()] = option(
        "--spot", help="Use spare capacity that may be taken back.", default=False
    )
    max_wait: Annotated[int | None, Duration()] = option(
        "--max-wait",
        help="Give up waiting for machines after this time.",
        metavar="2h",
    )
    checkpoint: Annotated[str | None, Text()] = option(
        "--checkpoint", help="Where checkpoints go, used as given.", metavar="PLACE"
    )
    output_path: Annotated[str | None, Text()] = option(
        "--output-path", help="Where model and logs go.", metavar="PLACE"
    )
    region: Annotated[str | None, Text(r"[a-z]{2}[a-z0-9-]{1,40}", "a region's name")] = option(
        "--region", "--location", help="Where the job runs.", metavar="REGION"
    )
    bucket: Annotated[str | None, Text()] = option(
        "--bucket",
        help="The bucket for code, checkpoints and models.",
        metavar="BUCKET",
    )
    tags: Annotated[dict[str, str], Pairs(name_pattern=r"[^=]{1,128}", what="KEY=VALUE")] = option(
        "--tag",
        help="A tag or label of the job (repeatable).",
        metavar="K=V",
        default={},
    )
    allow_values: Annotated[tuple[str, ...], Words()] = option(
        "--allow-value",
        help="Let this named value pass although it looks like a credential.",
        metavar="NAME",
        default=(),
    )

    provider: str = field(default="", metadata={})
    options: Options = field(default=cast(Any, None), metadata={})
    origins: Mapping[str, str] = field(default_factory=dict, metadata={})


def option_fields(
    cls: type, unused: frozenset[str] = frozenset()
) -> list[tuple[Field[Any], ValueType]]:
    """The fields of ``cls`` that a user may give, each with its type of value, in order.

    Args:
        unused: Names of those to leave out (see :class:`launchers.core.provider.Definer`).
    """
    return [
        (item, item.type.__metadata__[0])  # type: ignore[union-attr]
        for item in fields(cls)
        if "help" in item.metadata and item.name not in unused
    ]


def key_of(item: Field[Any]) -> str:
    """The field's key in launch.yaml."""
    return item.metadata["key"] or item.name


def default_of(item: Field[Any]) -> Any:
    """The field's default, made anew where it is mutable."""
    if item.default_factory is not MISSING:
        return item.default_factory()
    return item.default


def base_name(job: JobSpec) -> str:
    """The first part of the job's name: ``--name``, else the script's or the module's, in letters
    that every provider takes (letters, digits, inner hyphens)."""
    if job.name:
        return job.name
    stem = re.sub(r"\.py$", "", (job.script or SHARED_SCRIPT).rsplit("/", 1)[-1])
    if job.module:
        # With its packages: many a package has a `train`, and Google's are all `trainer.task`.
        stem = job.module.removesuffix(".__main__")
    return re.sub(r"[^a-zA-Z0-9]+", "-", stem).strip("-") or "job"


def merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """``base`` with ``over`` on top; mappings (env, tags) are merged name by name."""
    result = dict(base)
    for name, value in over.items():
        if isinstance(value, dict) and isinstance(result.get(name), dict):
            result[name] = {**result[name], **value}
        else:
            result[name] = value
    return result
