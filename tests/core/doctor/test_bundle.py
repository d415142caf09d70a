"""What `launch doctor --bundle` writes has what a bug report needs, and no secret."""

from __future__ import annotations

import base64
import json
import stat
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from launchers.core.doctor.bundle import write_bundle
from launchers.core.doctor.private import Private
from launchers.core.model.problems import LaunchError
from launchers.core.records.entry import Entry
from launchers.core.records.ledger import Ledger
from tests.cli.doctor import Doctor, examined
from tests.refusals import refused

# Put together here, so that no file of the repository holds one.
ACCESS_KEY = "AKIA" + "QX7NTE4B2WLM5RSC"
AWS_SECRET = "wJ4lrXUtnFEM1" + "K7MDENGbPxRfiCYz9Q4p8TdLs"
SESSION = "IQoJb3JpZ2luX2VjE" + "PT9eXAmPl3T0k3nV4lu3" * 4
GITHUB = "ghp_" + "a8Kd93mXz71LqPw0RtYv5uBn2CsE4fGh6JiK"
WANDB = "3f9a7c21b85d4e60" + "9a1f7c3e5b2d8064aa11bb22"
PASSWORD = "correct-horse-battery"
DOCKER_PASSWORD = "dckr-Pa55-of-the-team"
HF = "hf_" + "QwErTyUiOpAsDfGhJkLzXcVbNmQwErTyUi"
PLAIN = "swordfish-and-chips"
NONCE = "n0nce" + "5b1d9c3e7f204a86"
PRIVATE_KEY = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC" + "BKcwggSjAgEAAoIBAQC7"
BEGIN = "-----BEGIN PRIVATE " + "KEY-----"
REFRESH = "1//0gLongRefresh" + "TokenOfAUserOfGoogle"
JWT = "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0NTY3ODkwIn0." + "dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P"
SIGNATURE = "X-Amz-Signature=" + "f00dfeedf00dfeed" * 4
# Stands in a log alone, and looks like nothing: only the name before it tells.
UNSEEN = "Tr0ub4dor-and-3"
SECRETS = {
    name: value
    for name, value in globals().items()
    if name.isupper() and isinstance(value, str) and name not in ("SECRETS", "BEGIN")
}
ACCOUNT, EMAIL, PERSON = "442211889977", "maria.schmidt@example.com", "mschmidt"
BUCKET, HOST_ADDRESS = "geheimprojekt-training", "10.20.30.40"
WHOSE = {"account": ACCOUNT, "email": EMAIL, "person": PERSON, "bucket": BUCKET, "ip": HOST_ADDRESS}


