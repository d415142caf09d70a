"""Two images' trees beside each other."""

from __future__ import annotations

import io
import json
import tarfile

import pytest

from launchers.image import compare
from launchers.image.compare import differences, read_tree
from tests.cli.command import Launch
from tests.image.engine import derived_image, own_tag

Entry = tuple[str, bytes, int]


def tree(*entries: Entry, time: int = 0, link: str = "here") -> dict[str, compare.File]:
    """Files of that name, content and mode, and a link, as an image's export has them."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for name, content, mode in entries:
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode, entry.mtime = len(content), mode, time
            archive.addfile(entry, io.BytesIO(content))
        entry = tarfile.TarInfo("link")
        entry.type, entry.linkname = tarfile.SYMTYPE, link
        archive.addfile(entry)
    stream.seek(0)
    return read_tree(stream)


ONE = ("etc/one", b"1", 0o644)


@pytest.mark.parametrize(
    ("after", "found"),
    [
        (tree(ONE, time=9), []),
        (tree(), [("/etc/one", "only in the first")]),
        (tree(ONE, ("b", b"", 0o644)), [("/b", "only in the second")]),
        (tree(("etc/one", b"2", 0o644)), [("/etc/one", "content")]),
        (tree(("etc/one", b"22", 0o644)), [("/etc/one", "content (1 and 2 bytes)")]),
        (tree(("etc/one", b"1", 0o600)), [("/etc/one", "mode")]),
        (tree(ONE, link="there"), [("/link", "content")]),
    ],
    ids=["another time", "gone", "new", "content", "size", "mode", "a link"],
)
def test_what_differs_is_told_by_its_path(
    after: dict[str, compare.File], found: list[tuple[str, str]]
) -> None:
    assert [(one.path, one.what) for one in differences(tree(ONE), after)] == found


def test_what_two_builds_are_known_to_differ_in_has_its_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compare._expected.cache_clear()
    monkeypatch.setattr(compare, "_EXPECTED", LISTED)
    try:
        found = differences(tree(ONE), tree(("etc/one", b"2", 0o644), ("etc/one.d", b"", 0o644)))
    finally:
        compare._expected.cache_clear()

    assert [(one.path, one.why) for one in found] == [("/etc/one", "drawn"), ("/etc/one.d", "")]


class _Listed:
    def read_text(self, encoding: str) -> str:
        return json.dumps({"differences": [{"path": "/etc/one", "why": "drawn"}]})


LISTED = _Listed()


def test_every_listed_difference_is_a_whole_path_with_a_reason() -> None:
    for pattern, why in compare._expected():
        assert pattern.pattern.startswith("/")
        assert why


@pytest.mark.docker
def test_two_images_are_compared_without_starting_them(launch: Launch) -> None:
    with own_tag() as (client, first), own_tag() as (_, second):
        derived_image(client, first, "debian:bookworm-slim", "echo 1 > /file && touch /same")
        derived_image(client, second, "debian:bookworm-slim", "echo 2 > /file && touch /same")

        same = launch("image", "diff", first, first)
        other = launch("image", "diff", first, second, "--json")

    assert same.code == 0
    assert "0 differ" in same.err
    assert other.code == 1
    assert other.json["differences"] == [{"path": "/file", "what": "content", "why": ""}]
    assert other.json["paths"] > 1000
