"""The gate: no cloud SDK that is older than what the job needs, or too new, is used.

It looks at package metadata alone, imports no SDK and makes no network call. What each feature
needs stands in the minimums.json of its provider. It is necessary and not sufficient: even a new
SDK may drop an argument, so the rendered request is checked by itself.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from launchers.core.catalogue import RULES
from launchers.core.extras import installer
from launchers.core.model.problems import EXIT_SDK, LaunchError, Problem, Severity, did_you_mean
from launchers.core.registry import PROVIDERS, data_files, provider
from launchers.core.sdk.installed import installed_version

_INSTALLED = "installed"


class SdkMinimum(NamedTuple):
    """One row of a provider's minimums.json.

    Attributes:
        package: Name of the distribution.
        feature: Dotted name of what needs it; ``installed`` for every job.
        minimum: The first version that will do; empty where any will.
        below: The first version that is too new; empty where none is.
        excluded: Versions in between that will not do.
        why: What fails otherwise.
        source: Where the figure comes from.
    """

    package: str
    feature: str
    minimum: str
    why: str
    source: str
    below: str = ""
    excluded: tuple[str, ...] = ()

    @property
    def specifier(self) -> str:
        """The versions that will do, as pip writes them; empty where any will."""
        parts = [f">={self.minimum}"] if self.minimum else []
        parts += [f"<{self.below}"] if self.below else []
        return ",".join(parts + [f"!={version}" for version in self.excluded])


@dataclass(frozen=True)
class GateFinding:
    """A package that is missing, too old or too new for what a job uses.

    Attributes:
        package: Name of the distribution.
        found: The installed version; empty where it is not installed.
        needed: The versions that will do, as pip writes them.
        why: One reason for every feature that the found version does not serve.
        sources: Where these reasons come from.
        fix: The command that installs what is needed.
        stops: Whether it stops the job: in a submission, unless it is ignored.
        ignored: Whether `--ignore-sdk` names it.
    """

    package: str
    found: str
    needed: str
    why: tuple[str, ...]
    sources: tuple[str, ...]
    fix: str
    stops: bool
    ignored: bool = False

    def as_problem(self) -> Problem:
        """The finding for the list of problems: an error where it stops the job, else a warning."""
        found = self.found or "not installed"
        if self.ignored:
            found += f" (continuing because of --ignore-sdk {self.package})"
        elif not self.stops:
            found += " (submission would stop here)"
        expected = f"{self.needed or 'any version'}, since {'; '.join(self.why)}"
        severity: Severity = "error" if self.stops else "warning"
        return RULES["sdk-version"].at(self.package, found, expected, self.fix, severity)


def check(
    features: Iterable[str], *, ignore: Collection[str] = (), for_submission: bool
) -> list[GateFinding]:
    """Which installed SDKs do not serve a job that uses ``features``.

    Args:
        features: Names of the providers' minimums.json, ``PROVIDER.request.FIELD``. A feature
            needs what those above it need. Below the names that such a file calls open any will do.
        ignore: Packages of `--ignore-sdk`: their findings are given, marked, and stop nothing.
        for_submission: Whether the job is about to be sent. In a dry run no finding stops it, and
            a package that is not installed is none.

    Returns:
        One finding a package, sorted by name.

    Raises:
        LaunchError: ``ignore`` names a package that the gate does not know (exit code 2).
        ValueError: A feature is unknown, which is a mistake of the caller.
    """
    wanted = _wanted(features)
    _refuse_unknown(ignore)
    findings = []
    for package in sorted({row.package for row in wanted}):
        rows = [row for row in wanted if row.package == package]
        found = installed_version(package)
        if not found:
            broken = [row for row in rows if row.feature != _INSTALLED] if for_submission else []
        else:
            broken = [row for row in rows if not serves(found, row)]
        if broken:
            stops = for_submission and package not in ignore
            findings.append(_finding(package, found, rows, broken, stops, package in ignore))
    return findings


def require(features: Iterable[str], *, ignore: Collection[str] = ()) -> list[GateFinding]:
    """The gate of a submission: call it before any network call.

    Returns:
        The findings that `--ignore-sdk` lets pass, for the message and the ledger.

    Raises:
        LaunchError: With exit code 3, a package is missing, too old or too new; else as
            :func:`check`.
    """
    findings = check(features, ignore=ignore, for_submission=True)
    stopping = [finding.as_problem() for finding in findings if finding.stops]
    if stopping:
        raise LaunchError(stopping, EXIT_SDK)
    return findings


@cache
def minimums() -> tuple[SdkMinimum, ...]:
    """The rows of every provider's minimums.json."""
    return tuple(
        SdkMinimum(**{**row, "excluded": tuple(row.get("excluded", ()))})
        for table in _tables()
        for row in table["rows"]
    )


