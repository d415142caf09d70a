"""Making the base image without a registry."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from infra.base_image import (
    DEFAULT_MIRROR,
    DEFAULT_SECURITY,
    IMAGE,
    ROOM_BYTES,
    Sources,
    host_sources,
    missing,
    slim,
)
from launchers.core.model.problems import EXIT_INTERRUPTED
from launchers.docker.engine import engine
from launchers.image.build import CPU_BASE
from tests.places import ROOT

ALL = {"debootstrap": True, "unshare": True, "keyring": True}

DEB822 = """\
Types: deb
# URIs: http://old.example/debian
URIs: http://mirror.example/debian
Suites: bookworm bookworm-updates
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb
URIs: http://mirror.example/debian-security/
Suites: bookworm-security
Components: main
"""


def test_it_is_the_image_that_a_build_begins_with() -> None:
    assert IMAGE == CPU_BASE


@pytest.mark.docker
def test_an_image_that_is_there_is_not_made_again() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "infra.base_image"], cwd=ROOT, capture_output=True, text=True
    )

    assert done.returncode == 0, done.stderr
    assert f"{IMAGE} is there" in done.stdout + done.stderr


def test_a_machine_with_everything_lacks_nothing() -> None:
    assert missing(0, ALL, ROOM_BYTES) == []


@pytest.mark.parametrize(
    ("euid", "has", "free", "fix"),
    [
        (1000, {}, ROOM_BYTES, "sudo make base-image"),
        (0, {"debootstrap": False}, ROOM_BYTES, "apt-get install debootstrap"),
        (0, {"unshare": False}, ROOM_BYTES, "apt-get install util-linux"),
        (0, {"keyring": False}, ROOM_BYTES, "debian-archive-keyring"),
        (0, {}, ROOM_BYTES - 1, "TMPDIR"),
    ],
)
def test_what_is_missing_is_one_line_with_its_fix(
    euid: int, has: dict[str, bool], free: int, fix: str
) -> None:
    (line,) = missing(euid, {**ALL, **has}, free)

    assert fix in line
    assert "\n" not in line


def test_all_that_is_missing_is_told_at_once() -> None:
    assert len(missing(1000, dict.fromkeys(ALL, False), 0)) == 5


@pytest.mark.skipif(not shutil.which("apt-get"), reason="this machine has no apt")
@pytest.mark.parametrize(
    ("name", "text", "mirror", "security"),
    [
        (
            "sources.list.d/debian.sources",
            DEB822,
            "http://mirror.example/debian",
            "http://mirror.example/debian-security",
        ),
        (
            "sources.list",
            "deb [arch=amd64] http://m.example/debian bookworm main contrib\n",
            "http://m.example/debian",
            DEFAULT_SECURITY,
        ),
        (
            "sources.list",
            "deb-src http://m.example/debian bookworm main\n",
            DEFAULT_MIRROR,
            DEFAULT_SECURITY,
        ),
        (
            "sources.list",
            "deb http://archive.ubuntu.com/ubuntu noble main\n",
            DEFAULT_MIRROR,
            DEFAULT_SECURITY,
        ),
        (
            "sources.list",
            "deb http://me:word@m.example/debian bookworm main\n",
            DEFAULT_MIRROR,
            DEFAULT_SECURITY,
        ),
        (
            "sources.list.d/off.sources",
            DEB822.replace("Types: deb\n#", "Enabled: no\nTypes: deb\n#"),
            DEFAULT_MIRROR,
            "http://mirror.example/debian-security",
        ),
        (
            "sources.list",
            "deb http://a.example/debian bookworm main\ndeb http://b.example/debian sid main\n",
            "http://a.example/debian",
            DEFAULT_SECURITY,
        ),
    ],
)
def test_the_machines_own_debian_mirror_is_used_else_debians(
    tmp_path: Path, name: str, text: str, mirror: str, security: str
) -> None:
    (tmp_path / "sources.list.d").mkdir()
    (tmp_path / name).write_text(text)

    assert host_sources(tmp_path) == Sources(mirror, security)


def test_what_the_slim_image_has_no_use_for_is_taken_out(tmp_path: Path) -> None:
    gone = ("usr/share/man/man1/ls.1", "var/lib/apt/lists/x", "usr/share/doc/bash/README")
    kept = ("usr/share/doc/bash/copyright", "bin/sh")
    others = ("etc/dpkg/dpkg.cfg.d/x", "etc/apt/apt.conf.d/x", "usr/sbin/x")
    for name in (*gone, *kept, *others):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    (tmp_path / "etc/resolv.conf").write_text("nameserver 10.0.0.1\n")

    slim(tmp_path, Sources("http://a/debian", "http://a/debian-security"))

    assert [name for name in (*gone, *kept) if (tmp_path / name).exists()] == list(kept)
    assert (tmp_path / "etc/resolv.conf").read_text() == ""
    assert (tmp_path / "usr/sbin/policy-rc.d").stat().st_mode & 0o777 == 0o755
    assert (tmp_path / "etc/apt/sources.list").read_text().splitlines() == [
        "deb http://a/debian bookworm main",
        "deb http://a/debian bookworm-updates main",
        "deb http://a/debian-security bookworm-security main",
    ]


@pytest.mark.docker
def test_an_interruption_leaves_no_folder_no_process_and_the_image_as_it_was(
    tmp_path: Path,
) -> None:
    client = engine()
    before = client.images.get(IMAGE).id
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-m", "infra.base_image", "--again"],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(temporary)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    deadline = time.monotonic() + 60
    # debootstrap is at work once it has written something.
    while not list(temporary.glob("launch-base-*/root/*")) and time.monotonic() < deadline:
        assert process.poll() is None, process.communicate()[0]
        time.sleep(0.05)
    began = list(temporary.iterdir())

    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=60)[0]

    assert process.returncode == EXIT_INTERRUPTED
    assert "interrupted" in said
    assert began
    assert list(temporary.iterdir()) == []
    assert not _commands_naming(str(temporary))
    assert client.images.get(IMAGE).id == before
    client.close()


def _commands_naming(text: str) -> list[str]:
    found = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdecimal() or int(folder.name) == os.getpid():
            continue
        try:
            command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue
        found += [command] if text in command else []
    return found
