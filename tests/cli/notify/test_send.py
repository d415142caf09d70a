"""Webhooks, commands and desktops: what they are told, and what a bad one cannot do."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from launchers.core.model.jobs import JobHandle, JobStatus
from launchers.core.notify import program, webhook
from launchers.core.notify.notice import notice_of, sample
from launchers.core.notify.send import faults, send
from launchers.core.spec.targets import Target, Targets, targets_of
from tests.cli.defaults.test_variables import names_of_ranks
from tests.cli.notify.hook import HANGS, HUGE, NONSENSE, TRICKLES, hook

URL = "https://hooks.slack.com/services/T00/B00/SECRETTOKEN"


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits between two attempts, or asks a proxy for what is here."""
    monkeypatch.setattr(webhook, "PAUSES", (0.0, 0.0))
    monkeypatch.setenv("no_proxy", "")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")


def failure(target: Target) -> str:
    problem = send(target, sample())
    if problem is None:
        return ""
    assert (problem.rule, problem.severity) == ("notify-failed", "warning")
    assert "T0KEN" not in str(problem)
    return problem.found


def test_a_webhook_gets_the_notice_once():
    with hook() as there:
        assert failure(Target("webhook", there.address)) == ""
        assert there.got == [sample()]


@pytest.mark.parametrize(
    ("answers", "attempts", "found"),
    [
        ((503, 429, 200), 3, ""),
        ((500, 500, 500, 200), 3, "it answered 500"),
        ((404,), 1, "it answered 404"),
        ((302, 200), 1, "a redirect, which is not followed"),
        ((308, 200), 1, "a redirect, which is not followed"),
        ((HANGS,), 1, "no answer within"),
        ((TRICKLES,), 1, "no answer within"),
        ((NONSENSE,), 1, "no usable answer: BadStatusLine"),
        ((HUGE,), 1, ""),
    ],
)
def test_an_answer_of_any_kind_ends_soon_and_is_one_warning(
    answers: tuple[int | str, ...], attempts: int, found: str, monkeypatch: pytest.MonkeyPatch
):
    if answers[0] in (HANGS, TRICKLES):
        monkeypatch.setattr(webhook, "SECONDS", 0.5)
        monkeypatch.setattr(webhook, "MOST_SECONDS", 1.0)
    with hook(*answers) as there:
        assert found in failure(Target("webhook", there.address))
        assert len(there.got) == attempts


def test_a_webhook_that_is_not_there_is_one_warning():
    with hook() as there:
        address = there.address
    assert failure(Target("webhook", address)) == "not reached: Connection refused"


@pytest.mark.parametrize(
    ("address", "found"),
    [
        ("", "$HOOK is not set"),
        ("http://hooks.slack.com/services/T0KEN", "http, not https"),
        ("hooks.slack.com/services/T0KEN", "no address"),
        ("https://", "no address"),
        ("https://me:T0KEN@example.com/", "a user's name or password"),
        ("https://example.com:port/T0KEN", "no address that can be read"),
        ("https://example.com/T0KEN\r\nHost: x", "no address that can be read"),
        ("http://127.0.0.1.example.com/T0KEN", "http, not https"),
    ],
)
def test_an_address_that_is_none_of_https_is_refused_without_being_shown(
    monkeypatch: pytest.MonkeyPatch, address: str, found: str
):
    monkeypatch.setenv("HOOK", address)
    assert found in failure(Target("webhook", "HOOK"))
    (problem,) = faults([Target("webhook", "HOOK")], "--notify", "error")
    assert (problem.rule, problem.severity) == ("notify-target", "error")
    assert "T0KEN" not in str(problem)


def test_slack_gets_a_text_that_calls_nobody():
    message = {**sample(), "text": "<!channel> a & b"}
    assert webhook._payload(URL, message) == {"text": "&lt;!channel&gt; a &amp; b"}
    assert webhook._payload("https://example.com/x", message) == message


def script(folder: Path, text: str) -> str:
    path = folder / "told.py"
    path.write_text(text)
    return f"{sys.executable} {path}"


@pytest.mark.processes
def test_a_command_gets_the_notice_as_json_and_as_variables(tmp_path: Path, capfd):
    line = script(
        tmp_path,
        "import json, os, sys\n"
        "found = [json.load(sys.stdin)['text'], os.environ['LAUNCH_NOTICE_STATE'], sys.argv[1:]]\n"
        "print(json.dumps(found))\n",
    )
    assert failure(Target("command", f"{line} 'a b' $HOME ; rm")) == ""
    out, err = capfd.readouterr()
    assert out == ""  # which is the answer's alone
    assert json.loads(err) == [sample()["text"], "succeeded", ["a b", "$HOME", ";", "rm"]]


