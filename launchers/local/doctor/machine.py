"""What the ranks run on: processors, memory, limits, names and the loopback."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
from pathlib import Path

from launchers.core.model.findings import Finding, finding, skipped, well
from launchers.local.catalogue import RULES
from launchers.local.preflight import host_name_problems

# Of a program that only says its version.
VERSION_SECONDS = 10
_LEAST_MEMORY = 2 * 10**9
_LEAST_SHARED = 256 * 1024**2
_LEAST_FILES = 1024
_CGROUP = Path("/sys/fs/cgroup")


def said_by(*command: str) -> str:
    """What a program prints; empty where it is not there or fails."""
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=VERSION_SECONDS,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def open_mpi() -> list[Finding]:
    """mpirun and ssh: no job here needs them, a script that calls mpirun itself does."""
    version = re.search(r"\d+\.\d+\S*", said_by("mpirun", "--version"))
    ssh = "ssh" if shutil.which("ssh") else "no ssh"
    found = f"{version[0]}, {ssh}" if version else f"no mpirun, {ssh}"
    return [well("Open MPI", f"{found}; ranks here need neither")]


def cpus() -> list[Finding]:
    """Those that this process may use, by its affinity and by its container's share."""
    try:
        may = len(os.sched_getaffinity(0))
    except AttributeError:  # not on macOS
        may = os.cpu_count() or 1
    share = _share_of_cpus()
    if share is not None and share < may:
        return [well("CPUs", f"{share:.1f} of {os.cpu_count()}, by the container's limit")]
    return [well("CPUs", str(may))]


def _share_of_cpus() -> float | None:
    """Source: Linux, cgroup v2, cpu.max: microseconds in a period of so many."""
    try:
        quota, period = (_CGROUP / "cpu.max").read_text().split()
        return None if quota == "max" else int(quota) / int(period)
    except (OSError, ValueError):
        return None


def memory() -> list[Finding]:
    """What is free for ranks."""
    free = _free_memory()
    if free is None:
        return [skipped("memory", "this system does not say how much is free")]
    text = f"{free / 1e9:.1f} GB free"
    if free < _LEAST_MEMORY:
        return [finding(RULES["memory-low"].at("memory", text))]
    return [well("memory", text, "2 GB a rank")]


def _free_memory() -> int | None:
    """Bytes: of the machine, or what its container's limit leaves."""
    try:
        text = Path("/proc/meminfo").read_text()
    except OSError:
        return None
    found = re.search(r"^MemAvailable:\s+(\d+) kB", text, re.MULTILINE)
    free = int(found[1]) * 1024 if found else None
    try:
        limit = int((_CGROUP / "memory.max").read_text())
        left = limit - int((_CGROUP / "memory.current").read_text())
        return left if free is None else min(left, free)
    except (OSError, ValueError):
        return free


def shared_memory() -> list[Finding]:
    """/dev/shm."""
    place = Path("/dev/shm")
    if not place.is_dir():
        return [skipped("shared memory", "this system has no /dev/shm")]
    size = shutil.disk_usage(place)
    text = f"{size.free / 1e6:.0f} MB free in /dev/shm"
    if size.free < _LEAST_SHARED:
        return [finding(RULES["shared-memory"].at("shared memory", text))]
    return [well("shared memory", text)]


def open_files() -> list[Finding]:
    """ulimit -n."""
    try:
        import resource
    except ImportError:
        return [skipped("open files", "this system has no such limit")]
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= _LEAST_FILES:
        many = "no limit" if soft == resource.RLIM_INFINITY else str(soft)
        return [well("open files", many)]
    most = "unlimited" if hard == resource.RLIM_INFINITY else str(hard)
    problem = RULES["open-files"].at("open files", f"{soft} a process, {most} at the most")
    return [finding(problem, run=f"ulimit -n {min(_LEAST_FILES * 4, hard) if hard > 0 else 4096}")]


def host_name() -> list[Finding]:
    """Whether this machine's own name has an address, which Horovod looks up."""
    problems = host_name_problems()
    if problems:
        name = socket.gethostname()
        line = f"echo '127.0.1.1 {name}' | sudo tee -a /etc/hosts"
        return [finding(one, "host name", run=line) for one in problems]
    return [well("host name", f"{socket.gethostname()} resolves")]


def loopback() -> list[Finding]:
    """A connection from this machine to itself."""
    try:
        with socket.socket() as listening:
            listening.bind(("127.0.0.1", 0))
            listening.listen(1)
            with socket.create_connection(listening.getsockname(), timeout=VERSION_SECONDS):
                return [well("loopback", "127.0.0.1 takes connections")]
    except OSError as error:
        found = error.strerror or str(error)
        return [finding(RULES["loopback"].at("loopback", found), run="sudo ip link set lo up")]
