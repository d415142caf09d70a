"""`launch doctor` as its user meets it: subjects, exit codes, what to run next."""

from __future__ import annotations

from pathlib import Path

import pytest

from launchers.core import threads
from launchers.core.doctor import checks, launcher
from launchers.core.model.findings import Finding, well
from launchers.core.prerequisites import Check
from launchers.core.prerequisites import Doctor as Role
from launchers.core.spec.job import JobSpec
from tests.cli.doctor import Doctor, examined

CLOUDS = ("sagemaker", "vertex")


@pytest.fixture
def doctor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Doctor:
    return examined(tmp_path, monkeypatch, capsys)


class Fixed(Role):
    """A subject whose findings are known."""

    title = "a place"
    exit_code = 4

    def __init__(self, *findings: Finding, unused: str = ""):
        self._findings, self._unused = findings, unused
        self.jobs: list[JobSpec] = []

    def checks(self, job: JobSpec, offline: bool) -> list[Check]:
        self.jobs.append(job)
        return [Check("fixed", lambda: list(self._findings))]

    def unused(self, job: JobSpec) -> str:
        return self._unused


def only(monkeypatch: pytest.MonkeyPatch, **places: Fixed) -> None:
    """Every subject is one of these, and well unless said."""
    found = {name: places.get(name, Fixed()) for name in ("local", "spark", "docker", *CLOUDS)}
    monkeypatch.setattr("launchers.core.registry.doctor", found.__getitem__)


def error(name: str, exit_code: int = 0, run: str = "") -> Finding:
    return Finding(name, "error", "wrong", "right", "mend it", "usage", run, exit_code)


def test_a_new_user_of_sagemaker_is_told_the_three_lines_to_run(doctor: Doctor):
    told = doctor("sagemaker", "--offline")
    assert told.code == 4 or told.code == 2
    _, _, after = told.out.partition("run next:\n")
    assert [line.strip() for line in after.splitlines()] == [
        "export AWS_REGION=us-east-1",
        "aws configure",
        "export LAUNCH_SAGEMAKER_ROLE=arn:aws:iam::ACCOUNT:role/ROLE",
    ]


def test_a_new_user_of_vertex_is_told_the_three_lines_to_run(doctor: Doctor):
    told = doctor("vertex", "--offline")
    _, _, after = told.out.partition("run next:\n")
    assert [line.strip() for line in after.splitlines()] == [
        "gcloud config set ai/region us-central1",
        "gcloud auth application-default login",
        "gcloud config set project PROJECT_ID",
    ]


@pytest.mark.parametrize("cloud", CLOUDS)
def test_a_cloud_that_nobody_set_up_is_one_line_among_all_and_no_error(
    doctor: Doctor, monkeypatch: pytest.MonkeyPatch, cloud: str
):
    from launchers.core.registry import doctor as real

    places = {"local": Fixed(well("a", "b")), "docker": Fixed()}
    monkeypatch.setattr(
        "launchers.core.registry.doctor", lambda name: places.get(name) or real(name)
    )
    told = doctor.json()
    assert told.code == 0, told.out
    assert list(told.of(cloud)) == ["set up"]
    assert f"launch doctor {cloud}" in told.of(cloud)["set up"]["found"]


def test_a_misspelt_subject_gets_a_suggestion_and_every_wrong_word_a_line(doctor: Doctor):
    told = doctor("sagemakr", "dokcer")
    assert told.code == 2
    assert told.err.count("[doctor-subject]") == 2
    assert "did you mean sagemaker?" in told.err
    assert "did you mean docker?" in told.err
    assert not told.out


def test_several_subjects_come_in_one_order(doctor: Doctor, monkeypatch: pytest.MonkeyPatch):
    only(monkeypatch, docker=Fixed(well("d", "")), local=Fixed(well("l", "")))
    told = doctor.json("docker", "local", "docker")
    subjects = [one["subject"] for one in told.answer()["findings"]]
    assert list(dict.fromkeys(subjects)) == ["launch", "local", "docker"]
    assert subjects.count("docker") == 1


@pytest.mark.parametrize(
    ("codes", "code"), [((), 0), ((4,), 4), ((3, 4), 3), ((0,), 4), ((4, 2, 3), 2)]
)
def test_the_exit_code_is_the_first_that_a_submission_would_meet(
    doctor: Doctor, monkeypatch: pytest.MonkeyPatch, codes: tuple[int, ...], code: int
):
    only(monkeypatch, sagemaker=Fixed(*(error(f"e{one}", one) for one in codes)))
    told = doctor.json("sagemaker")
    assert (told.code, told.answer()["exit_code"]) == (code, code)


def test_what_is_unknown_or_skipped_or_a_warning_stops_nothing(
    doctor: Doctor, monkeypatch: pytest.MonkeyPatch
):
    found = [Finding(state, state, "so") for state in ("unknown", "skipped", "warning")]
    only(monkeypatch, docker=Fixed(*found))
    assert doctor("docker").code == 0


