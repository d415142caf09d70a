"""What this machine must have before anything is downloaded; everything that is missing at once.

This file is read by whatever `python3` the machine has, so its syntax is Python 3.6's: a Python
that is too old gets a sentence, not a SyntaxError.
"""

import importlib.util
import os
import platform
import shutil
import socket
import subprocess
import sys
import tempfile

OLDEST_PYTHON = (3, 10)
# TensorFlow 2.18.1 has wheels for Python 3.9 to 3.12 (its page on the package index).
NEWEST_PYTHON = (3, 12)
PYTHON_RANGE = "3.10 to 3.12"

# Measured on Debian 12, x86-64, Python 3.12: 3.1 GB at most while pip installs (700 MB of it what
# was downloaded), 2.7 GB in the end; pyarrow and Pillow, 0.2 GB, came later.
ENVIRONMENT_BYTES = 4000 * 10**6
# New requirements, or the development tools, in an environment that is there: Spark's 0.35 GB are
# downloaded as an archive, unpacked, packed as a wheel and installed.
UPDATE_BYTES = 2000 * 10**6
# pip keeps what it downloaded in the user's cache folder, where the index allows it.
CACHE_BYTES = 1000 * 10**6

# What to install, by the package manager that is found first.
PACKAGES = {
    "apt-get": {"compiler": "g++", "pip": "python3-pip", "venv": "python3-venv", "make": "make"},
    "dnf": {"compiler": "gcc-c++", "pip": "python3-pip", "venv": "python3", "make": "make"},
    "zypper": {"compiler": "gcc-c++", "pip": "python3-pip", "venv": "python3", "make": "make"},
    "pacman": {"compiler": "gcc", "pip": "python-pip", "venv": "python", "make": "make"},
}
INSTALL = {
    "apt-get": "apt-get install",
    "dnf": "dnf install",
    "zypper": "zypper install",
    "pacman": "pacman -S",
}


def python_problem(version: "tuple[int, ...]", executable: str, others: "list[str]") -> str:
    """One line when ``version`` cannot run the launcher and its training stack, else "".

    Args:
        version: Major, minor and micro number of the Python that was asked.
        executable: Its path, for the line.
        others: Names of Pythons on the path that would do, the best last.
    """
    if OLDEST_PYTHON <= version[:2] <= NEWEST_PYTHON:
        return ""
    too_old = version[:2] < OLDEST_PYTHON
    why = "the launcher needs 3.10" if too_old else "TensorFlow 2.18.1 has no build for it"
    fix = "" if others else "install one beside it (python3.11), then: "
    name = others[-1] if others else "python3.11"
    return (
        f"Python: {'.'.join(map(str, version))} ({executable}) is too {'old' if too_old else 'new'}"
        f"; expected {PYTHON_RANGE} ({why}); {fix}make demo PYTHON={name}"
    )


def suitable_pythons() -> "list[str]":
    """Names of the Pythons on PATH that would do, oldest first; each is started once."""
    minors = range(OLDEST_PYTHON[1], NEWEST_PYTHON[1] + 1)
    return [name for name in (f"python3.{n}" for n in minors) if _runs([name, "-c", ""])]


def platform_problem(system: str, libc: str) -> str:
    """One line when no training stack exists for this kind of machine, else ""."""
    if system != "Linux":
        return (
            f"operating system: {system}; expected Linux, where the training stack is tried; "
            "use a Linux machine or container, or `pip install .` for the launcher alone"
        )
    if libc != "glibc":
        return (
            f"C library: {libc or 'not glibc'}; expected glibc (TensorFlow 2.18.1 has no build for "
            "another); use Debian, Ubuntu, Fedora or a container image of these"
        )
    return ""


def module_problems(has: "dict[str, bool]") -> "list[str]":
    """One line for each module that making the environment needs and this Python lacks.

    Args:
        has: Whether ``venv``, ``pip`` and ``ensurepip`` are there; one of the last two is enough.
    """
    problems = []
    if not has["venv"]:
        problems.append(f"venv: {sys.executable} lacks the module; {install_hint('venv')}")
    if not has["pip"] and not has["ensurepip"]:
        problems.append(f"pip: {sys.executable} has none; {install_hint('pip')}")
    return problems


def compiler_problem(candidates: "list[str]") -> str:
    """One line when no C++ compiler among ``candidates`` builds a small program, else ""."""
    names = [name for name in candidates if name and shutil.which(name.split()[0])]
    if not names:
        return (
            f"C++ compiler: none of {', '.join(filter(None, candidates))} found; "
            f"Horovod is compiled on this machine; {install_hint('compiler')}"
        )
    if not any(_compiles(name.split()) for name in names):
        return (
            f"C++ compiler: {names[0]} does not build a small C++17 program; "
            f"expected a whole one; {install_hint('compiler')}"
        )
    return ""


