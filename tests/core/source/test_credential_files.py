"""Files of a source in which credentials are looked for, whatever their encoding."""

from __future__ import annotations

import codecs

import pytest

from launchers.core.source.credential_files import places_in

LINES = "# caf\u00e9\r\nDB_PASSWORD=" + "hunter2hunter2" + "\r\n"


@pytest.mark.parametrize(
    "content",
    [
        LINES.encode(),
        codecs.BOM_UTF8 + LINES.encode(),
        codecs.BOM_UTF16_LE + LINES.encode("utf-16-le"),
        codecs.BOM_UTF16_BE + LINES.encode("utf-16-be"),
    ],
    ids=["UTF-8", "UTF-8 with a mark", "UTF-16, little", "UTF-16, big"],
)
def test_a_credential_is_found_in_every_encoding_of_a_text(content: bytes):
    assert places_in(".env", content) == [(".env:2", "a password, by its name")]


def test_bytes_that_begin_like_a_text_are_no_defect():
    assert places_in("model.bin", codecs.BOM_UTF16_LE + bytes(range(256)) * 3 + b"x") == []
    assert places_in("model.bin", codecs.BOM_UTF32_LE + b"\0" * 9) == []
