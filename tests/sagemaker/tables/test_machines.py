from __future__ import annotations

import json

import botocore.session
import pytest

from launchers.sagemaker.tables import machines

REFRESH = "refresh machines.json with: python -m infra.refresh.sagemaker_machines"


def test_every_instance_type_of_the_installed_botocore_is_classified() -> None:
    model = botocore.session.get_session().get_service_model("sagemaker")
    names = model.shape_for("TrainingInstanceType").enum
    assert set(names) - set(machines.load()) == set(), REFRESH


@pytest.mark.parametrize("entry", machines.load().values(), ids=lambda entry: entry.name)
def test_every_row_is_whole(entry: machines.Machine) -> None:
    assert entry.vcpus > 0
    assert entry.memory_gib > 0
    assert entry.cpu_architecture in ("x86_64", "arm64")
    described = (entry.gpu_model, entry.gpu_generation, entry.compute_capability)
    if entry.gpus:
        assert all(described)
        assert 8 <= entry.gpu_memory_gib < 1000
        assert entry.cuda_minimum
        assert not entry.accelerator
    else:
        assert not any(described)
        assert entry.gpu_memory_gib == 0


# From AWS's pages of the instance types.
KNOWN = [
    ("ml.g5.12xlarge", 4, "A10G", 22.35, 48, 192, True, True, "8.6", "x86_64"),
    ("ml.g5.xlarge", 1, "A10G", 22.35, 4, 16, False, True, "8.6", "x86_64"),
    ("ml.p3.8xlarge", 4, "V100", 16, 32, 244, False, False, "7.0", "x86_64"),
    ("ml.p3dn.24xlarge", 8, "V100", 32, 96, 768, True, True, "7.0", "x86_64"),
    ("ml.p4d.24xlarge", 8, "A100", 40, 96, 1152, True, True, "8.0", "x86_64"),
    ("ml.p5.48xlarge", 8, "H100", 80, 192, 2048, True, True, "9.0", "x86_64"),
    ("ml.p6e-gb200.36xlarge", 4, "GB200", 185, 144, 960, True, True, "10.0", "arm64"),
    ("ml.c5.4xlarge", 0, "", 0, 16, 32, False, False, "", "x86_64"),
    ("ml.trn1.32xlarge", 0, "", 0, 128, 512, True, True, "", "x86_64"),
]


@pytest.mark.parametrize("row", KNOWN, ids=[row[0] for row in KNOWN])
def test_the_hardware_is_what_aws_says(row: tuple[object, ...]) -> None:
    entry = machines.machine(str(row[0]))
    assert entry is not None
    assert (
        entry.name,
        entry.gpus,
        entry.gpu_model,
        entry.gpu_memory_gib,
        entry.vcpus,
        entry.memory_gib,
        entry.efa,
        entry.local_nvme,
        entry.compute_capability,
        entry.cpu_architecture,
    ) == row


@pytest.mark.parametrize(
    ("gpus", "name"),
    [(0, "ml.c5.4xlarge"), (1, "ml.g5.xlarge"), (4, "ml.g5.12xlarge"), (8, "ml.g5.48xlarge")],
)
def test_a_gpu_count_means_one_machine_and_says_why(gpus: int, name: str) -> None:
    default = machines.default_for(gpus)
    assert default is not None
    assert (default.name, default.gpus) == (name, gpus)
    assert default.regions > 0
    assert machines.default_reason(gpus)
    assert machines.with_gpus(gpus)[0] == default


@pytest.mark.parametrize("gpus", [2, 3, 16, -1])
def test_a_count_without_a_default_has_none(gpus: int) -> None:
    assert machines.default_for(gpus) is None
    assert machines.default_reason(gpus) == ""


def test_exactly_four_gpus() -> None:
    assert {entry.name.removeprefix("ml.") for entry in machines.with_gpus(4)} == {
        "g4dn.12xlarge",
        "p3.8xlarge",
        "g5.12xlarge",
        "g5.24xlarge",
        "g6.12xlarge",
        "g6.24xlarge",
        "g6e.12xlarge",
        "g6e.24xlarge",
        "g7.24xlarge",
        "g7e.24xlarge",
        "p6e-gb200.36xlarge",
    }


def test_machines_that_no_region_offers_come_last() -> None:
    offered = [entry.regions > 0 for entry in machines.with_gpus(4)]
    assert offered == sorted(offered, reverse=True)
    assert not offered[-1]


def test_a_count_that_no_machine_has_gives_none() -> None:
    assert machines.with_gpus(3) == []


def test_machines_for_no_gpu_have_no_other_accelerator_either() -> None:
    assert not [entry.name for entry in machines.with_gpus(0) if entry.accelerator]


@pytest.mark.parametrize(
    ("name", "suggestion"),
    [
        ("ml.g5.12xlage", "did you mean ml.g5.12xlarge?"),
        ("g5.12xlarge", "did you mean ml.g5.12xlarge?"),
        ("ML.G5.12XLARGE", "did you mean ml.g5.12xlarge?"),
        ("ml.p3.8large", "did you mean ml.p3.8xlarge?"),
        ("n1-standard-8", ""),
    ],
)
def test_a_near_miss_is_named(name: str, suggestion: str) -> None:
    assert machines.machine(name) is None
    assert machines.suggestion(name) == suggestion


@pytest.mark.parametrize(
    ("name", "needs"),
    [
        ("ml.g5.12xlarge", True),  # has EFA, in no toolkit's list
        ("ml.p5.48xlarge", True),  # in the list since 5.0, not in that of the images with Horovod
        ("ml.p4d.24xlarge", False),  # in every list
        ("ml.g5.xlarge", False),  # has no EFA
    ],
)
def test_efa_is_asked_for_where_a_toolkit_does_not_do_it(name: str, needs: bool) -> None:
    entry = machines.machine(name)
    assert entry is not None
    assert entry.needs_efa_option is needs


def test_the_table_of_all_machines_has_each_once() -> None:
    rows = machines.table_rows()
    names = [row["machine"] for row in rows]
    assert len(names) == len(set(names)) == len(machines.load())
    assert json.loads(json.dumps(rows)) == rows


def test_the_table_of_a_count_has_only_machines_with_it() -> None:
    rows = machines.table_rows(4)
    assert rows[0] == {
        "machine": "ml.g5.12xlarge",
        "gpus": 4,
        "gpu": "A10G",
        "gpu_memory_gib": 22.35,
        "vcpus": 48,
        "memory_gib": 192,
        "efa": True,
        "local_nvme_gb": 3800,
        "regions": rows[0]["regions"],
        "default": True,
    }
    assert {row["gpus"] for row in rows} == {4}
    assert [row["default"] for row in rows].count(True) == 1
