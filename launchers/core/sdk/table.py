"""The gate's whole table against what is installed: what jobs may use here and what not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from launchers.core.catalogue import RULES
from launchers.core.model.findings import Finding, finding
from launchers.core.model.problems import EXIT_SDK
from launchers.core.sdk.gate import SdkMinimum, fix_of, minimums, serves, specifier_of
from launchers.core.sdk.installed import installed_version


@dataclass(frozen=True)
class _Package:
    """What the table says of one distribution.

    Attributes:
        base: The rows of every job.
        special: Those of features that a job may use or not.
    """

    name: str
    base: list[SdkMinimum]
    special: list[SdkMinimum]


def sdk_findings(feature: str) -> list[Finding]:
    """One finding for each SDK of a provider: its version, and every row that it does not serve.

    Args:
        feature: Whose rows every submission needs, ``PROVIDER.request``. Those below it are of
            features that a job may use; those beside it of what needs no submission.
    """
    return [_finding(package, feature) for package in _packages(feature)]


def _packages(feature: str) -> list[_Package]:
    room = feature.partition(".")[0]
    rows = [row for row in minimums() if row.feature.partition(".")[0] == room]
    names = dict.fromkeys(row.package for row in rows)
    return [
        _Package(
            name,
            [one for one in rows if one.package == name and one.feature == feature],
            [one for one in rows if one.package == name and one.feature != feature],
        )
        for name in names
    ]


def _finding(package: _Package, feature: str) -> Finding:
    found, wanted = installed_version(package.name), specifier_of(package.base)
    run = fix_of(package.name, found, wanted)
    if not found and not package.base:
        return Finding(package.name, "ok", "not installed; no job needs it", needed="")
    if not found or any(not serves(found, row) for row in package.base):
        why = "; ".join(dict.fromkeys(row.why for row in package.base))
        problem = RULES["sdk-version"].at(
            package.name,
            found or "not installed",
            f"{wanted or 'any version'}, since {why}",
            run,
            severity="error",
        )
        return finding(problem, run=run, exit_code=EXIT_SDK)
    lacking = [row for row in package.special if not serves(found, row)]
    if not lacking:
        many = len(package.base) + len(package.special)
        return Finding(
            package.name, "ok", f"{found}, good for every row of the table ({many})", wanted
        )
    problem = RULES["sdk-version"].at(
        package.name,
        f"{found}, too old or too new for {_listed(lacking)}",
        f"{specifier_of([*package.base, *package.special])} for all of them",
        fix_of(package.name, found, specifier_of([*package.base, *package.special])),
        severity="warning",
    )
    return finding(problem)


def _listed(rows: Sequence[SdkMinimum]) -> str:
    named = (f"{row.feature.rpartition('.')[2]} ({row.specifier})" for row in rows)
    return ", ".join(dict.fromkeys(named))
