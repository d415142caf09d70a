"""What the user asks for: one dataclass, from which flags, launch.yaml, its JSON schema and the
documentation's table are made.

The annotations are real objects here (no ``from __future__ import annotations``), so that the
command line can read a field's :class:`~launchers.core.spec.value_types.ValueType` without
evaluating strings.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Generic, cast

from launchers.core.spec.compound_types import Arguments, Pairs, Words
from launchers.core.spec.option import option
from launchers.core.spec.targets import Targets
from launchers.core.spec.value_types import Choice, Count, Duration, Switch, Text
from launchers.core.strategies import AUTO, NAMES

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
STRATEGIES = (AUTO, *NAMES)
NAME_PATTERN = r"[a-zA-Z0-9](-*[a-zA-Z0-9])*"


@dataclass(frozen=True, kw_only=True)
class ProviderOptions:
    """The fields that only one provider has; a provider's package subclasses it."""


@dataclass(frozen=True, kw_only=True)
class JobSpec(Generic[Options]):
    """A job as its user describes it. Nothing here was looked up; nothing here is a default of
    the provider.

    ``options`` are those of ``provider`` alone. ``origins`` says where each given value came from,
    by the field's name: ``--role``, ``LAUNCH_SAGEMAKER_ROLE``, ``launch.yaml, profile prod``.
    ``verb`` is the command that was given, ``scaling local``; empty for a notebook's.

    ``world_size = instances x processes`` is not a field: the plan computes it once, from what
    the machine has.
    """

    script: Annotated[str | None, Text()] = option(
        group="what", help="The training script, a path below --source.", metavar="SCRIPT"
    )
    module: Annotated[str | None, Text()] = option(
        "-m",
        "--module",
        group="what",
        help="Run this module instead, as `python -m` does.",
        metavar="MODULE",
    )
    arguments: Annotated[tuple[str, ...], Arguments()] = option(
        group="what",
        help="The script's own arguments, verbatim and in order.",
        key="args",
        default=(),
    )
    source: Annotated[str | None, Text()] = option(
        "--source",
        group="what",
        help="The source folder to send. Default: the script's.",
        metavar="DIR",
    )
    requirements: Annotated[str | None, Text()] = option(
        "--requirements",
        group="what",
        help="Install this requirements file for the ranks.",
        metavar="FILE",
    )
    name: Annotated[
        str | None,
        Text(NAME_PATTERN, "letters, digits and inner hyphens"),
    ] = option(
        "--name",
        group="what",
        help="A prefix of the job's name. Default: the script's.",
        metavar="NAME",
    )
    instances: Annotated[int, Count(1, 1000)] = option(
        "--instances", group="where", help="The number of hosts.", metavar="N", default=1
    )
    processes: Annotated[int | None, Count(1, 512)] = option(
        "--processes", group="where", help="Ranks on each host. Default: one a GPU.", metavar="M"
    )
    gpus: Annotated[int | None, Count(0, 64)] = option(
        "--gpus", group="where", help="GPUs on each host. Default: the machine's.", metavar="G"
    )
    machine: Annotated[str | None, Text()] = option(
        "--machine",
        group="where",
        help="The machine type. Default: one with --gpus.",
        metavar="TYPE",
    )
    image: Annotated[str | None, Text()] = option(
        "--image", group="what", help="The container image of the ranks.", metavar="IMAGE"
    )
    environment: Annotated[dict[str, str], Pairs()] = option(
        "--env",
        group="what",
        help="A variable for every rank (repeatable).",
        metavar="K=V",
        key="env",
        default={},
    )
    secrets: Annotated[dict[str, str], Pairs(what="NAME=REFERENCE")] = option(
        "--secret",
        group="safety",
        help="A variable from a secret store (repeatable).",
        metavar="NAME=REF",
        default={},
    )
    pin_gpu: Annotated[str | None, Choice(PIN_MODES)] = option(
        "--pin-gpu",
        group="what",
        rare=True,
        help="Who gives each rank its GPU. Default: read from the source.",
        metavar="|".join(PIN_MODES),
    )
    proof: Annotated[str, Choice(PROOF_MODES)] = option(
        "--proof",
        group="safety",
        help="What a success must show: exchange (the ranks exchanged what they trained), init "
        "(the world alone) or strict (every rank's evidence).",
        metavar="LEVEL",
        default=EXCHANGE,
    )
    strategy: Annotated[str | None, Choice(STRATEGIES)] = option(
        "--strategy",
        group="what",
        rare=True,
        help=f"What makes the ranks train together: {', '.join(STRATEGIES)}. "
        "Default: read from the source.",
        metavar="NAME",
    )
    keras: Annotated[str, Choice(("auto", "2", "3"))] = option(
        "--keras",
        group="what",
        rare=True,
        help="The Keras of the script and of Horovod. Default: read from the source.",
        metavar="auto|2|3",
        default="auto",
    )
    max_runtime: Annotated[int | None, Duration()] = option(
        "--max-runtime",
        "--timeout",
        group="money",
        help="The job's time limit. Default: 1 day in a cloud.",
        metavar="2h",
    )
    hang_after: Annotated[int | None, Duration(1, 7 * 86400)] = option(
        "--hang-after",
        group="safety",
        help="Once no rank has made progress for this time, say which one hangs, with every "
        "rank's stack.",
        metavar="10m",
    )
    hang_action: Annotated[str, Choice(HANG_ACTIONS)] = option(
        "--hang-action",
        group="safety",
        rare=True,
        help="What is done with a job that hangs: a warning alone, or its end.",
        metavar="wait|end",
        default=WAIT,
    )
    spot: Annotated[bool, Switch()] = option(
        "--spot", group="money", help="Use spare capacity that may be taken back.", default=False
    )
    max_wait: Annotated[int | None, Duration()] = option(
        "--max-wait",
        group="money",
        rare=True,
        help="Give up waiting for machines after this time.",
        metavar="2h",
    )
    checkpoint: Annotated[str | None, Text()] = option(
        "--checkpoint",
        group="data",
        rare=True,
        help="Where checkpoints go, used as given.",
        metavar="PLACE",
    )
    output_path: Annotated[str | None, Text()] = option(
        "--output-path", group="data", help="Where model and logs go.", metavar="PLACE"
    )
    region: Annotated[str | None, Text(r"[a-z]{2}[a-z0-9-]{1,40}", "a region's name")] = option(
        "--region",
        "--location",
        group="where",
        help="Where it runs. Default: this machine's settings.",
        metavar="REGION",
    )
    bucket: Annotated[str | None, Text()] = option(
        "--bucket",
        group="data",
        help="For code and results. Default: the account's.",
        metavar="BUCKET",
    )
    tags: Annotated[dict[str, str], Pairs(name_pattern=r"[^=]{1,128}", what="KEY=VALUE")] = option(
        "--tag",
        group="money",
        rare=True,
        help="A tag or label of the job (repeatable).",
        metavar="K=V",
        default={},
    )
    allow_values: Annotated[tuple[str, ...], Words()] = option(
        "--allow-value",
        group="safety",
        rare=True,
        help="Let this named value pass although it looks like a credential.",
        metavar="NAME",
        default=(),
    )

    notify: Annotated[tuple[str, ...], Targets()] = option(
        "--notify",
        group="output",
        rare=True,
        help="Tell of the job's end: desktop, webhook:VARIABLE, command:LINE, none.",
        metavar="TARGET",
        default=(),
    )

    provider: str = field(default="", metadata={})
    verb: str = field(default="", metadata={})
    options: Options = field(default=cast(Any, None), metadata={})
    origins: Mapping[str, str] = field(default_factory=dict, metadata={})

    def origin(self, name: str, otherwise: str) -> str:
        """The file or variable that gave the field ``name``; ``otherwise`` where a flag did, or
        nothing."""
        found = self.origins.get(name, "")
        return otherwise if is_flag(found) else found

    @property
    def files(self) -> list[str]:
        """The files that gave a value, in the plan's words."""
        given = {part for origin in self.origins.values() for part in origin.split(" and ")}
        return sorted(one for one in given if not is_flag(one) and not one.startswith("LAUNCH_"))


def is_flag(origin: str) -> bool:
    """Whether a flag said it, or said a part of it; nobody who says nothing else is a flag too."""
    return not origin or origin.rpartition(" and ")[2].startswith("--")


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