@cache
def _tables() -> tuple[Mapping[str, Any], ...]:
    return tuple(json.loads(path.read_text("utf-8")) for path in data_files("minimums.json"))


def _wanted(features: Iterable[str]) -> list[SdkMinimum]:
    """The rows that ``features`` bring into play, and those of every job."""
    asked = sorted(set(features))
    known = {row.feature for row in minimums()}
    open_names = tuple(f"{name}." for table in _tables() for name in table["open"]["features"])
    for feature in asked:
        if feature not in known and not feature.startswith(open_names):
            raise ValueError(f"unknown feature {feature!r}; {did_you_mean(feature, known)}")
    return [
        row
        for row in minimums()
        if row.feature == _INSTALLED
        or any(f"{feature}.".startswith(f"{row.feature}.") for feature in asked)
    ]


def _refuse_unknown(ignore: Collection[str]) -> None:
    known = sorted({row.package for row in minimums()})
    problems = [
        RULES["sdk-ignore"].at("--ignore-sdk", name, ", ".join(known), did_you_mean(name, known))
        for name in ignore
        if name not in known
    ]
    if problems:
        raise LaunchError(problems)


def serves(found: str, row: SdkMinimum) -> bool:
    """Whether the version ``found`` will do for ``row``; one that cannot be read will not."""
    if not row.specifier:
        return True
    # Text would put 2.9.0 above 2.18.0, and there are post-releases and release candidates.
    from packaging.version import InvalidVersion, Version

    try:
        version = Version(found)
    except InvalidVersion:
        return False
    if row.minimum and version < Version(row.minimum):
        return False
    # A candidate of the version that is too new is too new as well.
    if row.below and version >= Version(f"{row.below}.dev0"):
        return False
    return version not in map(Version, row.excluded)


def _finding(
    package: str,
    found: str,
    rows: list[SdkMinimum],
    broken: list[SdkMinimum],
    stops: bool,
    ignored: bool,
) -> GateFinding:
    needed = specifier_of(rows)
    return GateFinding(
        package=package,
        found=found,
        needed=needed,
        why=tuple(dict.fromkeys(row.why for row in broken)),
        sources=tuple(dict.fromkeys(row.source for row in broken)),
        fix=fix_of(package, found, needed),
        stops=stops,
        ignored=ignored,
    )


def specifier_of(rows: Sequence[SdkMinimum]) -> str:
    """One specifier for all of ``rows``."""
    from packaging.version import Version

    minimums_ = [row.minimum for row in rows if row.minimum]
    limits = [row.below for row in rows if row.below]
    strictest = SdkMinimum(
        package="",
        feature="",
        minimum=max(minimums_, key=Version, default=""),
        why="",
        source="",
        below=min(limits, key=Version, default=""),
        excluded=tuple(dict.fromkeys(version for row in rows for version in row.excluded)),
    )
    return strictest.specifier


def fix_of(package: str, found: str, needed: str) -> str:
    """The command that installs a package in versions that will do, with its provider's extra
    where it is not installed yet."""
    if not found:
        for extra in (provider(name).extra for name in PROVIDERS):
            if extra and package in extra.modules:
                return extra.install_line
    return _pip_line(package, needed)


def _pip_line(package: str, needed: str) -> str:
    lines = [table["pip"] for table in _tables() if "pip" in table]
    if "<" not in needed:
        bounds = (pip["bound"].get(package, "") for pip in lines)
        needed = ",".join(filter(None, (needed, *bounds)))
    words = [word for pip in lines for word in pip["with"].get(package, ())]
    words.append(f"{package}{needed}")
    return shlex.join([*installer(), "--upgrade", *words])
