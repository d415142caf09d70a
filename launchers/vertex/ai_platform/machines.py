"""The machines of an AI Platform Training job as Vertex AI has them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from launchers.core.model.problems import Problem, did_you_mean
from launchers.vertex.ai_platform.input import INPUT, Given, load
from launchers.vertex.catalogue import RULES
from launchers.vertex.tables import machines

_DISK = "diskConfig"


@dataclass(frozen=True)
class Hardware:
    """One kind of replica, as the old file asks for it and as Vertex AI has it.

    Attributes:
        machine: The machine type, ``n1-standard-16``; empty where nothing can be said.
        accelerator: What stands beside it, ``NVIDIA_TESLA_T4``; empty for none.
        count: How many of them.
    """

    machine: str
    accelerator: str = ""
    count: int = 0


def master(given: Given, problems: list[Problem]) -> Hardware:
    """The primary replica's hardware; what changed and what cannot be goes to ``problems``."""
    tier = given.get(f"{INPUT}.scaleTier")
    table = load()["scale_tiers"]
    named = given.get(f"{INPUT}.masterType")
    if tier is not None and tier not in table:
        expected = f"one of {', '.join(table)}"
        where = given.where(f"{INPUT}.scaleTier")
        fix = did_you_mean(tier, table)
        problems.append(RULES["import-scale-tier"].at(where, tier, expected, fix))
        return Hardware("")
    row = table[tier or ("CUSTOM" if named else "BASIC")]
    if "refused" in row:
        where = given.where(f"{INPUT}.scaleTier")
        problems.append(_refused(where, f"{tier}: {row['refused']}"))
        return Hardware("")
    if "masterType" in row:
        if named:
            expected = "CUSTOM, which masterType belongs to"
            where = given.where(f"{INPUT}.scaleTier")
            problems.append(RULES["import-scale-tier"].at(where, str(tier), expected))
        return machine_named(row["masterType"], given.where(f"{INPUT}.scaleTier"), problems)
    if not named:
        expected = "the machine of the CUSTOM tier"
        where = f"{INPUT}.masterType"
        problems.append(RULES["import-machine"].at(where, "missing", expected))
        return Hardware("")
    return _replica(given, "master", problems)


def worker(given: Given, problems: list[Problem]) -> Hardware:
    """The workers' hardware. A type that is not said is an error."""
    path = f"{INPUT}.workerType"
    if not given.get(path):
        expected = "the machine of the workers"
        problems.append(RULES["import-machine"].at(path, "missing", expected))
        return Hardware("")
    return _replica(given, "worker", problems)


def boot_disk(given: Given, replica: str) -> str | None:
    """``pd-ssd:200`` of a replica's diskConfig; None where it is the service's own."""
    config = given.get(f"{INPUT}.{replica}Config.{_DISK}") or {}
    size, kind = config.get("bootDiskSizeGb"), config.get("bootDiskType") or "pd-ssd"
    if not config:
        return None
    return f"{kind}:{size or 100}"


def _replica(given: Given, replica: str, problems: list[Problem]) -> Hardware:
    type_path = f"{INPUT}.{replica}Type"
    hardware = machine_named(given.get(type_path), given.where(type_path), problems)
    path = f"{INPUT}.{replica}Config.acceleratorConfig"
    config: Mapping[str, Any] = given.get(path) or {}
    kind, count = config.get("type", ""), config.get("count", 0)
    if not kind and not count:
        return hardware
    where = given.where(path)
    if not kind or not count or kind == "ACCELERATOR_TYPE_UNSPECIFIED":
        expected = "a type and a count"
        problems.append(
            RULES["import-accelerator"].at(where, f"{count} x {kind or 'no type'}", expected)
        )
        return Hardware("")
    if hardware.accelerator:
        expected = f"no accelerator: {given.get(type_path)} has its own"
        problems.append(RULES["import-accelerator"].at(where, f"{count} x {kind}", expected))
        return Hardware("")
    if not hardware.machine:
        return hardware
    return _with_accelerator(hardware.machine, kind, count, where, problems)


def machine_named(name: str, where: str, problems: list[Problem]) -> Hardware:
    """A machine type of either service's tables."""
    row = load()["machine_types"].get(name)
    if row is None:
        return _machine_type(name, where, problems)
    if "refused" in row:
        problems.append(_refused(where, f"{name}: {row['refused']}"))
        return Hardware("")
    text = row["machine"]
    if "accelerator" in row:
        text += f" with {row['count']} x {row['accelerator']}"
    problems.append(
        RULES["import-changed"].at(where, name, "a machine type of Vertex AI", f"it was {text}")
    )
    hardware = _machine_type(row["machine"], where, problems)
    if "accelerator" not in row or not hardware.machine:
        return hardware
    return _with_accelerator(hardware.machine, row["accelerator"], row["count"], where, problems)


def _machine_type(name: str, where: str, problems: list[Problem]) -> Hardware:
    if machines.machine(name):
        return Hardware(name)
    near = load()["nearest_machines"].get(name)
    if near:
        fix = f"{near} is the smallest of its kind there"
        expected = "a machine type of Vertex AI"
        problems.append(RULES["import-changed"].at(where, name, expected, fix))
        return Hardware(near)
    fix = machines.suggestion(name) or did_you_mean(name, load()["machine_types"])
    expected = "a machine type of AI Platform Training or Vertex AI"
    problems.append(RULES["import-machine"].at(where, name[:60], expected, fix))
    return Hardware("")


def _with_accelerator(
    machine: str, kind: str, count: int, where: str, problems: list[Problem]
) -> Hardware:
    known = machines.accelerators().get(kind)
    if known is None:
        expected = "an accelerator of Vertex AI"
        fix = machines.accelerator_suggestion(kind)
        problems.append(RULES["import-accelerator"].at(where, kind[:60], expected, fix))
        return Hardware("")
    if not known.is_gpu:
        problems.append(_refused(where, f"{kind}: a TPU, which Horovod cannot use"))
        return Hardware("")
    found = f"{count} x {kind}"
    if known.ended:
        fix = f"{count} x {known.instead} take their place"
        expected = f"accelerators that are left: these ended on {known.ended}"
        kind = known.instead
        table = machines.machine(machine)
        if table is None or not table.takes(kind, count):
            others = [entry.name for entry in machines.taking(kind, count)]
            fix = f"{machine} takes no {count} x {kind}" + (
                f"; {', '.join(others[:4])} do" if others else ", nor does another machine"
            )
            problems.append(RULES["import-accelerator"].at(where, found, expected, fix))
            return Hardware("")
        problems.append(RULES["import-changed"].at(where, found, expected, fix))
        return Hardware(machine, kind, count)
    table = machines.machine(machine)
    if table is not None and not table.takes(kind, count):
        has = f"{table.gpus} x {table.accelerator}" if table.accelerator else table.attached_text
        expected = f"what {machine} takes: {has or 'none'}"
        problems.append(RULES["import-accelerator"].at(where, found, expected))
        return Hardware("")
    return Hardware(machine, kind, count)


def _refused(where: str, found: str) -> Problem:
    expected = "something that a Horovod job on Vertex AI has"
    return RULES["import-refused"].at(where, found, expected)
