"""``request:`` under ``vertex:``: what no flag says, laid over the CustomJob that flags make."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from launchers.core.model.problems import LaunchError, Problem, errors
from launchers.core.reading.job_file import schema
from launchers.core.rules.request import laid_over
from launchers.vertex.planning.request import request_of
from tests.vertex.documents import IMAGE, job, prepared, rendered, through_the_client

Document = dict[str, Any]
LUSTRE = {
    "instanceIp": "10.0.0.2",
    "volumeHandle": "p/us-central1-a/i",
    "filesystem": "data",
    "mountPoint": "data",
}
ATTACHED = {"network_attachment": "projects/p/regions/us-central1/networkAttachments/a"}
DNS = {"domain": "my.domain.", "targetProject": "p", "targetNetwork": "vpc"}
ONE_A100 = {"machine": "a2-ultragpu-1g", "gpus": 1}
# What may be said: its name, of the CustomJob, of each pool of ranks, and what else the job has.
GOOD: list[tuple[str, Document, Document, Document]] = [
    ("a Lustre mount", {}, {"lustreMounts": [LUSTRE]}, ATTACHED),
    ("a GPU's partition", {}, {"machineSpec": {"gpuPartitionSize": "1g.10gb"}}, ONE_A100),
    ("dnsPeering", {"pscInterfaceConfig": {"dnsPeeringConfigs": [DNS]}}, {}, ATTACHED),
    ("a place of artefacts", {"protectedArtifactLocationId": "us-central1"}, {}, {}),
    ("models", {"models": ["projects/p/locations/us-central1/models/1"]}, {}, {}),
]


@pytest.mark.parametrize(
    ("spec", "pool", "asked"), [row[1:] for row in GOOD], ids=[row[0] for row in GOOD]
)
def test_the_job_is_that_of_the_flags_with_the_block_on_top(
    spec: Document, pool: Document, asked: Document
):
    asked = {"image": IMAGE, "reduction_servers": 1, **asked}
    block = {"jobSpec": {**spec, **({"workerPoolSpecs": pool} if pool else {})}}
    before = copy.deepcopy(block)
    made = prepared(request=block, **asked)
    assert errors(made.problems) == []
    expected = laid_over(rendered(**asked), {"jobSpec": spec})
    pools = expected["jobSpec"]["workerPoolSpecs"]
    # The reduction servers hold no ranks, and stay as they are.
    pools[:2] = [laid_over(one, pool) for one in pools[:2]]
    assert unnamed(json.loads(made.definition.text)) == unnamed(expected)
    assert block == before
    assert [row.text for row in made.plan.rows if row.label == "request"]
    sent = through_the_client(made.definition.text)
    assert sent["jobSpec"].keys() >= spec.keys()
    assert sent["jobSpec"]["workerPoolSpecs"][1].keys() >= pool.keys()


def unnamed(document: Document) -> Document:
    """Without what follows from the digest: it differs, as it should."""
    name = document["displayName"]
    text = json.dumps(document).replace(name, "NAME")
    return json.loads(text.replace(name.split("-")[-2], "DIGEST"))


def spec(**fields: Any) -> Document:
    return {"jobSpec": fields}


def pool(**fields: Any) -> Document:
    return spec(workerPoolSpecs=fields)


# What may not be said: where, by which rule, and a part of the message.
BAD: list[tuple[str, Document, str, str, str]] = [
    ("a name", {"displayName": "x"}, "displayName", "request-field", "use --name"),
    ("a state", {"state": "JOB_STATE_RUNNING"}, "state", "request-field", "the service sets it"),
    ("labels", {"labels": {"a": "b"}}, "labels", "request-field", "use --tag"),
    ("a key", {"encryptionSpec": {"kmsKeyName": "k"}}, "encryptionSpec", "request-field",
     "use --encryption-key"),
    ("pools", spec(workerPoolSpecs=[{}]), "jobSpec.workerPoolSpecs", "request-hosts",
     "--instances and --reduction-servers count"),
    ("pools as text", spec(workerPoolSpecs="x"), "jobSpec.workerPoolSpecs", "model-type",
     "an object"),
    ("replicas", pool(replicaCount="4"), "jobSpec.workerPoolSpecs.replicaCount", "request-field",
     "use --instances"),
    ("a machine", pool(machineSpec={"machineType": "x"}),
     "jobSpec.workerPoolSpecs.machineSpec.machineType", "request-field", "use --machine"),
    ("accelerators", pool(machineSpec={"acceleratorCount": 8}),
     "jobSpec.workerPoolSpecs.machineSpec.acceleratorCount", "request-field", "--accelerator"),
    ("a command", pool(containerSpec={"command": []}),
     "jobSpec.workerPoolSpecs.containerSpec.command", "request-field", "starts our agent"),
    ("variables", pool(containerSpec={"env": []}), "jobSpec.workerPoolSpecs.containerSpec.env",
     "request-field", "use --env"),
    ("an NFS mount", pool(nfsMounts=[]), "jobSpec.workerPoolSpecs.nfsMounts", "request-field",
     "use --nfs-mount"),
    ("a disk", pool(diskSpec={}), "jobSpec.workerPoolSpecs.diskSpec", "request-field",
     "use --boot-disk"),
    ("a restart", spec(scheduling={"restartJobOnWorkerRestart": False}),
     "jobSpec.scheduling.restartJobOnWorkerRestart", "request-field", "together"),
    ("a time", spec(scheduling={"timeout": "60s"}), "jobSpec.scheduling.timeout",
     "request-field", "use --max-runtime"),
    ("an experiment", spec(experiment="x"), "jobSpec.experiment", "request-field",
     "use --experiment"),
    ("the dashboard", spec(enableDashboardAccess=True), "jobSpec.enableDashboardAccess",
     "request-field", "use --dashboard-access"),
    ("snake_case", {"job_spec": {}}, "job_spec", "model-key", "did you mean jobSpec?"),
    ("a field one level too high", {"models": []}, "models", "model-key",
     "it belongs at vertex.request.jobSpec.models"),
    ("a flag's field one level too high", {"replicaCount": "3"}, "replicaCount", "model-key",
     "use --instances"),
    ("a misspelt mount", pool(lustreMounts=[{**LUSTRE, "mountPont": "x"}]),
     "jobSpec.workerPoolSpecs.lustreMounts[0].mountPont", "model-key", "did you mean mountPoint?"),
    ("a mount without its place",
     pool(lustreMounts=[{key: LUSTRE[key] for key in LUSTRE if key != "mountPoint"}]),
     "jobSpec.workerPoolSpecs.lustreMounts[0].mountPoint", "model-missing", "missing"),
    ("a peering without a network",
     spec(pscInterfaceConfig={"dnsPeeringConfigs": [{"domain": "a.", "targetProject": "p"}]}),
     "jobSpec.pscInterfaceConfig.dnsPeeringConfigs[0].targetNetwork", "model-missing", "missing"),
    ("a partition as a number", pool(machineSpec={"gpuPartitionSize": 1}),
     "jobSpec.workerPoolSpecs.machineSpec.gpuPartitionSize", "model-type", "text"),
    ("a credential", spec(models=["AKIAIOSFODNN7EXAMPLQ"]), "jobSpec.models[0]", "credential",
     "looks like"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("block", "path", "rule", "part"), [row[1:] for row in BAD], ids=[row[0] for row in BAD]
)
def test_what_may_not_be_said_is_refused_once_with_its_place(
    block: Document, path: str, rule: str, part: str
):
    found = request_of(job(request=block)).problems
    assert [(one.path, one.rule) for one in found] == [(f"vertex.request.{path}", rule)]
    assert part in str(found[0])
    assert "AKIA" not in str(found[0])


def problems_of(**asked: Any) -> list[Problem]:
    try:
        return list(prepared(**asked).problems)
    except LaunchError as error:
        return list(error.problems)


def test_refused_fields_are_told_with_the_other_mistakes():
    found = errors(problems_of(request={"jobSpec": None, "labels": {}}, network="default"))
    assert [one.rule for one in found] == ["model-type", "request-field", "resource-address"]


def test_a_block_that_cuts_the_gpus_says_what_a_rank_gets():
    block = pool(machineSpec={"gpuPartitionSize": "1g.10gb"})
    made = prepared(image=IMAGE, request=block, **ONE_A100)
    assert errors(made.problems) == []
    rows = [row.text for row in made.plan.rows if row.label == "MIG"]
    assert rows == ["7 instances of 1g.10gb a replica, of which each rank sees one"]
    assert not [row for row in prepared(image=IMAGE).plan.rows if row.label == "MIG"]


@pytest.mark.parametrize(
    ("asked", "rules"),
    [
        ({}, {"partition-size", "partition-ranks"}),
        ({"machine": "a2-ultragpu-4g", "gpus": 4}, {"partition-ranks", "partition-count"}),
        ({"machine": "a2-ultragpu-4g", "processes": 1}, {"partition-count"}),
    ],
    ids=["an L4", "a rank for each GPU", "one rank for four GPUs"],
)
def test_a_block_that_cuts_the_gpus_of_several_ranks_is_refused(
    asked: dict[str, Any], rules: set[str]
):
    block = pool(machineSpec={"gpuPartitionSize": "1g.10gb"})
    found = problems_of(image=IMAGE, request=block, **asked)
    assert {one.rule for one in found if one.rule.startswith("partition")} == rules
    counts = [one.found for one in found if one.rule == "partition-count"]
    assert all("of 28 on a replica" in text for text in counts)


def test_a_changed_block_is_another_job():
    names = {
        prepared(request=pool(machineSpec={"gpuPartitionSize": size})).definition.name
        for size in ("1g.10gb", "2g.20gb")
    }
    assert len(names) == 2


def test_the_schema_of_launch_yaml_covers_what_may_be_said():
    block = schema()["properties"]["vertex"]["properties"]["request"]
    fields = block["properties"]["jobSpec"]["properties"]
    assert "experiment" not in fields
    pools = fields["workerPoolSpecs"]
    assert pools["type"] == "object"
    assert sorted(pools["properties"]) == ["containerSpec", "lustreMounts", "machineSpec"]
    assert pools["properties"]["lustreMounts"]["items"]["required"] == list(LUSTRE)