def test_what_is_wrong_has_what_is_needed_and_the_fix_below_it_and_what_is_well_has_not(
    doctor: Doctor, monkeypatch: pytest.MonkeyPatch
):
    only(monkeypatch, docker=Fixed(well("one", "good", "needed"), error("two", run="mend")))
    told = doctor("docker")
    lines = told.out.partition("a place\n")[2].splitlines()
    assert lines[0].split() == ["ok", "one", "good"]
    assert lines[1].split() == ["error", "two", "wrong"]
    assert [line.strip() for line in lines[2:]] == [
        "needed: right [usage]",
        "fix: mend it",
        "",
        "run next:",
        "mend",
    ]
    assert "1 of these would stop a job" in told.err


def test_no_credential_is_printed(doctor: Doctor, monkeypatch: pytest.MonkeyPatch):
    key = "AKIA" + "QWERTYUIOPASDFGH"
    only(monkeypatch, docker=Fixed(Finding("key", "error", key, key, key, "usage", key)))
    for told in (doctor("docker"), doctor.json("docker")):
        assert key not in told.out + told.err


def test_role_and_region_of_launch_yaml_and_of_flags_are_looked_at(
    doctor: Doctor, monkeypatch: pytest.MonkeyPatch
):
    place = Fixed()
    only(monkeypatch, sagemaker=place)
    (doctor.folder / "launch.yaml").write_text(
        "region: eu-west-1\nsagemaker:\n  role: arn:aws:iam::111122223333:role/FromFile\n"
    )
    doctor("sagemaker", "--region", "us-west-2")
    (job,) = place.jobs
    assert (job.region, job.options.role) == (
        "us-west-2",
        "arn:aws:iam::111122223333:role/FromFile",
    )


def test_a_broken_launch_yaml_is_a_finding_and_the_rest_is_looked_at(
    doctor: Doctor, monkeypatch: pytest.MonkeyPatch
):
    only(monkeypatch, sagemaker=Fixed(well("looked", "at")))
    (doctor.folder / "launch.yaml").write_text("instnces: 2\n")
    told = doctor.json("sagemaker")
    assert told.code == 2
    (wrong,) = [one for one in told.of("launch").values() if one["state"] == "error"]
    assert "did you mean instances?" in wrong["fix"]
    assert wrong["rule"] == "file-key-unknown"
    assert told.of("sagemaker")["looked"]["state"] == "ok"


def test_wrong_defaults_and_variables_are_findings_and_are_told_once(
    doctor: Doctor, monkeypatch: pytest.MonkeyPatch
):
    only(monkeypatch, sagemaker=Fixed(well("looked", "at")))
    file = doctor.home / "settings" / "defaults.yaml"
    file.parent.mkdir()
    file.write_text("regoin: eu-west-1\n")
    told = doctor.json("sagemaker", "vertex")
    assert told.code == 2
    wrong = [one for one in told.answer()["findings"] if one["state"] == "error"]
    assert [one["rule"] for one in wrong] == ["file-key-unknown"]
    file.write_text("region: eu-west-1\n")
    monkeypatch.setenv("LAUNCH_SAGEMAKER_INSTANCES", "many")
    told = doctor.json("sagemaker")
    assert told.code == 2
    (wrong,) = [one for one in told.answer()["findings"] if one["state"] == "error"]
    assert (wrong["subject"], wrong["name"]) == ("sagemaker", "LAUNCH_SAGEMAKER_INSTANCES")
    assert told.of("sagemaker")["looked"]["state"] == "ok"


def test_a_wrong_flag_is_an_error_of_the_command(doctor: Doctor):
    told = doctor("sagemaker", "--role", "no-arn", "--offline")
    assert told.code == 2
    assert "--role" in told.err


def test_a_file_that_is_not_there_is_a_finding(doctor: Doctor, monkeypatch: pytest.MonkeyPatch):
    only(monkeypatch)
    told = doctor.json("local", "-f", "mine.yaml")
    assert told.code == 2
    assert [one["rule"] for one in told.of("launch").values() if one["rule"]] == ["file-unreadable"]


def test_a_subject_behind_bundle_is_no_files_name(doctor: Doctor, monkeypatch: pytest.MonkeyPatch):
    only(monkeypatch, docker=Fixed(well("looked", "at")))
    told = doctor("--bundle", "docker")
    assert told.code == 0
    assert "a place" in told.out
    assert (doctor.folder / "launch-doctor.zip").is_file()


def test_a_bundle_is_a_zip_file_and_nothing_else_is_overwritten(
    doctor: Doctor, monkeypatch: pytest.MonkeyPatch
):
    only(monkeypatch)
    told = doctor("--bundle", "sagemakr")
    assert told.code == 2
    assert "[doctor-bundle]" in told.err
    assert "did you mean sagemaker?" in told.err
    mine = doctor.folder / "mine.zip"
    mine.write_text("mine")
    told = doctor("local", "--bundle=mine.zip")
    assert told.code == 2
    assert "[bundle-exists]" in told.err
    assert mine.read_text() == "mine"
    assert doctor("local", "--bundle=other.zip").code == 0
    assert doctor("local", "--bundle=other.zip").code == 0
    assert doctor("local", "--bundle=nowhere/other.zip").code == 2


