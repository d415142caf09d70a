"""The launcher itself: its Python, its folder and ledger, the files that it reads."""

from __future__ import annotations

import codecs
import locale
import os
import platform
import shutil
import sqlite3
import sys
from pathlib import Path

from launchers import DISTRIBUTION
from launchers.core.catalogue import RULES
from launchers.core.model.findings import Finding, finding, well
from launchers.core.model.problems import EXIT_BAD_REQUEST, LaunchError
from launchers.core.paths import unwritable
from launchers.core.prerequisites import Check
from launchers.core.records.entry import INTENT
from launchers.core.records.ledger import Ledger, data_folder
from launchers.core.records.ledger_file import is_there
from launchers.core.sdk.installed import installed_version
from launchers.core.spec.layers import DEFAULT_FILE

TITLE = "launch"
# What the interpreters of which this installation was tested are called; pyproject.toml says it to
# pip, this to whoever put the folder on the path by hand.
_PYTHONS = ((3, 10), (3, 12))
# Room for logs, models and checkpoints of a first job.
_LEAST_FREE_BYTES = 10**9
# Rows that are looked at for damage.
_NEWEST = 10_000


def checks(file: Path | None = None) -> list[Check]:
    """What every job needs, wherever it runs. All of it offline.

    Args:
        file: The job's, instead of ./launch.yaml.
    """
    return [
        Check("version", _version),
        Check("Python", _python),
        Check("system", _system),
        Check("text", _encoding),
        Check("folder", _folder),
        Check("ledger", _ledger),
        Check(DEFAULT_FILE, lambda: _job_file(file)),
        Check("defaults", _defaults),
    ]


def _version() -> list[Finding]:
    folder = Path(__file__).resolve().parents[3]
    version = installed_version(DISTRIBUTION)
    return [well("version", f"{DISTRIBUTION} {version or '(no metadata)'} in {folder}")]


def _python() -> list[Finding]:
    found = f"{platform.python_version()}, {sys.executable}"
    first, last = (".".join(map(str, one)) for one in _PYTHONS)
    needed = f"Python {first} to {last}"
    if _PYTHONS[0] <= sys.version_info[:2] <= _PYTHONS[1]:
        return [well("Python", found, needed)]
    return [finding(RULES["launcher-python"].at("Python", found, needed))]


def _system() -> list[Finding]:
    found = f"{platform.system()} {platform.release()}, {platform.machine()}"
    if os.name == "posix":
        return [well("system", found)]
    return [finding(RULES["launcher-system"].at("system", found))]


def _encoding() -> list[Finding]:
    used = {
        "standard output": getattr(sys.stdout, "encoding", None) or "utf-8",
        "the locale": locale.getpreferredencoding(False),
    }
    others = {where: name for where, name in used.items() if not _is_utf8(name)}
    if not others:
        return [well("text", "UTF-8")]
    found = ", ".join(f"{where} has {name}" for where, name in others.items())
    return [finding(RULES["text-encoding"].at("text", found), run="export LC_ALL=C.UTF-8")]


def _is_utf8(name: str) -> bool:
    try:
        return codecs.lookup(name).name in ("utf-8", "utf-8-sig")
    except LookupError:
        return False


def _folder() -> list[Finding]:
    """The data folder: whether it can be written, and how much room its disk has."""
    folder = data_folder()
    probe = folder / f".launch-probe-{os.getpid()}"
    try:
        probe.write_bytes(b"\0" * 4096)
        probe.unlink()
    except OSError as error:
        problem = unwritable(folder, error, "set LAUNCH_HOME to another folder")
        return [finding(problem, "folder", exit_code=EXIT_BAD_REQUEST)]
    free = shutil.disk_usage(folder).free
    text = f"{folder}, {free / 1e9:.1f} GB free"
    if free < _LEAST_FREE_BYTES:
        return [finding(RULES["disk-low"].at("folder", text))]
    return [well("folder", text, f"{_LEAST_FREE_BYTES / 1e9:.0f} GB free")]


def _ledger() -> list[Finding]:
    ledger = Ledger()
    try:
        if not is_there(ledger.path):
            return [well("ledger", "no jobs yet")]
        jobs = ledger.jobs(newest=_NEWEST)
        many = ledger.count()
        broken = _pages_broken(ledger.path)
    except LaunchError as error:
        return [finding(one, "ledger", exit_code=EXIT_BAD_REQUEST) for one in error.problems]
    damaged = [one.name for one in jobs if one.damaged]
    if damaged or broken:
        found = broken or f"{len(damaged)} damaged rows ({', '.join(damaged[:3])})"
        return [finding(RULES["ledger-damaged"].at("ledger", found))]
    unsent = sum(one.state == INTENT for one in jobs)
    text = f"{many} jobs" if many != 1 else "1 job"
    return [well("ledger", f"{text}, {unsent} begun and not sent" if unsent else text)]


def _pages_broken(path: Path) -> str:
    """What SQLite finds wrong with the file; empty where that is nothing."""
    try:
        connection = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=5)
        try:
            (said,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        finally:
            connection.close()
    except sqlite3.Error as error:
        return str(error)
    return "" if said == "ok" else str(said)


def _job_file(file: Path | None) -> list[Finding]:
    from launchers.core.reading.job_file import read

    path = file or Path(DEFAULT_FILE)
    if file is None and not path.is_file():
        text = f"none in {Path.cwd()}; flags alone will do"
        return [well(DEFAULT_FILE, text)]
    name = path.name
    try:
        values = read(path)
    except LaunchError as error:
        return _problems(error)
    jobs = len(values.get("sweep", [values]))
    return [well(name, f"valid, {jobs} jobs" if jobs > 1 else "valid")]


def _defaults() -> list[Finding]:
    """The user's own, for every job."""
    from launchers.core.reading.user_defaults import defaults_file, shown

    path = defaults_file()
    if path is None:
        return [well("defaults", "none of your own")]
    from launchers.core.reading.job_file import read_defaults

    try:
        read_defaults(path)
    except LaunchError as error:
        return _problems(error)
    return [well("defaults", f"{shown(path)}, valid")]


def _problems(error: LaunchError) -> list[Finding]:
    return [finding(one, exit_code=EXIT_BAD_REQUEST) for one in error.problems]