def make_problem() -> str:
    """One line when ``make``, which Horovod's build runs, is not on PATH, else ""."""
    if shutil.which("make") or shutil.which("gmake"):
        return ""
    return f"make: not found; Horovod's build runs it; {install_hint('make')}"


def folder_problem(root: str) -> str:
    """One line when the clone lies where the environment cannot be made, else ""."""
    if any(character.isspace() for character in root):
        return (
            f"folder: {root!r} has a space in its name, which Horovod's build cannot take; "
            "move the clone to a path without one"
        )
    if not os.access(root, os.W_OK):
        return f"folder: {root} cannot be written; .venv is made there; mend its owner or mode"
    return ""


def host_name_problem(name: str) -> str:
    """One line when ``name``, this machine's own, leads to no address of this machine, else "".

    Horovod 0.28.1 opens a socket for each process set at the address of the machine's own name,
    whatever HOROVOD_GLOO_IFACE says (gloo_context.cc, InitializeForProcessSet), and aborts where
    there is none. May block while a name server is asked.
    """
    try:
        found = socket.getaddrinfo(name, None, 0, socket.SOCK_STREAM)
    except OSError:
        found = []
    for family, kind, _, _, address in found:
        try:
            with socket.socket(family, kind) as probe:
                probe.bind(address)
            return ""
        except OSError:
            continue
    sudo = "" if os.geteuid() == 0 else "sudo "
    return (
        f"host name: {name!r}, this machine's own, has no address of this machine, and Horovod "
        f"opens its sockets there; add it: echo '127.0.1.1 {name}' | {sudo}tee -a /etc/hosts"
    )


def disk_problems(needs: "list[tuple[str, str, int]]") -> "list[str]":
    """One line for each file system that has too little room.

    Args:
        needs: What for, a folder (it need not exist yet), and the bytes that will be written.
            Folders on one file system are added up.
    """
    by_device: dict[int, list[tuple[str, str, int]]] = {}
    for purpose, folder, size in needs:
        existing = _nearest_existing(folder)
        by_device.setdefault(os.stat(existing).st_dev, []).append((purpose, existing, size))
    problems = []
    for entries in by_device.values():
        total = sum(size for _, _, size in entries)
        free = shutil.disk_usage(entries[0][1]).free
        if free < total:
            parts = ", ".join(f"{purpose} {size / 1e9:.1f} GB" for purpose, _, size in entries)
            problems.append(
                f"disk: {free / 1e9:.1f} GB free at {entries[0][1]}; expected {total / 1e9:.1f} GB "
                f"({parts}); make room for {(total - free) / 1e9:.1f} GB more"
            )
    return problems


def missing(root: str, environment_bytes: int, must_compile: bool) -> "list[str]":
    """Everything that is missing for an environment in ``root``, one line each.

    Args:
        root: The clone.
        environment_bytes: What will be written there.
        must_compile: Whether Horovod has yet to be compiled (no wheel in the cache fits).
    """
    version = tuple(sys.version_info[:3])
    others = suitable_pythons() if python_problem(version, "", []) else []
    modules = ("venv", "pip", "ensurepip")
    problems = [
        platform_problem(platform.system(), platform.libc_ver()[0]),
        python_problem(version, sys.executable, others),
        *module_problems({name: importlib.util.find_spec(name) is not None for name in modules}),
        folder_problem(root),
        host_name_problem(socket.gethostname()),
    ]
    if must_compile:
        candidates = [os.environ.get("CXX", ""), "c++", "g++", "clang++"]
        problems += [compiler_problem(candidates), make_problem()]
    needs = [("environment", root, environment_bytes)]
    if environment_bytes >= CACHE_BYTES:
        needs.append(("download cache", pip_cache(), CACHE_BYTES))
    return [problem for problem in problems + disk_problems(needs) if problem]


def pip_cache() -> str:
    """The folder in which pip keeps what it downloads."""
    user = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.environ.get("PIP_CACHE_DIR") or os.path.join(user, "pip")


def install_hint(thing: str) -> str:
    """What to run to install ``thing`` here (Debian's way where no package manager is known)."""
    manager = next((name for name in PACKAGES if shutil.which(name)), "apt-get")
    sudo = "" if os.geteuid() == 0 else "sudo "
    return f"install it: {sudo}{INSTALL[manager]} {PACKAGES[manager][thing]}"


def _compiles(compiler: "list[str]") -> bool:
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(folder, "small.cc")
        with open(source, "w") as file:
            file.write("#include <string_view>\nint main() { return std::string_view().size(); }\n")
        return _runs([*compiler, "-std=c++17", "-o", os.path.join(folder, "small"), source])


def _runs(command: "list[str]") -> bool:
    quiet = subprocess.DEVNULL
    try:
        return subprocess.call(command, stdin=quiet, stdout=quiet, stderr=quiet) == 0
    except OSError:
        return False


def _nearest_existing(folder: str) -> str:
    folder = os.path.abspath(folder)
    while not os.path.exists(folder):
        folder = os.path.dirname(folder)
    return folder
