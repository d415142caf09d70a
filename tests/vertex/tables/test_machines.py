"""The table of Vertex AI's machines and accelerators."""

from __future__ import annotations

import argparse
import json
import warnings
from types import ModuleType

import pytest

from infra.refresh import files, vertex_locations, vertex_machines
from launchers.vertex.tables import locations, machines

REFRESH = "refresh machines.json with: python -m infra.refresh.vertex_machines"


def test_every_accelerator_of_the_installed_client_is_classified():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from google.cloud.aiplatform_v1 import types
    names = {entry.name for entry in types.AcceleratorType} - {"ACCELERATOR_TYPE_UNSPECIFIED"}
    assert names == set(machines.accelerators()), REFRESH
    # The refresh reads the same names from the client's source, without importing it.
    assert set(vertex_machines.accelerator_names()) == names


@pytest.mark.parametrize("script", [vertex_machines, vertex_locations])
def test_the_files_are_what_the_scripts_make(script: ModuleType):
    old = files.read_json(script.FILE)
    made = script.make(argparse.Namespace(), old)
    changes = [
        line
        for line in files.differences(old, made)
        if not line.startswith(("$.date", "$.sources"))
    ]
    assert not changes, f"{changes}\nrefresh it with: python -m {script.__name__}"


@pytest.mark.processes
def test_every_location_is_one_that_the_installed_client_takes():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from google.cloud.aiplatform.constants import base
    assert set(locations.load()) == base.SUPPORTED_REGIONS - {"global"}


@pytest.mark.parametrize(
    ("accelerator", "count", "machine"),
    [
        ("NVIDIA_TESLA_T4", 1, "n1-standard-4"),
        ("NVIDIA_TESLA_T4", 4, "n1-standard-16"),
        ("NVIDIA_TESLA_V100", 8, "n1-standard-32"),
        ("NVIDIA_L4", 1, "g2-standard-12"),
        ("NVIDIA_L4", 4, "g2-standard-48"),
        ("NVIDIA_TESLA_A100", 4, "a2-highgpu-4g"),
        ("NVIDIA_H100_80GB", 4, "a3-highgpu-4g"),
        ("NVIDIA_H100_80GB", 8, "a3-highgpu-8g"),
        ("NVIDIA_TESLA_T4", 3, None),
        ("NVIDIA_GB200", 8, None),
    ],
)
def test_an_accelerator_means_one_machine(accelerator: str, count: int, machine: str | None):
    found = machines.default_having(accelerator, count)
    assert (found.name if found else None) == machine
    assert found is None or found.takes(accelerator, count)


@pytest.mark.parametrize("entry", machines.load().values(), ids=lambda entry: entry.name)
def test_every_row_is_whole(entry: machines.Machine):
    assert entry.vcpus > 0
    assert entry.memory_gib > 0
    assert bool(entry.gpus) == bool(entry.accelerator)
    assert not (entry.accelerator and entry.attached)
    for name in [entry.accelerator, *entry.attached]:
        if name:
            known = machines.accelerators()[name]
            assert known.is_gpu
            assert not known.ended
            assert known.gpu_model
            assert 8 <= known.memory_gib < 1000


# From Google's page on compute resources for training.
KNOWN = [
    ("g2-standard-48", "NVIDIA_L4", 4, 48, 192),
    ("g2-standard-32", "NVIDIA_L4", 1, 32, 128),
    ("a2-highgpu-4g", "NVIDIA_TESLA_A100", 4, 48, 340),
    ("a2-megagpu-16g", "NVIDIA_TESLA_A100", 16, 96, 1360),
    ("a2-ultragpu-8g", "NVIDIA_A100_80GB", 8, 96, 1360),
    ("a3-highgpu-8g", "NVIDIA_H100_80GB", 8, 208, 1872),
    ("a3-megagpu-8g", "NVIDIA_H100_MEGA_80GB", 8, 208, 1872),
    ("a3-ultragpu-8g", "NVIDIA_H200_141GB", 8, 224, 2952),
    ("a4-highgpu-8g", "NVIDIA_B200", 8, 224, 3968),
    ("a4x-highgpu-4g", "NVIDIA_GB200", 4, 140, 884),
    ("g4-standard-192", "NVIDIA_RTX_PRO_6000", 4, 192, 720),
    ("n1-standard-16", "", 0, 16, 60),
    ("n1-highcpu-16", "", 0, 16, 14.4),
    ("c2-standard-60", "", 0, 60, 240),
]


@pytest.mark.parametrize("row", KNOWN, ids=[row[0] for row in KNOWN])
def test_the_hardware_is_what_google_says(row: tuple[object, ...]):
    entry = machines.machine(str(row[0]))
    assert entry is not None
    found = (entry.name, entry.accelerator, entry.gpus, entry.vcpus, entry.memory_gib)
    assert found == row


@pytest.mark.parametrize(
    ("machine", "accelerator", "counts"),
    [
        ("n1-standard-4", "NVIDIA_TESLA_T4", {1, 2, 4}),
        ("n1-highmem-2", "NVIDIA_TESLA_V100", {1, 2, 4, 8}),
        ("n1-highmem-16", "NVIDIA_TESLA_V100", {2, 4, 8}),
        ("n1-highcpu-32", "NVIDIA_TESLA_P4", {2, 4}),
        ("n1-standard-96", "NVIDIA_TESLA_V100", {8}),
        ("n1-standard-64", "NVIDIA_TESLA_T4", {4}),
        ("n1-standard-16", "NVIDIA_TESLA_P100", set()),
        ("n1-standard-16", "NVIDIA_L4", set()),
        ("n2-standard-16", "NVIDIA_TESLA_T4", set()),
        ("g2-standard-48", "NVIDIA_L4", {4}),
        ("g2-standard-48", "NVIDIA_TESLA_T4", set()),
    ],
)
def test_a_machine_takes_an_accelerator_in_some_counts(
    machine: str, accelerator: str, counts: set[int]
):
    entry = machines.machine(machine)
    assert entry is not None
    assert {count for count in range(17) if entry.takes(accelerator, count)} == counts


