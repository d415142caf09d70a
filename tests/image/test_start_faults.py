"""What runtimes say of a program that does not start, in words about its image."""

from __future__ import annotations

import pytest

from launchers.core.model.jobs import LogLine
from launchers.image.start_faults import start_fault
from launchers.rehearsal.course.causes import Causes

RUNC = "OCI runtime create failed: runc create failed: unable to start container process: "


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (
            f'{RUNC}exec: "train": executable file not found in $PATH',
            "no program train on its PATH",
        ),
        ("crun: executable file `train` not found in $PATH", "no program train on its PATH"),
        (f'{RUNC}exec: "/a/b": stat /a/b: no such file or directory', "it has no program /a/b"),
        (f'{RUNC}exec: "/a/b": permission denied: unknown', "/a/b is a folder, or a file that"),
        ("exec /a/b: no such file or directory", "/a/b is there, but not what runs it"),
        ("exec /a/b: exec format error", "/a/b is neither a program for this machine"),
        ("no space left on device", ""),
    ],
)
def test_its_words_become_words_about_the_image(said: str, told: str) -> None:
    found = start_fault(said, "amd64", "x86_64")
    assert told in found
    assert bool(told) == bool(found)


def test_an_image_for_another_processor_is_told_by_both_names() -> None:
    found = start_fault("exec /bin/sh: exec format error", "arm64", "x86_64")
    assert found == "it is built for arm64, and this machine is amd64"
    assert "built for" not in start_fault("exec /bin/sh: exec format error", "arm64", "aarch64")


def test_a_containers_own_first_line_explains_its_end() -> None:
    causes = Causes(())
    causes.see(LogLine(0.0, "algo-1", None, "exec /opt/run: exec format error"))
    causes.see(LogLine(0.0, "algo-1", None, "exec /opt/other: no such file or directory"))
    assert causes.text.startswith("/opt/run is neither a program for this machine")
    spoken = Causes(())
    spoken.see(LogLine(0.0, "algo-1", 0, "exec /opt/run: exec format error"))
    assert spoken.text == "", "a rank may print what it likes"
