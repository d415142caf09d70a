"""Looking into real images: ours, ours with parts taken away, and some that hold nothing."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from launchers.core.model.problems import EXIT_BAD_REQUEST, EXIT_OK
from launchers.docker.engine import engine
from launchers.image.build import CPU_BASE
from launchers.image.names import default_image, default_tag
from launchers.image.probe_container import LABEL, NoAnswerError, answer_of
from launchers.image.sbom import sbom_of
from launchers.machine.processes import is_alive
from tests.cli.command import Launch
from tests.image.engine import derived_image, own_tag, tiny_image
from tests.refusals import refused

pytestmark = pytest.mark.docker

# A check's four imports of TensorFlow, on two busy cores.
pytest_timeout = pytest.mark.timeout(600)


@pytest.fixture(scope="module")
def ours() -> str:
    """Our image; CI builds it before the tests run."""
    client = engine()
    found = default_image(client)
    client.close()
    assert found, "no image of ours on this machine: run `launch image build`"
    return found


def left_over() -> list[str]:
    """Containers of checks that have ended; those of other tests may run at the same time."""
    client = engine()
    every = client.api.containers(all=True, filters={"label": LABEL})
    client.close()
    return [item["Names"][0] for item in every if not is_alive(item["Labels"][LABEL])]


@pytest_timeout
def test_our_image_has_everything_that_both_providers_need(launch: Launch, ours: str) -> None:
    answer = launch("image", "check", ours, "--json")

    assert answer.code == 0, answer.err
    assert answer.json["usable"] == {"sagemaker": True, "vertex": True}
    # No private key either, of packages' tests or of ssh: those are made when a container starts.
    assert {item["state"] for item in answer.json["checks"]} == {"ok"}
    assert "private-keys" in [item["name"] for item in answer.json["checks"]]
    found = {item["name"]: item["found"] for item in answer.json["checks"]}
    assert found["framework"] == "TensorFlow 2.18.1"
    assert found["horovod"] == "0.28.1 for tensorflow"
    assert found["ranks"] == "world size 2"
    assert found["toolkit"].startswith("5.1.")
    # The goal that the image was cut to, and what pyarrow and Pillow add.
    assert answer.json["size"] <= 2.3e9 + 0.15e9
    assert left_over() == []


@pytest_timeout
def test_every_part_that_was_taken_away_is_named_with_what_to_add(
    launch: Launch, ours: str
) -> None:
    with own_tag() as (client, tag):
        derived_image(
            client,
            tag,
            ours,
            "pip uninstall --yes mpi4py tf-keras",
            "echo x > /opt/ml/code/train.py",
            "sed -i 's/^UsePAM yes/UsePAM no/' /etc/ssh/sshd_config.d/launch.conf",
            "rm -f $(python -c 'import gethostname; print(gethostname.__file__)')",
        )

        answer = launch("image", "check", tag, "--json")

    missing = {item["name"] for item in answer.json["checks"] if item["state"] == "missing"}
    assert answer.code == EXIT_BAD_REQUEST
    assert missing == {"mpi4py", "tf-keras", "code", "pam", "shim"}
    assert answer.err.count("error: ") == 5
    assert "UsePAM yes" in answer.err


@pytest_timeout
@pytest.mark.parametrize(
    ("command", "missing"),
    [
        ("rm /usr/sbin/sshd", {"sshd"}),
        ("rm /opt/launch/ssh_keys.py", {"host-keys", "root-login"}),
        ("rm /etc/ssh/ssh_config.d/launch.conf", {"root-login"}),
    ],
)
def test_what_only_sagemaker_needs_does_not_keep_vertex_from_running_it(
    launch: Launch, ours: str, command: str, missing: set[str]
) -> None:
    with own_tag() as (client, tag):
        derived_image(client, tag, ours, command)

        answer = launch("image", "check", tag, "--for", "vertex", "--json")

    assert answer.code == 0
    assert answer.json["usable"] == {"sagemaker": False, "vertex": True}
    found = {item["name"] for item in answer.json["checks"] if item["state"] == "missing"}
    assert found == missing


@pytest_timeout
def test_an_image_for_torch_is_looked_into_for_what_its_ranks_need(
    launch: Launch, ours: str
) -> None:
    # By its name, which CI gives it: other tests make images of the same layers.
    found = default_tag(recipe="torch")

    answer = launch("image", "check", found, "--json")
    other = launch("image", "check", ours, "--strategy", "torch", "--for", "vertex")

    assert answer.code == 0, answer.err
    assert answer.json["strategy"] == "torch"
    checks = {item["name"]: (item["state"], item["found"]) for item in answer.json["checks"]}
    assert checks["torch"][1].startswith("1.13")
    assert checks["ranks"] == ("ok", "world size 2")
    assert {state for state, _ in checks.values()} == {"ok"}
    assert {"distributed", "gloo", "numpy"} <= set(checks)
    assert other.code == EXIT_BAD_REQUEST
    assert other.err.count("error: ") == 1, "what needs PyTorch says nothing without it"
    assert f"{ours}: PyTorch: " in other.err
    assert "pip install torch" in other.err
    assert left_over() == []


def test_an_image_without_python_is_one_message(launch: Launch) -> None:
    answer = launch("image", "check", CPU_BASE)

    assert answer.code == EXIT_BAD_REQUEST
    assert "no python3 and no python on PATH" in answer.err
    assert left_over() == []


def test_an_image_without_a_shell_is_one_message(launch: Launch) -> None:
    with own_tag() as (client, tag):
        tiny_image(client, tag)

        answer = launch("image", "check", tag)

    assert answer.code == EXIT_BAD_REQUEST
    assert "does not start" in answer.err
    assert left_over() == []


def test_an_image_that_is_not_there_is_one_message(launch: Launch) -> None:
    answer = launch("image", "check", "launch-test-no-such:image")

    assert answer.code == EXIT_BAD_REQUEST
    assert "launch-test-no-such:image is not on this machine" in answer.err


def test_a_python_that_does_not_answer_in_time_is_told_with_the_time() -> None:
    slow = "printf '#!/bin/sh\\necho hi; sleep 1000' > /bin/python3 && chmod 755 /bin/python3"
    with own_tag() as (client, tag):
        derived_image(client, tag, CPU_BASE, slow)
        with pytest.raises(NoAnswerError, match=r"no answer in 1 s \(hi\)"):
            answer_of(client, tag, [], 1)
    assert left_over() == []


def unnamed(client: Any) -> set[str]:
    """Volumes to which the engine gave a name: those of rehearsals have one of their own."""
    return {str(one.id) for one in client.volumes.list() if len(one.id) == 64}


def test_volumes_that_an_image_declares_go_with_the_containers_that_look_into_it(
    launch: Launch,
) -> None:
    dockerfile = f"FROM {CPU_BASE}\nVOLUME /data\n"
    with own_tag() as (client, tag):
        client.images.build(fileobj=io.BytesIO(dockerfile.encode()), tag=tag, rm=True)
        before = unnamed(client)
        looks = [("check", tag), ("diff", tag, tag)]
        codes = [launch("image", *words).code for words in looks]
        with refused("image-no-sbom"):
            sbom_of(client, tag)
        left = unnamed(client) - before
    assert codes == [EXIT_BAD_REQUEST, EXIT_OK]
    assert left == set()


def test_hosts_of_a_job_have_one_pair_of_keys_and_no_image_has_it(ours: str) -> None:
    client = engine()

    def keys(arn: str) -> tuple[str, str]:
        """Root's public key, and the host's own, in a container of a job of that name."""
        variables = {"TRAINING_JOB_ARN": arn, "LAUNCH_NONCE": "n" * 32}
        command = ["cat", "/root/.ssh/authorized_keys", "/etc/ssh/ssh_host_ed25519_key.pub"]
        said = client.containers.run(
            ours, command, environment=variables, network_mode="none", remove=True
        )
        root, host = said.decode().splitlines()
        return root, host

    first, second, other = keys("arn:1"), keys("arn:1"), keys("arn:2")
    client.close()
    assert first[0] == second[0] != other[0]
    assert first[1] != second[1]


def test_our_image_carries_its_bill_of_materials(ours: str) -> None:
    client = engine()
    bill = json.loads(sbom_of(client, ours))
    labels = client.images.get(ours).labels
    client.close()

    found = {one["name"]: one["version"] for one in bill["components"]}
    assert bill["metadata"]["component"]["name"] == "launch-horovod"
    assert found["tensorflow"] == "2.18.1"
    assert found["openssh-server"].startswith("1:9.")
    assert labels["org.opencontainers.image.title"] == "launch-horovod"


def test_compilers_caches_and_the_hosts_files_stay_out_of_our_image(ours: str) -> None:
    program = (
        "for file in /usr/bin/gcc /usr/bin/g++ /usr/bin/cmake /usr/bin/make /host /pins "
        "/root/.cache /etc/pip.conf; do [ ! -e $file ] || echo $file; done; "
        "find / -xdev -name ca.pem; "
        "find /var/lib/apt/lists /var/cache/apt /opt/ml/code -mindepth 1"
    )
    client = engine()
    said = client.containers.run(ours, ["sh", "-c", program], network_mode="none", remove=True)
    history = str(client.images.get(ours).history())
    client.close()

    assert said.decode().split() == []
    for word in ("pip", "host/", "PROXY", "Proxy", "ca.pem"):
        assert word not in history, word
