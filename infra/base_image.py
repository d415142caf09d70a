"""`make base-image`: debian:bookworm-slim from Debian's packages, where no registry is in reach.

It is made with debootstrap, from the mirror that this machine's apt uses; nothing where the
Docker engine has the image already (`ARGS=--again` makes it anew). Exit codes: 0 done, 1 a step
failed, 2 this machine lacks something, 130 interrupted.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from infra.bootstrap.progress import StepError, run_step

IMAGE = "debian:bookworm-slim"
SUITE = "bookworm"
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
DEFAULT_MIRROR = "http://deb.debian.org/debian"
DEFAULT_SECURITY = "http://deb.debian.org/debian-security"
LOG = Path(__file__).resolve().parent.parent / "build" / "base-image.log"
# The unpacked system and its packages, before both are thrown away.
ROOM_BYTES = 10**9
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
    # The building machine's name and servers.
    "etc/hostname": "",
    "etc/resolv.conf": "",
}
EMPTIED = (
    "usr/share/info",
    "usr/share/locale",
    "usr/share/man",
    "var/cache/apt",
    "var/lib/apt/lists",
    "var/log",
)


@dataclass(frozen=True)
class Sources:
    """Debian's mirrors as this machine uses them: the archive's and the security updates'."""

    mirror: str = DEFAULT_MIRROR
    security: str = DEFAULT_SECURITY

    def text(self) -> str:
        """sources.list of the image."""
        return (
            f"deb {self.mirror} {SUITE} main\n"
            f"deb {self.mirror} {SUITE}-updates main\n"
            f"deb {self.security} {SUITE}-security main\n"
        )


def host_sources(folder: Path = Path("/etc/apt")) -> Sources:
    """The sources in apt's ``folder``; Debian's own servers where it names none, or no Debian.

    apt itself says what it would download, so every form of its settings is understood. An
    address with a password in it is not used: it would lie in the image.
    """
    with tempfile.TemporaryDirectory() as empty:
        listed = _said_by("apt-get", f"-oDir::Etc={folder}", f"-oDir::State::lists={empty}",
                          "update", "--print-uris")  # fmt: skip
    found = Sources()
    # apt lists the source that it reads first last.
    for address, suite in re.findall(r"'(https?://\S+)/dists/(\S+?)/main/binary-", listed):
        archive = urlsplit(address).path.rstrip("/").rpartition("/")[2]
        if urlsplit(address).username:
            continue
        if archive == "debian-security":
            found = Sources(found.mirror, address.rstrip("/"))
        elif archive == "debian" and not suite.endswith("-security"):
            found = Sources(address.rstrip("/"), found.security)
    return found


def missing(euid: int, has: dict[str, bool], free: int) -> list[str]:
    """What this machine lacks to make the image, one line each with its fix.

    Args:
        euid: The user's number.
        has: Whether ``debootstrap``, ``unshare`` and ``keyring`` are there.
        free: Bytes free in the folder for temporary files.
    """
    lacks = []
    if euid != 0:
        lacks.append(
            f"user: number {euid}; expected root: debootstrap makes files of root and runs their "
            "setup; sudo make base-image"
        )
    for name, package in (("debootstrap", "debootstrap"), ("unshare", "util-linux")):
        if not has[name]:
            lacks.append(f"{name}: not on PATH; apt-get install {package}")
    if not has["keyring"]:
        lacks.append(
            f"{KEYRING}: not there; expected Debian's keys, to check the packages with; "
            "apt-get install debian-archive-keyring"
        )
    if free < ROOM_BYTES:
        lacks.append(
            f"{tempfile.gettempdir()}: {free // 10**6} MB free; expected {ROOM_BYTES // 10**6} MB; "
            "free some, or set TMPDIR to another folder"
        )
    return lacks


def make(sources: Sources, tag: str = IMAGE) -> None:
    """Make the image; about 1.5 minutes on 2 cores.

    The folder that it is made in is removed again, also after an interruption.

    Raises:
        StepError: debootstrap or the import ended with an error, which has been shown.
    """
    with tempfile.TemporaryDirectory(prefix="launch-base-") as folder:
        root = Path(folder) / "root"
        root.mkdir()
        proxy = re.search(
            r"proxy='(http[^']*)'", _said_by("apt-config", "shell", "proxy", "Acquire::http::Proxy")
        )
        # In a mount namespace of its own, so that no mount of it can outlive it.
        run_step(
            f"debootstrap {SUITE} from {sources.mirror}",
            ["unshare", "--mount", "--", "debootstrap", "--variant=minbase",
             "--include=ca-certificates", f"--keyring={KEYRING}", SUITE, str(root), sources.mirror],
            LOG,
            environment={**os.environ, **({"http_proxy": proxy[1]} if proxy else {})},
            expected="about 1.5 minutes on 2 cores; through a proxy, set http_proxy",
        )  # fmt: skip
        slim(root, sources)
        archive = Path(folder) / "root.tar"
        print(f"Import it as {tag}", flush=True)
        subprocess.run(
            ["tar", "--numeric-owner", "-C", str(root), "-cf", str(archive), "."], check=True
        )
        _import(archive, tag)


def slim(root: Path, sources: Sources) -> None:
    """Take out of the system in ``root`` what the registry's slim images lack, too."""
    for name in EMPTIED:
        for entry in (root / name).iterdir() if (root / name).is_dir() else ():
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry)
            else:
                entry.unlink()
    for file in (root / "usr/share/doc").rglob("*"):
        if file.name != "copyright" and not file.is_dir():
            file.unlink()
    for name, text in {**SLIM, "etc/apt/sources.list": sources.text()}.items():
        (root / name).write_text(text)
    (root / "usr/sbin/policy-rc.d").chmod(0o755)


def _import(archive: Path, tag: str) -> None:
    from docker.utils import parse_repository_tag

    from launchers.docker.engine import engine

    repository, label = parse_repository_tag(tag)
    with archive.open("rb") as data, closing(engine()) as client:
        client.api.import_image_from_data(data, repository, label, changes='CMD ["bash"]')


def _said_by(*command: str) -> str:
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):  # no apt here
        return ""
    return done.stdout


def main(words: list[str]) -> int:
    """Make the image unless it is there; gives the exit code."""
    from docker.errors import DockerException, ImageNotFound

    from launchers.core.model.problems import LaunchError
    from launchers.docker.engine import engine

    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with closing(engine()) as client:
            try:
                if words != ["--again"] and client.images.get(IMAGE):
                    print(f"{IMAGE} is there; `make base-image ARGS=--again` makes it anew")
                    return 0
            except ImageNotFound:
                pass
        lacks = missing(
            os.geteuid(),
            {
                "debootstrap": shutil.which("debootstrap") is not None,
                "unshare": shutil.which("unshare") is not None,
                "keyring": KEYRING.is_file(),
            },
            shutil.disk_usage(tempfile.gettempdir()).free,
        )
        if lacks:
            print(*lacks, sep="\n", file=sys.stderr)
            return 2
        make(host_sources())
    except KeyboardInterrupt:
        print("\ninterrupted: nothing is left of it", file=sys.stderr)
        return 130
    except LaunchError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    except (StepError, DockerException, OSError, subprocess.CalledProcessError) as error:
        print(f"{IMAGE}: not made: {error}", file=sys.stderr)
        return 1
    print(f"made {IMAGE}; next: launch image build")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
