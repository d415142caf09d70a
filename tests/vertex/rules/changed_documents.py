"""A CustomJob with every kind of field, and what becomes of it when anything in it is changed."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import strategies as st

from launchers.vertex.rules import service_model

Document = dict[str, Any]

# Every part of a request that a launch or another tool may set.
REQUEST: Document = {
    "displayName": "digits-0a1b2c3d-1",
    "jobSpec": {
        "workerPoolSpecs": [
            {
                "machineSpec": {
                    "machineType": "a2-highgpu-4g",
                    "acceleratorType": "NVIDIA_TESLA_A100",
                    "acceleratorCount": 4,
                    "reservationAffinity": {
                        "reservationAffinityType": "SPECIFIC_RESERVATION",
                        "key": "compute.googleapis.com/reservation-name",
                        "values": ["projects/p/zones/us-central1-a/reservations/r"],
                    },
                },
                "replicaCount": "1",
                "diskSpec": {"bootDiskType": "pd-ssd", "bootDiskSizeGb": 200},
                "nfsMounts": [{"server": "10.0.0.1", "path": "/data", "mountPoint": "data"}],
                "containerSpec": {
                    "imageUri": "us-docker.pkg.dev/p/r/image:1",
                    "command": ["python3"],
                    "args": ["train.py"],
                    "env": [{"name": "A", "value": "b"}, {"name": "EMPTY"}],
                },
            },
            {},
            {
                "machineSpec": {"machineType": "n1-highcpu-16"},
                "replicaCount": 2,
                "pythonPackageSpec": {
                    "executorImageUri": "us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-12:latest",
                    "packageUris": ["gs://b/trainer.tar.gz"],
                    "pythonModule": "trainer.task",
                    "env": [],
                },
            },
        ],
        "scheduling": {
            "timeout": "86400s",
            "restartJobOnWorkerRestart": True,
            "strategy": "SPOT",
            "disableRetries": False,
            "maxWaitDuration": "3600.5s",
        },
        "serviceAccount": "sa@p.iam.gserviceaccount.com",
        "network": "projects/123/global/networks/default",
        "reservedIpRanges": ["range"],
        "baseOutputDirectory": {"outputUriPrefix": "gs://b/out"},
        "tensorboard": "projects/p/locations/us-central1/tensorboards/1",
        "enableWebAccess": True,
    },
    "labels": {"team": "vision"},
    "encryptionSpec": {"kmsKeyName": "projects/p/locations/l/keyRings/r/cryptoKeys/k"},
}

_TEXTS = (
    ["1", "-1", "1s", "1.5s", "-1s", "1.s", ".5s", "SPOT", "5", "99", "1 ", "+1", "\u0663", "1e3"],
    ["315576000001s", "2026-02-29T00:00:00Z", "2024-02-29T00:00:00Z", "0000-01-01T00:00:00Z"],
    ["2026-01-01T24:00:00Z", "2026-01-01T23:59:60Z", "[x]", "\ud800"],
)
_LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**64), 2**64),
    st.floats(),
    st.text(st.characters(), max_size=4),
    st.sampled_from([text for texts in _TEXTS for text in texts]),
    st.builds(list),
    st.builds(dict),
    st.builds(lambda: [None]),
    st.builds(lambda: {"a": None}),
)
_FIELDS = sorted(
    {key for shape in service_model.MODEL.shapes.values() for key in shape.get("members", ())}
)
_KEYS = st.one_of(st.sampled_from(_FIELDS), st.sampled_from(["job_spec", "[x]", "", "a b"]))


@st.composite
def documents(draw: st.DrawFn) -> Document:
    """A good request in which up to three places were changed, emptied, dropped or added."""
    document = copy.deepcopy(REQUEST)
    document["state"] = "JOB_STATE_QUEUED"
    document["createTime"] = "2026-11-20T10:00:00Z"
    for _ in range(draw(st.integers(0, 3))):
        place: Any = document
        while True:
            steps: list[Any] = list(place) if isinstance(place, dict) else list(range(len(place)))
            if not steps:
                break
            step = draw(st.sampled_from(steps))
            if isinstance(place[step], (dict, list)) and draw(st.booleans()):
                place = place[step]
                continue
            change = draw(st.sampled_from(["set", "drop", "add"]))
            if change == "set":
                place[step] = draw(_LEAVES)
            elif change == "drop":
                del place[step]
            elif isinstance(place, dict):
                place[draw(_KEYS)] = draw(_LEAVES)
            else:
                place.append(draw(_LEAVES))
            break
    return document
