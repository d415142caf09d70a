"""Each file's content is read once."""

from __future__ import annotations

from pathlib import Path

from launchers.core.source.texts import SourceTexts


def test_a_file_is_read_once(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_bytes(b"first")
    texts = SourceTexts({"a.txt": file})
    assert texts.read("a.txt") == b"first"
    file.write_bytes(b"second")

    assert texts.read("a.txt") == b"first"
    assert texts.glance("a.txt", 3) == b"first", "what is kept is given"


def test_a_glance_keeps_nothing(tmp_path: Path) -> None:
    file = tmp_path / "a.bin"
    file.write_bytes(b"first")
    texts = SourceTexts({"a.bin": file})

    assert texts.glance("a.bin", 3) == b"fir"
    file.write_bytes(b"second")
    assert texts.read("a.bin") == b"second"


def test_python_files_alone_are_kept_from_the_scan(tmp_path: Path) -> None:
    texts = SourceTexts({"a.py": tmp_path / "gone", "a.bin": tmp_path / "gone"})
    texts.keep("a.py", b"code")
    texts.keep("a.bin", b"data")

    assert (texts.read("a.py"), texts.read("a.bin")) == (b"code", b"")


def test_members_of_an_archive_have_a_path_and_what_is_not_there_is_empty() -> None:
    texts = SourceTexts(contents={"lib/a.py": b"code"})

    assert "lib/a.py" in texts
    assert "b.py" not in texts
    assert (texts.read("lib/a.py"), texts.read("b.py"), texts.glance("b.py")) == (b"code", b"", b"")
