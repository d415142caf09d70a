"""Real containers on a private network: what they see, and what their end means.

The subject is the engine of the rehearsal, so the containers run shell scripts.
"""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from docker.errors import APIError

from launchers.core.model.containers import Cause, Conduct
from launchers.rehearsal.engine.cluster import Cluster
from launchers.rehearsal.engine.workplace import MEMORY
from launchers.sagemaker.sidecars.declared import ACCESS, MACHINE_ACCOUNT
from tests.refusals import refused
from tests.rehearsal.boxes import BASE, PROOF, Heard, box, run, seconds_since, things_of

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("base", "home")]

FOREVER = "sleep 1000"
AWKWARD = {"HASH": "http://x/y#frag", "QUOTES": "a \"b\" 'c'", "LINES": "one\ntwo", "EMPTY": ""}


def test_hosts_find_each_other_by_name_over_eth0() -> None:
    heard = Heard()
    script = "hostname; getent hosts algo-1 algo-2 | wc -l; ls /sys/class/net; " + PROOF
    connect = "until (exec 3<>/dev/tcp/algo-2/1234 && cat <&3) 2>/dev/null; do sleep 0.1; done"
    run(f"{script}; {connect}", _listening_on_1234(), heard=heard)
    lines = heard.of("algo-1")
    assert lines[:2] == ["algo-1", "2"]
    assert "eth0" in lines
    assert "from algo-2" in lines


def _listening_on_1234() -> Any:
    # No program of the base image listens, so perl, which is in it, does.
    program = (
        "use IO::Socket::INET; my $s = IO::Socket::INET->new(LocalPort => 1234, Listen => 1); "
        "my $c = $s->accept; print $c 'from algo-2', chr 10;"
    )
    return box(2, "", command=("perl", "-e", program))


def test_environment_and_files_arrive_byte_for_byte() -> None:
    heard = Heard()
    show = "; ".join(f"printf '%s' \"${name}\" | od -An -tx1 -v" for name in AWKWARD)
    content = bytes(range(256))
    run(
        box(
            1,
            f"{show}; od -An -tx1 -v /opt/ml/input/config/x",
            environment=AWKWARD,
            files={"/opt/ml/input/config/x": content},
        ),
        heard=heard,
    )
    printed = bytes.fromhex("".join(heard.of("algo-1")).replace(" ", ""))
    assert printed == "".join(AWKWARD.values()).encode() + content


def test_the_leaders_end_is_the_jobs_and_the_others_are_stopped_at_once(client: Any) -> None:
    result = run(f"{PROOF}; echo m > /opt/ml/model/m", FOREVER, name="leader-ends")
    assert (result.state, result.reason) == ("succeeded", "")
    assert result.folder is not None
    assert (result.folder / "algo-1/model/m").read_text() == "m\n"
    assert result.differences == ("model: algo-2 against algo-1: m not there",)
    assert things_of(client, "leader-ends") == []


def test_without_a_proof_a_good_end_is_not_proven() -> None:
    result = run("true", FOREVER)
    assert result.state == "not proven"


@pytest.mark.parametrize(
    ("name", "leader", "worker", "reason"),
    [
        ("bad code of a worker", FOREVER, "exit 3", "algo-2 ended with code 3"),
        ("bad code of the leader", "exit 4", FOREVER, "algo-1 ended with code 4"),
        (
            "a worker that kills itself",
            FOREVER,
            "exec bash -c 'kill -9 $$; sleep 1; exit 137'",
            "algo-2 ended with code 137 (SIGKILL)",
        ),
        (
            "its program is missing",
            FOREVER,
            box(2, "", command=("absent-program",)),
            f"algo-2 did not start: its image {BASE} does not serve: it has no program absent-prog",
        ),
        (
            "its program may not be executed",
            box(1, "", command=("/opt/run",), files={"/opt/run": b"#!/opt/none\n"}),
            FOREVER,
            f"algo-1 did not start: its image {BASE} does not serve: /opt/run is a folder, or a",
        ),
        (
            "a known line says why",
            "echo 'no sshd here'; exit 1",
            FOREVER,
            "algo-1 ended with code 1: the image has no sshd",
        ),
    ],
)
def test_a_bad_end_is_named_and_ends_all(
    name: str, leader: str, worker: Any, reason: str, client: Any
) -> None:
    began = time.monotonic()
    conduct = Conduct(causes=(Cause("no sshd", "the image has no sshd"),))
    result = run(leader, worker, conduct=conduct, name="bad-end")
    assert result.state == "failed", name
    assert result.reason.startswith(reason), name
    assert seconds_since(began) < 100, "it was not waited for"
    assert things_of(client, "bad-end") == []