@pytest.mark.processes
@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("raise SystemExit(3)", "it ended with exit code 3"),
        ("import time; time.sleep(600)", "was killed"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", "exit code -15"),
    ],
)
def test_a_command_that_fails_or_hangs_is_one_warning(
    tmp_path: Path, text: str, found: str, monkeypatch: pytest.MonkeyPatch
):
    if "sleep" in text:
        monkeypatch.setattr(program, "SECONDS", 0.2)
    assert found in failure(Target("command", script(tmp_path, text)))


@pytest.mark.parametrize(
    ("line", "found"),
    [("nosuchprogram x", "no program 'nosuchprogram'"), ("echo 'a", "a quote without its end")],
)
def test_a_command_that_is_none_is_known_before(line: str, found: str):
    (problem,) = faults([Target("command", line)], "--notify", "error")
    assert found in problem.found
    assert found in failure(Target("command", line))


@pytest.mark.processes
@pytest.mark.skipif(sys.platform != "linux", reason="notify-send is the desktop's of Linux")
def test_a_desktop_shows_the_name_the_state_and_the_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    shown = tmp_path / "shown"
    fake = tmp_path / "notify-send"
    fake.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {shown}\n')
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert failure(Target("desktop")) == ""
    words = shown.read_text()
    assert words.startswith("--app-name=launch\n--\nnotify-test: succeeded\n")
    assert str(sample()["text"]) in words
    monkeypatch.setenv("PATH", "/nonexistent")
    assert failure(Target("desktop")) == "no program 'notify-send' on this machine"


@pytest.mark.parametrize("system", ["darwin", "win32"])
def test_other_desktops_get_the_texts_apart_from_their_script(
    system: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(sys, "platform", system)
    words = program.desktop_words({**sample(), "name": "'; x"})
    assert not any("'; x" in word for word in words if "display" in word or "$" in word)


MEANT = [
    (["desktop", "desktop"], [Target("desktop")]),
    (["none"], []),
    (["webhook:SLACK_URL"], [Target("webhook", "SLACK_URL")]),
    (["webhook:$SLACK_URL"], [Target("webhook", "SLACK_URL")]),
    (["webhook:${SLACK_URL}"], [Target("webhook", "SLACK_URL")]),
    ([URL, f"webhook:{URL}"], [Target("webhook", URL)]),
    (
        [{"webhook": "S"}, {"command": "say x"}],
        [Target("webhook", "S"), Target("command", "say x")],
    ),
]


@pytest.mark.parametrize(("words", "targets"), MEANT)
def test_targets_are_read_from_flags_and_files(words: list[Any], targets: list[Target]):
    assert targets_of(Targets().parse(words)) == targets


@pytest.mark.parametrize("word", ["slack", "webhook:", "webhook:a b", "desktop:x", "command:", ""])
def test_what_is_no_target_is_refused(word: str):
    with pytest.raises(ValueError, match=r"^$"):
        Targets().parse(word)


def test_no_form_of_an_address_is_shown_but_its_host():
    assert Target("webhook", URL).shown == "webhook of hooks.slack.com"
    assert Target("webhook", "https://[x/T0KEN").shown == "webhook of ?"


def test_a_notice_is_printable_short_and_without_credentials():
    key = "AKIA" + "Q3EGRTYU7PLMNBVC"
    status = JobStatus("failed", f"\x1b[31mtoken {key} " + "x" * 5000)
    handle = JobHandle("sagemaker", "train-1-1")
    known = {"created": "2026-01-01T00:00:00.000Z", "console": "https://c", "world_size": 8}
    found = notice_of(handle, "Amazon SageMaker", status, known, "launch logs train-1-1")
    text = json.dumps(found)
    assert key not in text
    assert "\\u001b" not in text
    assert len(text) < 2000
    assert found["started"] == known["created"]
    assert (found["ended"], found["console"]) == (None, "https://c")
    assert found["text"].endswith("next: launch logs train-1-1")


def test_variables_of_a_command_are_none_that_ranks_or_flags_have():
    names = {"NAME", "PROVIDER", "STATE", "WORLD_SIZE", "NEXT", "TEXT"}
    assert set(program.variables(sample())) == {f"LAUNCH_NOTICE_{name}" for name in names}
    assert not any(name.startswith(program.VARIABLES) for name in names_of_ranks())
