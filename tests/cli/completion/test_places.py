"""Where the completion is put, a second time, and taken away; and what bash makes of it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from launchers.cli.completion.places import place_of
from launchers.cli.completion.scripts import script
from launchers.cli.main import run
from launchers.core.records.entry import Entry
from launchers.core.records.ledger import Ledger
from tests.cli.command import Launch
from tests.cli.terminal import on_terminal
from tests.places import ROOT
from tests.refusals import refused

SHELLS = ["bash", "zsh", "fish"]
RC = {"bash": ".bashrc", "zsh": ".zshrc"}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "ZDOTDIR", "BASH_COMPLETION_USER_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("LAUNCH_HOME", str(tmp_path / "launch"))
    return tmp_path


def files(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.mark.parametrize("shell", SHELLS)
def test_install_a_second_time_changes_nothing_and_remove_leaves_the_rc_as_it_was(
    shell: str, home: Path, capsys: pytest.CaptureFixture[str]
):
    if shell in RC:
        (home / RC[shell]).write_bytes(b"alias ll='ls -l'\nexport X=\xff # no newline")
    before = files(home)
    assert run(["completion", "install", "--shell", shell]) == 0
    once = files(home)
    told = capsys.readouterr().err
    for name in once.keys() - before.keys():
        assert str(home / name) in told
    assert run(["completion", "install", "--shell", shell]) == 0
    assert files(home) == once
    assert "completes already" in capsys.readouterr().err
    assert run(["completion", "remove", "--shell", shell]) == 0
    after = files(home)
    assert {name: text.rstrip() for name, text in after.items()} == before
    assert run(["completion", "remove", "--shell", shell]) == 0
    assert "nothing to remove" in capsys.readouterr().err


def test_bash_with_bash_completion_needs_no_line_in_its_rc(home: Path):
    rc = home / ".bashrc"
    rc.write_text(". /usr/share/bash-completion/bash_completion\n")
    assert run(["completion", "install", "--shell", "bash"]) == 0
    assert rc.read_text() == ". /usr/share/bash-completion/bash_completion\n"
    folder = home / ".local" / "share" / "bash-completion" / "completions"
    assert sorted(os.listdir(folder)) == ["launch", "launch-training"]


@pytest.mark.parametrize("login", ["/bin/bash", "/bin/dash", ""])
def test_remove_takes_away_what_was_installed_for_every_shell(
    login: str, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    for shell in SHELLS:
        assert run(["completion", "install", "--shell", shell]) == 0
    installed = files(home)
    monkeypatch.setenv("SHELL", login)
    capsys.readouterr()

    assert run(["completion", "remove"]) == 0

    told = capsys.readouterr().err
    assert all(str(home / name) in told for name in installed)
    assert len(told.splitlines()) == len(installed)
    assert set(files(home).values()) == {b""}  # of the start files, which are never removed


def test_remove_for_one_shell_leaves_the_others(home: Path):
    for shell in SHELLS:
        assert run(["completion", "install", "--shell", shell]) == 0
    before = files(home)

    assert run(["completion", "remove", "--shell", "fish"]) == 0

    assert files(home) == {name: text for name, text in before.items() if "fish" not in name}


def test_remove_takes_out_a_block_that_the_rc_no_longer_needs(home: Path):
    assert run(["completion", "install", "--shell", "bash"]) == 0
    rc = home / ".bashrc"
    loads = ". /usr/share/bash-completion/bash_completion\n"
    rc.write_text(loads + rc.read_text())

    assert run(["completion", "remove", "--shell", "bash"]) == 0

    assert rc.read_text() == loads


def test_an_older_block_gives_way_to_the_new_one(home: Path, monkeypatch: pytest.MonkeyPatch):
    rc = home / ".bashrc"
    rc.write_text("first\n")
    place_of("bash").install("# old\n")
    rc.write_text(f"{rc.read_text()}last\n")
    monkeypatch.setenv("XDG_DATA_HOME", str(home / "data"))
    place_of("bash").install("# new\n")
    text = rc.read_text()
    assert text.count(">>> launch completion >>>") == 1
    assert str(home / "data") in text
    assert text.startswith("first\nlast\n")


def test_a_linked_rc_stays_a_link(home: Path):
    (home / "dotfiles").mkdir()
    (home / "dotfiles" / "zshrc").write_text("# mine\n")
    (home / ".zshrc").symlink_to("dotfiles/zshrc")
    place_of("zsh").install("# script\n")
    assert (home / ".zshrc").is_symlink()
    assert "launch completion" in (home / "dotfiles" / "zshrc").read_text()


def test_a_place_that_cannot_be_written_is_told_with_the_way_on(home: Path):
    (home / ".config").write_text("a file where a folder should be")
    with refused("folder-unwritable", match="launch completion show"):
        run(["completion", "install", "--shell", "fish"])


@pytest.mark.parametrize(
    ("words", "shell", "match"),
    [
        (["install", "--shell", "tcsh"], "/bin/bash", "bash .*zsh or fish"),
        (["install", "--shell", "bsh"], "/bin/bash", "did you mean bash"),
        (["install"], "/bin/dash", "dash"),
        (["install"], "", "not set"),
        (["show", "powershell"], "/bin/bash", "powershell"),
        (["remove", "--shell", "tcsh"], "/bin/bash", "bash .*zsh or fish"),
    ],
)
def test_a_shell_that_we_do_not_know_is_told(
    words: list[str], shell: str, match: str, monkeypatch: pytest.MonkeyPatch, home: Path
):
    monkeypatch.setenv("SHELL", shell)
    with refused("completion-shell", match=match):
        run(["completion", *words])
    assert files(home) == {}


def test_the_login_shell_is_the_default(monkeypatch: pytest.MonkeyPatch, home: Path):
    monkeypatch.setenv("SHELL", "/usr/local/bin/fish")
    assert run(["completion", "install"]) == 0
    assert sorted(files(home)) == [
        ".config/fish/completions/launch-training.fish",
        ".config/fish/completions/launch.fish",
    ]


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_is_for_both_names_of_the_command(
    shell: str, capsys: pytest.CaptureFixture[str]
):
    assert run(["completion", "show", shell]) == 0
    shown = capsys.readouterr().out
    assert shown == script(shell)
    assert any("launch-training" in line and "launch " in line for line in shown.splitlines())


@pytest.mark.parametrize("shell", SHELLS)
def test_the_shell_can_read_the_script(shell: str, home: Path):
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"no {shell} on this machine")
    path = home / "script"
    path.write_text(script(shell))
    done = subprocess.run([program, "-n", str(path)], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def _as_command(home: Path) -> Path:
    folder = home / "bin"
    folder.mkdir()
    for name in ("launch", "launch-training"):
        program = folder / name
        program.write_text(
            f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m launchers.cli.main "$@"\n'
        )
        program.chmod(0o755)
    return folder


@pytest.fixture
def a_job(home: Path) -> None:
    (home / "launch").mkdir()
    Ledger(home / "launch").add(
        Entry("train-0badcafe-1", "local", "train-0badcafe", 1, 1, "{}", "running", created=1.0)
    )


@pytest.mark.parametrize("command", ["launch", "launch-training"])
@pytest.mark.processes
def test_bash_completes_a_job_by_the_installed_file(command: str, home: Path, a_job: None):
    assert run(["completion", "install", "--shell", "bash"]) == 0
    program = (
        f". ~/.bashrc; complete -p {command} >/dev/null || exit 3\n"
        f"COMP_WORDS=({command} status tr); COMP_CWORD=2; _launch_completion {command}\n"
        'printf "%s\\n" "${COMPREPLY[@]}"\n'
    )
    bash = shutil.which("bash")
    assert bash is not None
    done = subprocess.run(
        [bash, "--norc", "-c", program],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PATH": f"{_as_command(home)}:{os.environ['PATH']}"},
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "train-0badcafe-1\n", "")


# How each shell is started without anything of this machine.
INTERACTIVE = {
    "bash": ["bash", "--noprofile", "-i"],
    "zsh": ["zsh", "-d", "-i"],
    "fish": ["fish", "-i", "-C", "function fish_prompt; echo -n 'ready> '; end"],
}


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.processes
def test_a_person_at_a_shell_gets_the_job_by_the_tab_key(shell: str, home: Path, a_job: None):
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} on this machine")
    if shell in RC:
        (home / RC[shell]).write_text("PS1='ready> '\n")
    assert run(["completion", "install", "--shell", shell]) == 0
    path = f"{_as_command(home)}:{os.environ['PATH']}"
    launch = Launch(home / "launch", home)
    variables = {"PATH": path, "HOME": str(home)}
    with on_terminal(launch, program=INTERACTIVE[shell], size=(80, 24), **variables) as terminal:
        terminal.wait_for(b"ready> ")
        terminal.type("launch status tr\t")
        terminal.wait_for(b"train-0badcafe-1")