@pytest.fixture
def doctor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Doctor:
    return examined(tmp_path, monkeypatch, capsys)


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def plant(doctor: Doctor) -> None:
    """Secrets wherever people have them, and the same ones where a bundle looks."""
    doctor.sees(
        {
            "AWS_ACCESS_KEY_ID": ACCESS_KEY,
            "AWS_SECRET_ACCESS_KEY": AWS_SECRET,
            "AWS_SESSION_TOKEN": SESSION,
            "GITHUB_TOKEN": GITHUB,
            "WANDB_API_KEY": WANDB,
            "DB_PASSWORD": PASSWORD,
            "MY_SERVICE_URL": f"https://me:{PASSWORD}@db.example.com/x?{SIGNATURE}",
            "GOOGLE_APPLICATION_CREDENTIALS": str(doctor.home / "key.json"),
            "TF_CPP_MIN_LOG_LEVEL": "2",
            "USER": PERSON,
            "LOGNAME": PERSON,
        }
    )
    auth = base64.b64encode(f"team:{DOCKER_PASSWORD}".encode()).decode()
    home = doctor.home
    put(home / ".docker/config.json", json.dumps({"auths": {"registry.io": {"auth": auth}}}))
    put(
        home / ".aws/credentials",
        f"[default]\naws_access_key_id = {ACCESS_KEY}\naws_secret_access_key = {AWS_SECRET}\n",
    )
    put(home / ".aws/config", f"[profile x]\nsso_registration_secret = {PLAIN}\n")
    put(home / ".netrc", f"machine h login me password {PLAIN}-2\n")
    put(
        home / "key.json",
        json.dumps(
            {
                "private_key": f"{BEGIN}\n{PRIVATE_KEY}\n-----END PRIVATE KEY-----",
                "refresh_token": REFRESH,
            }
        ),
    )
    put(
        doctor.folder / "launch.yaml",
        f"name: train\ninstances: 2\nregion: eu-west-1\nbucket: {BUCKET}\n"
        f"env:\n  HF_TOKEN: {HF}\n  NOTE: {PLAIN}\n"
        f"sagemaker:\n  role: arn:aws:iam::{ACCOUNT}:role/{PERSON}\nstrategy: horovod\n",
    )
    everything = " ".join(value for value in SECRETS.values() if value != UNSEEN)
    ledger = Ledger()
    reason = f"failed with {everything} of {EMAIL} in s3://{BUCKET}/x, {auth} at {HOST_ADDRESS}"
    details = {"token": GITHUB, "region": "eu-west-1", "where": reason}
    entry = Entry("train-1", "sagemaker", "train", 1, 2, everything, "failed", reason)
    entry = Entry(**{**vars(entry), "details": details, "nonce": NONCE, "created": 1764547200.0})
    ledger.add(entry)
    lines = [f"{name} is {value}" for name, value in SECRETS.items() if value != UNSEEN]
    lines += [f"db_password = {UNSEEN}"]
    lines += [f"password: {PASSWORD}", f"user arn:aws:iam::{ACCOUNT}:user/{PERSON}", auth]
    lines += ["a line that says what went wrong", f"connect to {HOST_ADDRESS}:22 as {EMAIL}"]
    lines += [BEGIN, PRIVATE_KEY, "-----END RSA PRIVATE KEY-----"]
    put(doctor.home / "launch/jobs/train-1/logs/job.log", "\n".join(lines))


def parts(path: Path) -> Mapping[str, str]:
    with zipfile.ZipFile(path) as bundle:
        return {name: bundle.read(name).decode() for name in bundle.namelist()}


@pytest.fixture
def bundle(doctor: Doctor) -> Mapping[str, str]:
    plant(doctor)
    told = doctor("sagemaker", "--offline", "--bundle=report.zip")
    assert "read it before you send it" in told.err
    path = doctor.folder / "report.zip"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    found = parts(path)
    assert all(name in told.err for name in found)
    return found


def test_no_planted_secret_is_in_any_part_of_it(bundle: Mapping[str, str]):
    assert len(SECRETS) >= 14
    held = [
        f"{secret} in {name}"
        for name, text in bundle.items()
        for secret, value in SECRETS.items()
        if value in text
    ]
    assert held == []


def test_nothing_says_whose_machine_it_is(bundle: Mapping[str, str], doctor: Doctor):
    told = {**WHOSE, "home": str(doctor.home)}
    held = [
        f"{who} in {name}" for name, text in bundle.items() for who in told if told[who] in text
    ]
    assert held == []


def test_it_has_what_a_bug_report_needs(bundle: Mapping[str, str]):
    assert list(bundle)[:2] == ["README.txt", "doctor.json"]
    assert all(f"  {name}\n" in bundle["README.txt"] for name in list(bundle)[1:])
    findings = json.loads(bundle["doctor.json"])["findings"]
    assert {one["subject"] for one in findings} == {"launch", "sagemaker"}
    assert "botocore==" in bundle["versions.txt"]
    (job,) = json.loads(bundle["jobs.json"])
    assert (job["name"], job["state"], job["created"]) == (
        "train-1",
        "failed",
        "2025-12-01T00:00:00.000Z",
    )
    assert job["details"] == ["region", "token", "where"]
    (log,) = [text for name, text in bundle.items() if name.startswith("logs/")]
    assert "a line that says what went wrong" in log


def test_the_environment_is_names_and_a_few_values(bundle: Mapping[str, str]):
    lines = bundle["environment.txt"].splitlines()
    assert "TF_CPP_MIN_LOG_LEVEL=2" in lines
    assert {"GITHUB_TOKEN", "WANDB_API_KEY", "MY_SERVICE_URL", "HOME"} <= set(lines)


