"""Where Debian's packages come from, read from a machine's own settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from launchers.image.apt_sources import DEFAULT_MIRROR, DEFAULT_SECURITY, AptSources, host_sources

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
    ],
)
def test_the_machines_own_debian_mirror_is_used_else_debians(
    tmp_path: Path, name: str, text: str, mirror: str, security: str
) -> None:
    (tmp_path / "sources.list.d").mkdir()
    (tmp_path / name).write_text(text)

    sources = host_sources(tmp_path)

    assert (sources.mirror, sources.security) == (mirror, security)


def test_the_image_gets_updates_and_security_and_no_proxy() -> None:
    text = AptSources("http://a/debian", "http://a/debian-security", "http://me:w@p:1").text("b")

    assert text.splitlines() == [
        "deb http://a/debian b main",
        "deb http://a/debian b-updates main",
        "deb http://a/debian-security b-security main",
    ]