def test_a_t4_is_never_3_or_8():
    assert machines.counts_of("NVIDIA_TESLA_T4") == {1, 2, 4}


def test_exactly_four_gpus():
    assert [entry.name for entry in machines.with_gpus(4)] == [
        "g2-standard-48",
        "a2-highgpu-4g",
        "a2-ultragpu-4g",
        "a3-highgpu-4g",
        "g4-standard-192",
        "a4x-highgpu-4g",
    ]
    beside = {name for _, name in machines.attachable_with(4)}
    assert beside == {"NVIDIA_TESLA_P4", "NVIDIA_TESLA_T4", "NVIDIA_TESLA_V100"}


@pytest.mark.parametrize("gpus", [0, 1, 2, 4, 8, 16])
def test_a_gpu_count_means_one_machine_and_says_why(gpus: int):
    default = machines.default_for(gpus)
    assert default is not None
    assert default.gpus == gpus
    assert (default.only, default.reservation) == ((), False)
    assert machines.default_reason(gpus)
    assert machines.with_gpus(gpus)[0] == default


def test_a_count_that_no_machine_has_gives_none():
    assert machines.default_for(3) is None
    assert machines.default_reason(3) == ""
    assert machines.with_gpus(3) == []
    assert 3 not in machines.gpu_counts()


def test_only_some_machines_are_for_spare_capacity_or_a_reservation_alone():
    spare = {entry.name for entry in machines.load().values() if entry.only}
    assert spare == {"a3-highgpu-1g", "a3-highgpu-2g", "a3-highgpu-4g"}
    kept = {entry.name for entry in machines.load().values() if entry.reservation}
    assert kept == {"a4x-highgpu-4g"}


@pytest.mark.parametrize(
    ("name", "suggestion"),
    [
        ("T4", "did you mean NVIDIA_TESLA_T4?"),
        ("nvidia-tesla-t4", "did you mean NVIDIA_TESLA_T4?"),
        ("l4", "did you mean NVIDIA_L4?"),
        ("A100", "did you mean NVIDIA_TESLA_A100?"),
        ("NVIDIA_A100", "did you mean NVIDIA_TESLA_A100?"),
        ("A100-80GB", "did you mean NVIDIA_A100_80GB?"),
        ("H100", "did you mean NVIDIA_H100_80GB?"),
        ("B200", "did you mean NVIDIA_B200?"),
        ("NVIDIA_TESLA_T5", "did you mean NVIDIA_TESLA_T4?"),
        ("", ""),
        ("radeon", ""),
    ],
)
def test_a_short_name_of_an_accelerator_is_understood(name: str, suggestion: str):
    assert machines.accelerator_suggestion(name) == suggestion


def test_a_near_miss_of_a_machine_is_named():
    assert machines.machine("g2-standart-48") is None
    assert machines.suggestion("g2-standart-48") == "did you mean g2-standard-48?"


def test_the_table_of_all_machines_has_each_once():
    rows = machines.table_rows()
    names = [row["machine"] for row in rows]
    assert len(names) == len(set(names)) == len(machines.load())
    assert json.loads(json.dumps(rows)) == rows
    (n1,) = [row for row in rows if row["machine"] == "n1-standard-16"]
    assert (n1["gpus"], n1["default"]) == (0, True)
    assert n1["accelerator"] == (
        "NVIDIA_TESLA_P4:1,2,4 NVIDIA_TESLA_T4:1,2,4 NVIDIA_TESLA_V100:2,4,8"
    )


def test_the_table_of_a_count_has_what_may_stand_beside_a_machine():
    rows = machines.table_rows(4)
    assert rows[0] == {
        "machine": "g2-standard-48",
        "gpus": 4,
        "gpu": "L4",
        "gpu_memory_gib": 24,
        "vcpus": 48,
        "memory_gib": 192,
        "accelerator": "",
        "needs": "",
        "default": True,
    }
    assert {row["gpus"] for row in rows} == {4}
    assert [row["default"] for row in rows].count(True) == 1
    assert {row["accelerator"] for row in rows if row["machine"] == "n1-standard-16"} == {
        "NVIDIA_TESLA_P4:4",
        "NVIDIA_TESLA_T4:4",
        "NVIDIA_TESLA_V100:4",
    }
    needs = {row["machine"]: row["needs"] for row in rows if row["needs"]}
    assert needs == {"a3-highgpu-4g": "SPOT or FLEX_START", "a4x-highgpu-4g": "a reservation"}
    assert [row["default"] for row in machines.table_rows(0)].count(True) == 1


def test_the_mig_instances_of_a_gpu_fit_into_its_memory():
    cut = [row for row in machines.accelerators().values() if row.partitions]
    assert "NVIDIA_H100_80GB" in {row.name for row in cut}
    for row in cut:
        for size, count in row.partitions.items():
            slices, _, memory = size.removesuffix("gb").partition("g.")
            rounded = int(memory) - 1  # 2 x 3g.71gb are 141 GB
            assert count * rounded < row.memory_gib, (row.name, size)
            assert count * int(slices) <= 7, (row.name, size)
    assert machines.accelerators()["NVIDIA_A100_80GB"].partitions["1g.10gb"] * 8 == 56