def test_a_host_that_is_killed_from_outside_ends_the_job(client: Any) -> None:
    class Killer(Heard):
        def line(self, line: Any, watch: Any) -> None:
            super().line(line, watch)
            if line.host == "algo-2":
                names = things_of(client, "host-killed")
                client.api.kill(next(name for name in names if name.endswith("algo-2")))

    result = run(FOREVER, f"echo ready; {FOREVER}", heard=Killer(), name="host-killed")
    assert (result.state, result.reason) == ("failed", "algo-2 ended with code 137 (SIGKILL)")


def test_a_worker_that_ends_well_and_alone_is_a_fault() -> None:
    result = run(FOREVER, "true", conduct=Conduct(follow_within=1.0))
    assert result.state == "failed"
    assert result.reason == "algo-2 ended with code 0, and algo-1 has not followed in 1 s"


def test_the_documents_time_limit_is_kept() -> None:
    result = run(FOREVER, FOREVER, conduct=Conduct(max_runtime=2))
    assert result.state == "timed out"
    assert result.reason == "the document's time limit of 2 s was reached"


def test_a_container_cannot_take_more_memory_than_its_limit() -> None:
    grow = "exec perl -e 'my $x = chr(65) x 500_000_000; sleep 1000'"
    result = run(grow, FOREVER, memory=64 * 1024**2)
    assert result.state == "failed"
    assert result.reason.startswith("algo-1 reached its memory limit")


def test_a_container_has_no_privilege_no_socket_and_no_credentials(
    client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "of this machine")
    found: dict[str, Any] = {}

    class Inspector(Heard):
        def line(self, line: Any, watch: Any) -> None:
            super().line(line, watch)
            if not found:
                name = next(n for n in things_of(client, "limits") if n.endswith("algo-1"))
                found.update(client.api.inspect_container(name))

    heard = Inspector()
    script = "echo begin; env; ls /var/run/docker.sock; grep CapEff /proc/self/status; sleep 2"
    run(script, heard=heard, name="limits")
    config = found["HostConfig"]
    assert config["Privileged"] is False
    assert config["NetworkMode"].startswith("launch-")
    assert config["Memory"] > 0
    assert not config["Binds"]
    assert "no-new-privileges" in config["SecurityOpt"]
    assert not any("AWS_" in line for line in heard.of("algo-1"))
    assert not any(line == "/var/run/docker.sock" for line in heard.of("algo-1"))


def test_an_isolated_job_reaches_its_hosts_and_nothing_else(client: Any) -> None:
    networks: list[Any] = []

    class Inspector(Heard):
        def line(self, line: Any, watch: Any) -> None:
            super().line(line, watch)
            name = next(name for name in things_of(client, "isolated") if "algo" not in name)
            networks.append(client.api.inspect_network(name))

    heard = Inspector()
    script = f"getent hosts algo-2 >/dev/null && echo found; {PROOF}; sleep 1"
    run(script, FOREVER, heard=heard, conduct=Conduct(isolated=True), name="isolated")
    assert "found" in heard.of("algo-1")
    assert networks[0]["Internal"] is True, "the engine forwards nothing out of it"


