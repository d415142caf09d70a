"""Credentials among a job's properties: where a name promises one, whatever stands behind it."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping

from launchers.core.credentials.names import is_secret_literal, kind_of_name
from launchers.core.credentials.search import flagged_environment, mask
from launchers.core.model.problems import Problem
from launchers.core.spark import keys
from launchers.core.spark.catalogue import RULES

# Hadoop's Azure connectors put the account behind a name: fs.azure.account.key.ACCOUNT.dfs.core...
# (Hadoop-Azure Support, "Configuring Credentials"; ABFS, "Authentication").
_AZURE_ACCOUNT = re.compile(r"\.[a-z0-9-]+\.(?:blob|dfs)\.[a-z0-9.-]+", re.IGNORECASE)
# Spark's way to a secret that Kubernetes keeps: SECRET:KEY (Running on Kubernetes, Configuration).
_REFERENCE_NAME = re.compile(r"spark\.kubernetes\.(?:driver|executor)\.secretKeyRef\..+")
_REFERENCE = re.compile(r"[a-z0-9][a-z0-9.-]*:[A-Za-z0-9._-]+")


def credentials_in_conf(
    conf: Mapping[str, str], where: Callable[[str], str], allowed: Collection[str] = ()
) -> list[Problem]:
    """One problem for each value that looks like a credential: a property stands in the document,
    in Spark's own pages and in the environment of every process.

    Args:
        where: The path of a property in a message.
        allowed: Names that ``--allow-value`` lets pass.
    """
    return [
        _problem(key, value, where(key))
        for key, value in conf.items()
        if key not in allowed and _is_credential(key, value)
    ]


def _is_credential(key: str, value: str) -> bool:
    """By the value alone, by the end of the name without an account, or by an earlier part of it:
    there the value must look random, since ``token.mechanism`` is none, nor is ``key.id``."""
    is_reference = _REFERENCE_NAME.fullmatch(key) and _REFERENCE.fullmatch(value.strip())
    name = "" if is_reference else _AZURE_ACCOUNT.sub("", key)
    if flagged_environment({name: value}):
        return True
    parts = name.split(".")
    ends = range(1, len(parts)) if parts[-1] != "id" else ()
    kinds = (kind_of_name(".".join(parts[:end])) for end in ends)
    return any(kind and is_secret_literal(kind, value) for kind in kinds)


def _problem(key: str, value: str, where: str) -> Problem:
    variable = keys.variable_of(key) or re.sub(r"\W+", "_", key.removeprefix("spark.")).upper()
    fix = (
        f"pass --secret {variable}=env:NAME or file:PATH for the ranks, or put the property "
        "into conf/spark-defaults.conf of the driver's machine; if it is no credential, "
        f"--allow-value '{key}' lets it pass"
    )
    return RULES["spark-conf-credential"].at(
        where, f"looks like a credential: {mask(value)}", fix=fix
    )
