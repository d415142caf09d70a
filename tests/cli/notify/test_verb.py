"""A job's end is told once, to whom the job or its user names, and changes nothing else."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from tests.cli.command import Answer, Launch
from tests.cli.defaults.given import Desk
from tests.cli.notify.hook import hook
from tests.refusals import refused

TOKEN = "T0KEN"
URL = "https://example.com/services/T0KEN"


def run(launch: Launch, *words: str, **variables: str) -> Answer:
    return launch("local", "train.py", "--gpus", "0", *words, **variables)


def name_of(launch: Launch) -> str:
    with sqlite3.connect(launch.home / "ledger.db") as connection:
        return connection.execute("SELECT name FROM jobs ORDER BY run DESC").fetchone()[0]


def files_with(text: str, folder: Path) -> list[Path]:
    found = [path for path in folder.rglob("*") if path.is_file()]
    return [path for path in found if text.encode() in path.read_bytes()]


@pytest.mark.processes
def test_a_job_of_this_machine_is_told_once_with_all_that_is_known(launch: Launch):
    launch.write("train.py", "print('trained')\n")
    with hook() as there:
        answer = run(launch, "--notify", "webhook:HOOK", HOOK=there.address)
        assert answer.code == 0, answer.err
        (notice,) = there.got
        name = name_of(launch)
        again = launch("notify", name, "--to", "webhook:HOOK", "--json", HOOK=there.address)
    assert {"name": name, "state": "succeeded", "world_size": 1, "provider": "local"}.items() <= (
        notice.items()
    )
    assert notice["proof"].startswith("world size 1")
    assert notice["started"] < notice["ended"]
    assert notice["ended"].endswith("Z")
    assert notice["next"] == f"launch status {name}"
    assert "told  webhook of $HOOK\n" in answer.err
    assert "notify       webhook of $HOOK  (--notify)" in answer.err
    assert (again.code, there.got[1]) == (0, notice)
    assert again.json["notice"] == notice
    assert again.json["told"] == [{"target": "webhook of $HOOK", "problem": None}]
    assert not files_with(TOKEN, launch.home)
    assert TOKEN not in answer.err + answer.out + again.err + again.out


@pytest.mark.processes
def test_a_failed_job_is_told_and_a_webhook_that_refuses_changes_no_exit_code(launch: Launch):
    launch.write("train.py", "raise SystemExit(7)\n")
    config = launch.home / "config"
    config.mkdir()
    with hook(404, 404) as there:
        defaults = config / "defaults.yaml"
        defaults.write_text(f"notify: ['{there.address}', 'command:nosuchprogram']\n")
        defaults.chmod(0o600)
        answer = run(launch, "--json")
        (notice,) = there.got
    assert answer.code == 1
    assert answer.json["state"] == notice["state"] == "failed"
    assert notice["next"] == f"launch logs {notice['name']}"
    assert answer.err.count("[notify-failed]") == 2
    assert "warning: webhook of 127.0.0.1: it answered 404" in answer.err
    assert TOKEN not in answer.err + answer.out
    assert not files_with(TOKEN, launch.home / "jobs")


@pytest.mark.processes
def test_a_detached_job_says_who_tells_of_it_and_wait_does(launch: Launch):
    launch.write("train.py", "print('trained')\n")
    with hook() as there:
        variables = {"HOOK": there.address, "LAUNCH_LOCAL_NOTIFY": "webhook:HOOK"}
        left = run(launch, "--detach", **variables)
        name = name_of(launch)
        assert f"`launch notify {name}` waits for it" in left.err
        waited = launch("wait", name, **variables)
        assert waited.code == 0
        again = launch("wait", name, **variables)
        assert again.code == 0
        told = [one["name"] for one in there.got]
    # The first `wait` may have come too late to see it end.
    assert told in ([name], [])
    assert ("told  webhook of $HOOK" in waited.err) == bool(told)


def test_who_is_told_makes_no_other_job(launch: Launch):
    launch.write("train.py", "print(1)\n")
    words = ("sagemaker", "train.py", "--gpus", "1", "--dry-run")
    plain, told = launch(*words), launch(*words, "--notify", "webhook:HOOK", HOOK=URL)
    assert plain.code == told.code == 0
    assert plain.out == told.out
    assert TOKEN not in told.err


REFUSED = [
    (("--notify", URL), "", "notify-address", r"--notify: webhook of example.com"),
    (("--notify", f"webhook:{URL}"), "", "notify-address", r"--notify: webhook of example.com"),
    ((), f"notify: '{URL}'\n", "notify-address", r"launch.yaml: webhook of example.com"),
    ((), f"profiles: {{p: {{notify: ['{URL}']}}}}\n", "notify-address", "profile p"),
    (("--notify", "webhook:UNSET_HOOK"), "", "notify-target", r"\$UNSET_HOOK is not set"),
    (("--notify", "command:nosuchprogram"), "", "notify-target", "no program 'nosuchprogram'"),
    (("--notify", "slack"), "", "flag-value", "desktop, webhook:VARIABLE"),
]


@pytest.mark.parametrize(("words", "file", "rule", "match"), REFUSED)
def test_an_address_in_the_open_and_whom_nobody_can_tell_are_refused_at_the_start(
    desk: Desk, words: tuple[str, ...], file: str, rule: str, match: str
):
    if file:
        desk.file(file)
    with refused(rule, match=match) as caught:
        desk.given(*words, *(("-p", "p") if "profiles" in file else ()))
    assert TOKEN not in str(caught.value)


def test_a_file_that_names_whom_this_machine_cannot_tell_is_a_warning(desk: Desk):
    desk.file("notify: [{webhook: UNSET_HOOK}, 'command:nosuchprogram']\n")
    found = desk.given()
    assert [one.rule for one in found.warnings] == ["notify-target"] * 2
    assert desk.given("--notify", "none").warnings == ()


def test_the_line_that_was_meant_repeats_no_address(launch: Launch):
    launch.write("train.py", "print(1)\n")
    answer = run(launch, "--notify", URL, "--epochs", "3")
    assert answer.code == 2
    assert "--notify webhook:VARIABLE -- --epochs 3" in answer.err
    assert TOKEN not in answer.err


def test_a_test_sends_a_sample_to_the_configured_targets(launch: Launch):
    launch.write("launch.yaml", "notify: webhook:HOOK\n")
    with hook(200, 404) as there:
        sent = launch("notify", "--test", HOOK=there.address)
        refused_there = launch("notify", "--test", "--json", HOOK=there.address)
        assert len(there.got) == 2
        assert there.got[0]["name"] == "notify-test"
    assert (sent.code, sent.err) == (0, "told  webhook of $HOOK\n")
    assert refused_there.code == 2
    assert refused_there.json["told"][0]["problem"]["rule"] == "notify-failed"


@pytest.mark.parametrize(
    ("words", "rule"),
    [
        (("--test",), "notify-nobody"),
        (("--test", "--to", "none"), "notify-nobody"),
        ((), "notify-what"),
        (("train-1", "--test"), "notify-what"),
        (("--test", "--to", URL), "notify-address"),
        (("--test", "--to", "webhook:UNSET_HOOK"), "notify-target"),
        (("train-1", "--to", "desktop"), "job-unknown"),
    ],
)
def test_a_notice_that_cannot_be_sent_is_refused_before_anything_is_waited_for(
    launch: Launch, words: tuple[str, ...], rule: str
):
    answer = launch("notify", *words)
    assert answer.code == 2
    assert f"[{rule}]" in answer.err
    assert TOKEN not in answer.err
