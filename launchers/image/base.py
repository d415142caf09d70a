"""`launch image base`: debian:bookworm-slim from Debian's packages, without a registry."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from launchers.core.model.problems import EXIT_JOB_DID_NOT_SUCCEED, LaunchError, Problem
from launchers.docker.progress import Progress, size_text
from launchers.image.apt_sources import AptSources
from launchers.image.build import CPU_BASE

if TYPE_CHECKING:
    import docker

SUITE = "bookworm"
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
# The unpacked system and its packages, before both are thrown away.
ROOM_BYTES = 10**9
FAILURE_LINES = 20
# As in the registry's slim images: no documentation, no translations, no package cache.
SLIM = {
    "etc/dpkg/dpkg.cfg.d/slim": (
        "path-exclude /usr/share/doc/*\npath-include /usr/share/doc/*/copyright\n"
        "path-exclude /usr/share/info/*\npath-exclude /usr/share/locale/*\n"
        "path-exclude /usr/share/man/*\nforce-unsafe-io\n"
    ),
    "etc/apt/apt.conf.d/slim": (
        'APT::Keep-Downloaded-Packages "false";\nAcquire::Languages "none";\n'
        'Acquire::GzipIndexes "true";\n'
    ),
    # A package starts no service while it is installed.
    "usr/sbin/policy-rc.d": "#!/bin/sh\nexit 101\n",
}
EMPTIED = (
    "usr/share/info",
    "usr/share/locale",
    "usr/share/man",
    "var/cache/apt",
    "var/lib/apt/lists",
    "var/log",
)


def missing(euid: int, has: dict[str, bool], free: int) -> list[Problem]:
    """What this machine lacks to make the base.

    Args:
        euid: The user's number.
        has: Whether ``debootstrap``, ``unshare`` and the keyring are there.
        free: Bytes free in the folder for temporary files.
    """
    install = "apt-get install debootstrap"
    problems = []
    if euid != 0:
        problems.append(
            Problem(
                "user",
                f"number {euid}",
                "root: debootstrap makes files of root and runs their setup",
                "sudo launch image base",
                rule="base-root",
            )
        )
    for name, package in (("debootstrap", install), ("unshare", "apt-get install util-linux")):
        if not has[name]:
            problems.append(
                Problem(name, "not on PATH", "the program", package, rule=f"base-{name}")
            )
    if not has["keyring"]:
        problems.append(
            Problem(
                str(KEYRING),
                "not there",
                "Debian's keys, to check the packages with",
                "apt-get install debian-archive-keyring",
                rule="base-keyring",
            )
        )
    if free < ROOM_BYTES:
        problems.append(
            Problem(
                tempfile.gettempdir(),
                f"{size_text(free)} free",
                size_text(ROOM_BYTES),
                "make room, or set TMPDIR to another folder",
                rule="base-disk",
            )
        )
    return problems


def make_base(
    client: docker.DockerClient, sources: AptSources, progress: Progress, tag: str = CPU_BASE
) -> Any:
    """Make the base image and give it (docker's Image); about 1.5 minutes on 2 cores.

    The folder that it is made in is removed again, also after an interruption.

    Raises:
        LaunchError: This machine lacks something, or debootstrap ended with an error.
    """
    problems = missing(
        os.geteuid(),
        {
            "debootstrap": shutil.which("debootstrap") is not None,
            "unshare": shutil.which("unshare") is not None,
            "keyring": KEYRING.is_file(),
        },
        shutil.disk_usage(tempfile.gettempdir()).free,
    )
    if problems:
        raise LaunchError(problems)
    with tempfile.TemporaryDirectory(prefix="launch-base-") as folder:
        root = Path(folder) / "root"
        root.mkdir()
        progress.step(f"debootstrap {SUITE} from {sources.mirror}")
        _run(_debootstrap(root, sources.mirror), sources.environment(), progress)
        progress.step("Slim it")
        _slim(root, sources)
        progress.step(f"Import it as {tag}")
        _import(client, root, tag)
    return client.images.get(tag)


def _debootstrap(root: Path, mirror: str) -> list[str]:
    # In a mount namespace of its own, so that no mount of it can outlive it.
    return [
        "unshare",
        "--mount",
        "--",
        "debootstrap",
        "--variant=minbase",
        "--include=ca-certificates",
        f"--keyring={KEYRING}",
        SUITE,
        str(root),
        mirror,
    ]


def _run(command: Sequence[str], environment: dict[str, str], progress: Progress) -> None:
    lines: deque[str] = deque(maxlen=FAILURE_LINES)
    with _ended_with_us(
        subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, **environment},
            text=True,
            errors="replace",
            start_new_session=True,
        )
    ) as process:
        for line in _pipe(process):
            lines.append(line.rstrip())
            progress.note(line.strip())
        code = process.wait()
    if code:
        for line in lines:
            progress.keep(f"  | {line}")
        raise LaunchError(
            Problem(
                "debootstrap",
                f"exit code {code}; its last lines stand above",
                "exit code 0",
                "a mirror that cannot be reached: set http_proxy, or name one in "
                "/etc/apt/sources.list",
                rule="base-debootstrap",
            ),
            EXIT_JOB_DID_NOT_SUCCEED,
        )


@contextmanager
def _ended_with_us(process: subprocess.Popen[Any]) -> Iterator[subprocess.Popen[Any]]:
    """The process group is gone when the block is left, however it is left."""
    try:
        yield process
    finally:
        for number in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(process.pid, number)
            except ProcessLookupError:
                break
            deadline = time.monotonic() + 5
            while process.poll() is None and time.monotonic() < deadline:
                time.sleep(0.05)
        process.wait()
        if process.stdout:
            process.stdout.close()


def _pipe(process: subprocess.Popen[Any]) -> IO[Any]:
    """Its output, which was asked for as a pipe."""
    if process.stdout is None:
        raise ValueError("the process has no pipe")
    return process.stdout


def _slim(root: Path, sources: AptSources) -> None:
    for name in EMPTIED:
        folder = root / name
        for entry in folder.iterdir() if folder.is_dir() else ():
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry)
            else:
                entry.unlink()
    for copyright_file in (root / "usr/share/doc").rglob("*"):
        if copyright_file.name != "copyright" and not copyright_file.is_dir():
            copyright_file.unlink()
    for name, text in SLIM.items():
        (root / name).write_text(text)
    (root / "usr/sbin/policy-rc.d").chmod(0o755)
    (root / "etc/apt/sources.list").write_text(sources.text(SUITE))
    # The building machine's name and servers.
    for name in ("etc/hostname", "etc/resolv.conf"):
        (root / name).write_text("")


def _import(client: docker.DockerClient, root: Path, tag: str) -> None:
    import docker.errors
    from docker.utils import parse_repository_tag

    repository, label = parse_repository_tag(tag)
    with _ended_with_us(
        subprocess.Popen(
            ["tar", "--numeric-owner", "-C", str(root), "-c", "."],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
    ) as archive:
        pipe = _pipe(archive)
        try:
            client.api.import_image_from_data(
                iter(lambda: pipe.read(1 << 20), b""),
                repository=repository,
                tag=label,
                changes='CMD ["bash"]',
            )
        except docker.errors.APIError as error:
            raise LaunchError(
                Problem(
                    tag,
                    str(error.explanation),
                    "an image that the engine takes",
                    rule="base-import",
                ),
                EXIT_JOB_DID_NOT_SUCCEED,
            ) from None
        if archive.wait():
            raise LaunchError(
                Problem(
                    "tar", f"exit code {archive.returncode}", "exit code 0", rule="base-import"
                ),
                EXIT_JOB_DID_NOT_SUCCEED,
            )