def test_a_look_that_fails_or_does_not_end_hides_no_other(monkeypatch: pytest.MonkeyPatch):
    import threading

    for_ever = threading.Event()

    def fails() -> list[Finding]:
        raise RuntimeError("a bug")

    def waits() -> list[Finding]:
        for_ever.wait(60)
        return []

    looks = [
        Check("first", fails),
        Check("second", waits, seconds=0.01),
        Check("third", lambda: [well("third", "seen")]),
    ]
    found = checks.findings_of(looks)
    for_ever.set()
    assert [one.state for one in found] == ["unknown", "unknown", "ok"]
    assert [one.rule for one in found[:2]] == ["doctor-check"] * 2
    assert "a bug" in found[0].found


def test_a_user_who_may_have_no_more_threads_is_told_all_the_same(monkeypatch: pytest.MonkeyPatch):
    def refuse(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threads.Thread, "start", refuse)
    looks = [Check("first", lambda: [well("first", "a")]), Check("second", lambda: [error("b")])]
    assert [one.state for one in checks.findings_of(looks)] == ["ok", "error"]


def test_an_interrupt_waits_for_no_answer(doctor: Doctor, monkeypatch: pytest.MonkeyPatch):
    import threading

    never = threading.Event()

    class Waits(Fixed):
        def checks(self, job: JobSpec, offline: bool) -> list[Check]:
            return [Check("waits", lambda: [well("waited", str(never.wait(60)))])]

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    only(monkeypatch, docker=Waits())
    monkeypatch.setattr(threads.Thread, "join", interrupted)
    assert doctor("docker").code == 130
    never.set()


@pytest.mark.parametrize(
    ("skew", "state", "words"),
    [
        (3, "ok", "within a minute of AWS's"),
        (-90, "warning", "90 s behind AWS's"),
        (301, "error", "301 s ahead of AWS's"),
        (-7200, "error", "120 min behind"),
        (90000, "error", "25 h ahead of"),
        (None, "unknown", "is not told"),
    ],
)
def test_a_clock_that_a_service_would_refuse_is_an_error(
    skew: float | None, state: str, words: str
):
    found = checks.clock_finding(skew, "AWS's")
    assert (found.state, found.rule) == (state, "" if state == "ok" else "clock")
    assert words in found.found


def only_launcher() -> dict[str, Finding]:
    return {one.name: one for one in checks.findings_of(launcher.checks())}


def test_the_launchers_own_needs_are_well_on_a_machine_that_has_them(doctor: Doctor):
    found = only_launcher()
    names = ["version", "Python", "system", "text", "folder", "ledger", "launch.yaml", "defaults"]
    assert list(found) == names
    wrong = [one for one in found.values() if one.state not in ("ok", "warning")]
    assert not wrong


def test_an_untested_python_is_an_error(doctor: Doctor, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(launcher.sys, "version_info", (3, 14, 0))
    found = only_launcher()["Python"]
    assert (found.state, found.rule, found.needed) == (
        "error",
        "launcher-python",
        "Python 3.10 to 3.12",
    )


def test_a_system_without_ranks_is_told_what_works(doctor: Doctor, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(launcher.os, "name", "nt")
    found = launcher._system()[0]
    assert (found.state, found.rule) == ("warning", "launcher-system")
    assert "dry runs" in found.needed


def test_a_locale_that_cannot_write_all_text_is_a_warning(
    doctor: Doctor, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(launcher.locale, "getpreferredencoding", lambda _: "ANSI_X3.4-1968")
    found = only_launcher()["text"]
    assert (found.state, found.rule, found.run) == (
        "warning",
        "text-encoding",
        "export LC_ALL=C.UTF-8",
    )


def test_a_disk_that_is_nearly_full_is_a_warning(doctor: Doctor, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(launcher, "_LEAST_FREE_BYTES", 1 << 60)
    assert only_launcher()["folder"].rule == "disk-low"


def test_a_data_folder_that_cannot_be_written_is_an_error_of_this_machine(
    doctor: Doctor, monkeypatch: pytest.MonkeyPatch
):
    only(monkeypatch)
    (doctor.home / "launch").write_text("a file")
    found = only_launcher()
    assert {one.rule for one in found.values() if one.state == "error"} == {"folder-unwritable"}
    assert doctor.json("local", "--offline").code == 2


def test_a_damaged_ledger_is_told(doctor: Doctor):
    from launchers.core.records.entry import Entry
    from launchers.core.records.ledger import Ledger

    ledger = Ledger()
    ledger.add(Entry("train-1", "local", "train", 1, 2, "{}"))
    assert only_launcher()["ledger"].found == "1 job, 1 begun and not sent"
    import sqlite3

    with sqlite3.connect(ledger.path) as connection:
        connection.execute("UPDATE jobs SET details = 'no object'")
    connection.close()
    found = only_launcher()["ledger"]
    assert (found.state, found.rule) == ("warning", "ledger-damaged")
    assert "train-1" in found.found
    ledger.path.write_bytes(b"no database" * 100)
    assert only_launcher()["ledger"].rule == "ledger-unreadable"
