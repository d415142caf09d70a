"""The packages that the job asks for beside its image: installed once a host, for its ranks alone.

The bundle's requirements.txt is resolved against what the image has, and only what is missing
there goes into a folder of its own, which the ranks have on PYTHONPATH. So no second NumPy or
TensorFlow hides the one that Horovod was built for, unless the file itself asks for another.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from importlib import metadata
from typing import Any, Callable, Sequence

from launch_runtime import lines
from launch_runtime.host.processes import signal_group

FILE = "requirements.txt"
# From this version on pip can say what it would install (its changelog: --dry-run, --report).
_PIP_WITH_REPORT = (22, 2)
_TAIL = 15  # lines of pip's own words that are shown after a failure
_COMMAND = [
    sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--no-input",
    "--progress-bar", "off",
]  # fmt: skip

# Where pip names the package that it failed for, the most telling first.
_NAMES = (
    re.compile(r"No matching distribution found for (.+?)(?: \(from .*)?$"),
    re.compile(r"satisfies the requirement (\S+)"),
    re.compile(r"Failed building wheel for (\S+)"),
    re.compile(r"Invalid requirement: (.+)"),
    re.compile(r"Cannot install (.+?) because"),
)
_AT_WORK = re.compile(r"\s*(?:Collecting|Processing|Downloading|Building wheel for|Installing) .+")
_NO_NETWORK = re.compile(
    r"connection broken|establish a new connection|name resolution|unreachable|timed out|ProxyError"
)


class _PipError(Exception):
    """pip ended with a code other than 0; the text says for which package, and why."""


class Requirements(threading.Thread):
    """Installs in a thread of its own; :meth:`start` begins.

    Args:
        path: The file, which is there.
        say: Prints a line for people.
        done: Called in the end with the reason of a failure, or "".

    Attributes:
        folder: Where the packages go.
        doing: What pip is at.
    """

    def __init__(self, path: str, say: Callable[[str], None], done: Callable[[str], None]):
        super().__init__(daemon=True)
        self._path, self._say, self._done = path, say, done
        # pip leaves its temporary files behind when it is ended, so they lie in here, too.
        self._own = tempfile.mkdtemp(prefix="launch-packages-")
        self.folder = os.path.join(self._own, "packages")
        self.doing = ""
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._stopped = False

    def run(self) -> None:
        """Blocks until the packages are there, or cannot be."""
        began = time.monotonic()
        try:
            version = metadata.version("pip")
            self._say(f"{FILE}: installing for the ranks of this host (pip {version})")
            told = self._install(version)
        except metadata.PackageNotFoundError:
            reason = "this image's Python has no pip"
        except (_PipError, OSError, ValueError, KeyError) as error:
            reason = str(error) or type(error).__name__
        else:
            self._say(f"{FILE}: {told} in {time.monotonic() - began:.0f} s")
            self._done("")
            return
        if not self._stopped:
            self._done(f"{FILE} cannot be installed: {reason}")

    def stop(self) -> None:
        """Ends pip, if it still runs, and removes the packages; no rank may run any more."""
        with self._lock:
            self._stopped = True
            if self._process is not None:
                signal_group(self._process.pid, signal.SIGKILL)
        if self.ident is not None:
            self.join(5.0)
        shutil.rmtree(self._own, ignore_errors=True)

    def _install(self, version: str) -> str:
        """Installs what the image lacks; what was installed, for people."""
        if _numbers(version) < _PIP_WITH_REPORT:
            self._pip("--target", self.folder, "--requirement", self._path)
            return "installed"
        report = os.path.join(self._own, "report.json")
        self._pip("--dry-run", "--report", report, "--requirement", self._path)
        with open(report, encoding="utf-8") as file:
            missing = json.load(file)["install"]
        if not missing:
            return "the image has it all; looked"
        chosen = os.path.join(self._own, FILE)
        with open(self._path, encoding="utf-8-sig") as file:
            text = file.read()
        with open(chosen, "w", encoding="utf-8") as file:
            file.write("\n".join(_chosen(text, missing)) + "\n")
        self._pip("--no-deps", "--target", self.folder, "--requirement", chosen)
        names = [f"{item['metadata']['name']} {item['metadata']['version']}" for item in missing]
        return f"installed {lines.and_list(names)}"

    def _pip(self, *options: str) -> None:
        """Runs pip; raises _PipError where it fails."""
        with self._lock:
            if self._stopped:
                raise _PipError("stopped")
            self._process = subprocess.Popen(
                [*_COMMAND, *options],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                cwd=os.path.dirname(self._path),
                env={**os.environ, "TMPDIR": self._own},
                text=True,
                encoding="utf-8",
                errors="replace",
                start_new_session=True,
            )
        assert self._process.stdout is not None
        said = []
        with self._process.stdout as output:
            for line in output:
                said.append(line.rstrip())
                if _AT_WORK.match(line):
                    self.doing = line.strip()
        if self._process.wait():
            if not self._stopped:
                for line in said[-_TAIL:]:
                    self._say(f"pip: {line}")
            raise _PipError(why(said))


def why(said: Sequence[str]) -> str:
    """The package that pip failed for and its reason, from its output.

    Example:
        >>> why(["Collecting nosuch", "ERROR: No matching distribution found for nosuch"])
        'nosuch: No matching distribution found for nosuch'
    """
    errors = [
        line.strip().partition(":")[2].strip()
        for line in said
        if line.strip().lower().startswith("error: ")
    ]
    matches = [form.search(error) for form in _NAMES for error in errors]
    found = [match[1] for match in matches if match]
    at_work = [line.split()[1] for line in said if line.startswith(("Collecting ", "Processing "))]
    package = (found or at_work[-1:] or ["pip"])[0]
    reason = errors[-1] if errors else (said[-1] if said else "it said nothing")
    if any(_NO_NETWORK.search(line) for line in said):
        reason += "; this replica cannot reach the package index"
    return f"{package}: {reason}"


def _chosen(text: str, missing: Sequence[dict[str, Any]]) -> list[str]:
    """A requirements file of exactly the missing packages, with the options of the original."""
    whole = re.sub(r"\\\r?\n", " ", text)
    options = [
        line
        for line in map(str.strip, whole.splitlines())
        if line.startswith("-") and not re.match(r"-e|--editable|-r|--requirement", line)
    ]
    return options + [_line(item, hashed="--hash" in text) for item in missing]


def _line(item: dict[str, Any], hashed: bool) -> str:
    """One entry of pip's report as a requirement (PyPA: installation report, direct_url.json)."""
    name, version = item["metadata"]["name"], item["metadata"]["version"]
    origin = item["download_info"]
    if item.get("is_direct"):
        url = origin["url"]
        if "vcs_info" in origin:
            url = "{}+{}@{}".format(origin["vcs_info"]["vcs"], url, origin["vcs_info"]["commit_id"])
        if origin.get("subdirectory"):
            url += f"#subdirectory={origin['subdirectory']}"
        return f"{name} @ {url}"
    sha256 = origin.get("archive_info", {}).get("hashes", {}).get("sha256")
    pinned = f"{name}=={version}"
    return f"{pinned} --hash=sha256:{sha256}" if hashed and sha256 else pinned


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:2])