CONNECT = "(exec 3<>/dev/tcp/169.254.169.254/$port) 2>&1 | sed -n '1s/.*: //p'"
ASKS = f"for port in 80 53; do {CONNECT}; done"
NOBODY = Conduct(machine_account=MACHINE_ACCOUNT)


def with_python(number: int, script: str, image: str) -> Any:
    return box(number, "", image=image, entrypoint=("bash", "-c", script), command=())


def test_a_machines_own_account_is_closed_from_the_first_moment_on(
    toolkit_image: str, client: Any
) -> None:
    held: list[Any] = []

    class Inspector(Heard):
        def line(self, line: Any, watch: Any) -> None:
            super().line(line, watch)
            if not held:
                names = [name for name in things_of(client, "own") if "algo" in name]
                held.extend(client.api.inspect_container(name) for name in names)

    heard = Inspector()
    told = "echo $AWS_EC2_METADATA_DISABLED; grep -c ^.*eth0 /proc/net/dev; hostname"
    meets = "getent hosts algo-1 algo-2 | wc -l; grep CapEff /proc/1/status; sleep 1"
    script = f"{ASKS}; {told}; {meets}; {PROOF}"
    hosts = (with_python(1, script, toolkit_image), with_python(2, FOREVER, toolkit_image))
    result = run(*hosts, heard=heard, conduct=NOBODY, name="own")
    assert result.state == "succeeded"
    unreachable = ["Network is unreachable"] * 2
    seen = heard.of("algo-1")
    assert seen[:6] == [*unreachable, "true", "1", "algo-1", "2"]
    assert int(seen[6].split()[1], 16) >> 12 & 1 == 0, "the job has no right over its network"
    added = {item["Name"].split("-", 2)[2]: item["HostConfig"]["CapAdd"] for item in held}
    assert added["algo-1-network"] == added["algo-2-network"] == ["NET_ADMIN"]
    assert added["algo-1"] is None
    assert any("169.254.169.254" in text and "closed" in text for text in result.deviations)
    assert things_of(client, "own") == []


def test_with_credentials_it_stays_as_it_is(toolkit_image: str) -> None:
    heard = Heard()
    script = f"echo ${{AWS_EC2_METADATA_DISABLED-unset}}; {PROOF}"
    run(box(1, script), FOREVER, heard=heard, conduct=NOBODY, with_credentials=True)
    assert heard.of("algo-1")[0] == "unset"
    assert not any("169.254" in text for text in heard.deviations)


def test_what_cannot_be_closed_is_said_and_runs_all_the_same(client: Any) -> None:
    heard = Heard()
    result = run(PROOF, FOREVER, heard=heard, conduct=NOBODY, name="open")
    assert result.state == "succeeded"
    (told,) = [text for text in heard.notes if "169.254.169.254 stays open" in text]
    assert "no python3 and no python on PATH" in told
    assert told in result.deviations
    assert things_of(client, "open") == []


def test_a_read_only_mount_cannot_be_written(tmp_path: Path) -> None:
    folder = tmp_path / "mounted"
    folder.mkdir()
    (folder / "data").write_text("the user's")
    heard = Heard()
    script = "echo evil > /data/data || echo refused; rm /data/data || echo refused"
    run(box(1, script, mounts={"/data": str(folder)}), heard=heard)
    assert (folder / "data").read_text() == "the user's"
    assert heard.of("algo-1").count("refused") == 2


def test_secrets_in_a_script_stay_in_its_outcome_folder(home: Path) -> None:
    evil = (
        "cd /opt/ml/model; echo token > .netrc; ln -s /etc/shadow shadow; "
        f"ln -s ../../../../{home}/x out; mkfifo pipe; echo ok > model; {PROOF}"
    )
    result = run(evil, FOREVER)
    assert result.folder is not None
    model = result.folder / "algo-1/model"
    assert sorted(path.name for path in model.iterdir()) == [".netrc", "model"]
    assert len(result.refused) == 3
    for path in (result.folder, *result.folder.rglob("*")):
        assert path.stat().st_mode & 0o077 == 0 or path.parent != result.folder.parent
    assert result.folder.stat().st_mode & 0o077 == 0


