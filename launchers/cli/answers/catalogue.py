"""Every answer by its name: what gives it, and where its shape lies."""

from __future__ import annotations

import importlib
from typing import Any, NamedTuple


class Named(NamedTuple):
    """One answer.

    Attributes:
        shape: Module below launchers.cli.answers, and name in it.
        given_by: The command lines that print it.
    """

    shape: str
    given_by: str


# A verb's answer has the verb's name.
ANSWERS = {
    "problems": Named("problems:ErrorAnswer", "every verb, where it has no other answer"),
    "plan": Named("plans:DryRunAnswer", "PROVIDER --dry-run; a sweep gives a list"),
    "run": Named("jobs:RunAnswer", "PROVIDER, also with --detach; a sweep gives a list"),
    "status": Named("jobs:JobAnswer", "status JOB"),
    "wait": Named("jobs:JobAnswer", "wait JOB"),
    "notify": Named("notify:NotifyAnswer", "notify JOB, notify --test"),
    "cancel": Named("jobs:JobAnswer", "cancel JOB"),
    "list": Named("jobs:ListAnswer", "list"),
    "logs": Named("jobs:LineAnswer", "logs JOB: one such object a line"),
    "rehearse": Named("rehearsals:RehearsalAnswer", "rehearse FILE, and PROVIDER --dry-run=docker"),
    "rehearsals": Named("rehearsals:LeftoversAnswer", "rehearsals"),
    "check": Named("checks:CheckAnswer", "check FILE..."),
    "import": Named("checks:ImportAnswer", "import FILE"),
    "machines": Named("tables:MachinesAnswer", "machines"),
    "doctor": Named("doctor:DoctorAnswer", "doctor"),
    "explain": Named("tables:RulesAnswer", "explain RULE; without RULE a list"),
    "init": Named("tables:InitAnswer", "init"),
    "image-build": Named("images:BuiltImageAnswer", "image build"),
    "image-check": Named("images:CheckedImageAnswer", "image check IMAGE"),
    "image-diff": Named("images:ImageDifferencesAnswer", "image diff IMAGE IMAGE"),
    "data-parquet": Named("data:ConvertedAnswer", "data parquet IMAGES OUT"),
    "data-info": Named("data:DataInfoAnswer", "data info OUT"),
    "data-show": Named("data:ContactSheetAnswer", "data show OUT"),
    "scaling": Named("scaling:ScalingAnswer", "scaling PROVIDER"),
    "scaling-plan": Named("scaling:ScalingPlanAnswer", "scaling PROVIDER --dry-run"),
    "version": Named("tables:VersionAnswer", "--version"),
}


def shape_of(name: str) -> Any:
    """The type of the answer ``name``, as :func:`launchers.cli.answers.schema.schema` takes it."""
    module, _, attribute = ANSWERS[name].shape.partition(":")
    return getattr(importlib.import_module(f"launchers.cli.answers.{module}"), attribute)