def test_launch_yaml_keeps_its_keys_and_what_can_be_no_secret(bundle: Mapping[str, str]):
    found = json.loads(bundle["launch.yaml"])
    assert (found["instances"], found["region"], found["strategy"]) == (2, "eu-west-1", "horovod")
    assert found["env"] == {"HF_TOKEN": "***", "NOTE": "***"}
    assert (found["bucket"], found["sagemaker"]) == ("***", {"role": "***"})


def test_a_launch_yaml_that_cannot_be_read_is_left_out_with_a_word(doctor: Doctor):
    (doctor.folder / "launch.yaml").write_text(f"password: [{PASSWORD}\n")
    write_bundle(doctor.folder / "b.zip", {"findings": []}, Path("launch.yaml"))
    found = parts(doctor.folder / "b.zip")
    assert "cannot be read" in found["launch.yaml"]
    assert not any(PASSWORD in text for text in found.values())


def test_an_unknown_key_of_launch_yaml_keeps_no_value(doctor: Doctor):
    (doctor.folder / "launch.yaml").write_text("pin: 48151623\nmachine: ml.g5.xlarge\n")
    write_bundle(doctor.folder / "b.zip", {"findings": []}, Path("launch.yaml"))
    found = json.loads(parts(doctor.folder / "b.zip")["launch.yaml"])
    assert found == {"pin": "***", "machine": "ml.g5.xlarge"}


def test_another_file_of_that_name_stays(doctor: Doctor):
    other = doctor.folder / "other.zip"
    with zipfile.ZipFile(other, "w") as mine:
        mine.writestr("mine.txt", "mine")
    with refused("bundle-exists", "something else"):
        write_bundle(other, {}, Path("launch.yaml"))
    assert list(parts(other)) == ["mine.txt"]
    linked = doctor.folder / "linked.zip"
    linked.symlink_to(doctor.folder / "nothing")
    with refused("bundle-exists", "something else"):
        write_bundle(linked, {}, Path("launch.yaml"))


def test_what_was_written_before_is_replaced_and_is_nobody_elses(doctor: Doctor):
    path = doctor.folder / "b.zip"
    write_bundle(path, {"findings": ["first"]}, Path("launch.yaml"))
    path.chmod(0o644)
    write_bundle(path, {"findings": ["second"]}, Path("launch.yaml"))
    assert "second" in parts(path)["doctor.json"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [one.name for one in doctor.folder.iterdir()] == ["b.zip"]


def test_a_folder_that_is_not_there_is_told(doctor: Doctor):
    with pytest.raises(LaunchError, match="name another file"):
        write_bundle(doctor.folder / "no/b.zip", {}, Path("launch.yaml"))


def test_a_line_keeps_what_stands_beside_a_credential_of_a_known_shape(doctor: Doctor):
    text = Private().text(f"step 3 of 7: {GITHUB} was refused")
    assert GITHUB not in text
    assert text.startswith("step 3 of 7: ***")
    assert text.endswith("was refused")


WORDS = {
    "arn:aws:iam::442211889977:user/maria": "arn:aws:iam::<account>:user/<name>",
    "arn:aws:sts::442211889977:assumed-role/Team/maria@x.io": (
        "arn:aws:sts::<account>:assumed-role/<name>"
    ),
    "s3://a-bucket/launch/code": "s3://<bucket>/launch/code",
    "projects/my-team/locations/us-central1": "projects/<project>/locations/us-central1",
    "/home/maria/train.py": "/home/<user>/train.py",
    "sagemaker-us-east-1-442211889977 is there": "sagemaker-us-east-1-<account> is there",
    "of account 442211889977.": "of account <account>.",
    "at 10.1.2.3.": "at <address>.",
    "py4j==0.10.9.9, Java 17.0.21.1": "py4j==0.10.9.9, Java 17.0.21.1",
    "world size 8: 2 hosts x 4 ranks": "world size 8: 2 hosts x 4 ranks",
    "127.0.0.1:4000 and 10.1.2.3": "127.0.0.1:4000 and <address>",
    "Horovod 0.28.1, TensorFlow 2.18.1": "Horovod 0.28.1, TensorFlow 2.18.1",
}


@pytest.mark.parametrize("text", WORDS)
def test_words_stand_for_who_and_where(doctor: Doctor, text: str):
    assert Private().text(text) == WORDS[text]