def test_two_rehearsals_at_once_have_networks_of_their_own(client: Any) -> None:
    results: dict[str, Any] = {}
    both = threading.Barrier(2, timeout=120)

    class Meeting(Heard):
        def line(self, line: Any, watch: Any) -> None:
            super().line(line, watch)
            if line.text == "up":
                both.wait()

    def one(name: str) -> None:
        script = (
            f"echo up; getent hosts algo-2 >/dev/null && {PROOF}; echo {name} > /opt/ml/model/m"
        )
        results[name] = run(script, FOREVER, heard=Meeting(), name="two-at-once")

    threads = [threading.Thread(target=one, args=(name,)) for name in ("first", "second")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {name: result.state for name, result in results.items()} == {
        "first": "succeeded",
        "second": "succeeded",
    }
    for name, result in results.items():
        assert (result.folder / "algo-1/model/m").read_text() == f"{name}\n"
    assert things_of(client, "two-at-once") == []


def test_the_document_that_ran_lies_beside_its_outcome() -> None:
    result = run(PROOF, FOREVER)
    assert result.folder is not None
    assert json.loads((result.folder / "document.json").read_text()) == {}
    assert "launch: proof: " in (result.folder / "rehearsal.log").read_text()


def test_credentials_come_on_request_from_memory_and_go_with_the_rehearsal(
    client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, secret = "-".join(["some", "key"]), "-".join(["some", "secret"])
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", key)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", secret)
    configs: list[Any] = []
    modes: list[int] = []

    class Inspector(Heard):
        def line(self, line: Any, watch: Any) -> None:
            super().line(line, watch)
            if not configs:
                name = next(n for n in things_of(client, "secret") if n.endswith("algo-1"))
                configs.append(client.api.inspect_container(name))
                (file,) = MEMORY.glob("launch-rehearsal-*/credentials")
                modes.extend(path.stat().st_mode & 0o777 for path in (file, file.parent))

    heard = Inspector()
    script = (
        "echo begin; sleep 1; cat $AWS_SHARED_CREDENTIALS_FILE > /tmp/seen; "
        "grep -q some.secret /tmp/seen && echo found; "
        f"echo x >> $AWS_SHARED_CREDENTIALS_FILE || echo read-only; {PROOF}"
    )
    asked = Conduct(access=ACCESS)
    result = run(script, FOREVER, heard=heard, conduct=asked, name="secret", with_credentials=True)
    assert result.state == "succeeded"
    assert {"found", "read-only"} <= set(heard.of("algo-1"))
    assert modes == [0o600, 0o700]
    assert secret not in json.dumps(configs), "the engine keeps a container's settings on disk"
    assert list(MEMORY.glob("launch-rehearsal-*")) == []
    assert any("credentials" in text for text in result.deviations)
    assert result.folder is not None
    for path in result.folder.rglob("*"):
        assert not path.is_file() or secret not in path.read_text()


def test_containers_may_start_one_after_another_the_leader_last() -> None:
    heard = Heard()
    result = run(PROOF, "echo here; sleep 1000", heard=heard, conduct=Conduct(start_apart=1.0))
    assert result.state == "succeeded"
    assert [line.host for line in heard.lines] == ["algo-2", "algo-1"]


def test_an_engine_without_a_free_network_is_told_in_its_words(
    client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = "could not find an available, non-overlapping IPv4 address pool among the defaults"

    def none_left(self: Cluster) -> None:
        raise APIError("404 Client Error", explanation=said)

    monkeypatch.setattr(Cluster, "make_network", none_left)
    with refused("docker-engine", said) as caught:
        run(PROOF, name="no-network")
    assert "docker network prune" in str(caught.value)
    assert things_of(client, "no-network") == []
