"""What a check says of a world size: where, what was found there and what was meant."""

from __future__ import annotations

from typing import Any

import pytest

from launchers.core.model.problems import errors
from launchers.sagemaker.rules.document import check
from launchers.sagemaker.starts.alone import advice
from launchers.sagemaker.starts.read import start_of
from tests.sagemaker.documents import captured, plain, rendered
from tests.sagemaker.rules.test_document import hyper, put
from tests.sagemaker.starts.test_starts import (
    CPU,
    DATA_PARALLEL,
    EACH,
    FOUR,
    MIRRORED,
    MPI,
    OWN,
    PYTORCH,
    REGISTRY,
    SERVERS,
    STARTS,
    TENSORFLOW,
    TORCHRUN,
    request,
)

HYPER, COMMAND = "$.HyperParameters", "$.AlgorithmSpecification.ContainerEntrypoint"
TOTAL = "sagemaker_mpi_num_processes"


def started_by(*words: str, **asked: Any) -> dict[str, Any]:
    document = request(**asked)
    document["AlgorithmSpecification"]["ContainerEntrypoint"] = list(words)
    return document


def agents_without_processes() -> dict[str, Any]:
    document = rendered(strategy="torch")
    del document["Environment"]["LAUNCH_PROCESSES"], document["Environment"]["LAUNCH_WORLD_SIZE"]
    return document


# Name: (request, the size that is meant, path, severity, found).
MEANT = {
    "MPI with a count": (
        request(TENSORFLOW, MPI, FOUR), 16, f"{HYPER}.{EACH}", "error",
        "2 hosts x 4 ranks = world size 8",
    ),
    "MPI without a count": (
        request(TENSORFLOW, MPI), 7, f"{HYPER}.{EACH}", "error",
        "MPI over 2 hosts x 4 processes = world size 8",
    ),
    "MPI without a count on CPUs": (
        request(TENSORFLOW, MPI, machine=CPU), 7, f"{HYPER}.{EACH}", "error",
        "MPI over 2 hosts x 1 process = world size 2",
    ),
    "MPI with a number that overrides the count": (
        request(TENSORFLOW, MPI, FOUR, {TOTAL: "1"}), 8, f"{HYPER}.{EACH}", "error",
        f"{TOTAL} is 1 = world size 1",
    ),
    "torchrun": (
        request(PYTORCH, TORCHRUN), 4, f"{HYPER}.{next(iter(TORCHRUN))}", "error",
        "torchrun over 2 hosts x 4 processes = world size 8",
    ),
    "a host that runs the program once": (
        request(hosts=1), 4, f"{HYPER}.sagemaker_mpi_enabled", "error",
        "the toolkit runs train.py once, with 4 GPUs: only the script says the rest; nothing in",
    ),
    "a host with one GPU": (
        request(hosts=1, machine="ml.g5.xlarge"), 4, f"{HYPER}.sagemaker_mpi_enabled", "error",
        "the toolkit runs train.py once",
    ),
    "a shell script": (
        request(program="run.sh"), 2, f"{HYPER}.{EACH}", "unknown",
        "cannot tell what it starts: run.sh runs on 2 hosts and may start more",
    ),
    "a command of one's own": (
        started_by("bash", "x.sh", hosts=1), 2, COMMAND, "unknown", "cannot tell what it starts: ",
    ),
    "our agent without its count": (
        agents_without_processes(), 8, "$.Environment.LAUNCH_PROCESSES", "unknown",
        "cannot tell what it starts: launch's agent, and LAUNCH_PROCESSES or the hosts are not",
    ),
}  # fmt: skip


def told(document: Any, meant: int | None = None, rule: str = "world-size") -> list[Any]:
    return [one for one in check(document, meant) if one.rule == rule]


@pytest.mark.parametrize("name", MEANT)
def test_another_size_than_the_one_that_was_meant_is_told_with_both(name: str):
    document, meant, path, severity, found = MEANT[name]
    (problem,) = told(document, meant)
    assert (problem.path, problem.severity) == (path, severity)
    assert problem.found.startswith(found)
    assert f"world size {meant}" in problem.expected


def test_what_a_command_of_ones_own_starts_is_held_against_the_size_that_was_meant():
    document = started_by("torchrun", "--nproc-per-node=4", "train.py", hosts=1)
    assert told(document, 4) == []
    (problem,) = told(document, 8)
    assert problem.path == COMMAND
    assert "= world size 4" in problem.found


@pytest.mark.parametrize("name", ["a host that runs the program once", "a shell script"])
def test_a_size_of_one_needs_nothing_that_starts_more(name: str):
    document = MEANT[name][0]
    assert told(document, 1) == []
    assert len(told(document, 2)) == 1


@pytest.mark.parametrize("meant", [None, 8])
def test_a_size_in_the_environment_is_a_whole_number(meant: int | None):
    document = plain()
    put("Environment.LAUNCH_WORLD_SIZE", "eight")(document)
    (problem,) = told(document, meant)
    assert (problem.path, problem.found) == ("$.Environment.LAUNCH_WORLD_SIZE", "'eight'")
    assert problem.expected == "a whole number from 1 to 1,000,000"


def test_a_size_asked_above_or_below_the_documents_own_is_told_with_both():
    for asked in (4, 16):
        (problem,) = told(plain(), asked)
        assert (problem.path, problem.found) == ("--world-size", str(asked))
        assert problem.expected.startswith("8, as ")


# Name: (request, what is said of the counts).
COUNTS = {
    "one rank on each host": (request(TENSORFLOW, MPI, {EACH: "1"}), []),
    "no rank": (request(TENSORFLOW, MPI, {EACH: "0"}), [(EACH, "0")]),
    "a part of a rank": (request(TENSORFLOW, MPI, {EACH: "1.5"}), [(EACH, "1.5")]),
    "a text on several hosts": (request(TENSORFLOW, MPI, {EACH: '"4"'}), [(EACH, "4")]),
    "a text on one host": (request(TENSORFLOW, MPI, {EACH: '"4"'}, hosts=1), []),
    "none in a request from elsewhere": (request(TENSORFLOW, MPI), []),
    "no rank where MPI is off": (request(PYTORCH, TORCHRUN, FOUR), []),
    "a value of another tool": (request(TENSORFLOW, MPI, {EACH: {"Get": "Parameters.N"}}), []),  # type: ignore[dict-item]
    "all ranks, as many as there are": (request(TENSORFLOW, MPI, FOUR, {TOTAL: "8"}), []),
    "fewer ranks than there are": (
        request(TENSORFLOW, MPI, FOUR, {TOTAL: "7"}), [(TOTAL, "7")],
    ),
    "more ranks than there are": (
        request(TENSORFLOW, MPI, FOUR, {TOTAL: "9"}), [(TOTAL, "9")],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", COUNTS)
def test_a_count_of_ranks_is_told_only_where_it_makes_them_others(name: str):
    document, wanted = COUNTS[name]
    found = [(one.path, one.found) for one in told(document, rule="mpi-processes")]
    assert found == [(f"{HYPER}.{key}", text) for key, text in wanted]


def test_our_own_request_says_the_ranks_of_each_host():
    document = plain()
    hyper(EACH, None)(document)
    (problem,) = told(document, rule="mpi-processes")
    assert (problem.path, problem.found) == (f"{HYPER}.{EACH}", "missing")
    hyper("sagemaker_mpi_enabled", None)(document)
    assert told(document, rule="mpi-processes") == []


def test_our_own_request_does_not_say_all_ranks_even_where_they_are_right():
    document = plain()
    hyper(TOTAL, "8")(document)
    assert [one.found for one in told(document, rule="mpi-processes")] == ["8"]


def test_a_count_that_no_toolkit_reads_is_not_judged():
    document = captured("v2_tf_mpi_minimal.json")
    hyper(EACH, "0")(document)
    assert len(told(document, rule="mpi-processes")) == 1
    document["AlgorithmSpecification"]["ContainerEntrypoint"] = ["python", "train.py"]
    assert told(document, rule="mpi-processes") == []


@pytest.mark.parametrize("text", ["True", "1", '"true"', "false", "0"])
def test_in_our_own_request_a_flag_is_true_or_left_out(text: str):
    document = plain()
    hyper("sagemaker_mpi_enabled", text)(document)
    (problem,) = told(document, rule="mpi-enabled")
    assert (problem.severity, problem.found) == ("error", text)


LONG = "x" * 100


@pytest.mark.parametrize(
    ("path", "rule", "start"),
    [
        ("Environment.LAUNCH_WORLD_SIZE", "world-size", "'xxx"),
        ("HyperParameters.sagemaker_mpi_enabled", "mpi-enabled", "xxx"),
        (f"HyperParameters.{TOTAL}", "mpi-processes", "xxx"),
        (f"HyperParameters.{EACH}", "mpi-processes", "xxx"),
    ],
)
def test_a_long_value_is_shown_by_its_first_forty_characters(path: str, rule: str, start: str):
    document = plain()
    put(path, LONG)(document)
    (problem,) = [one for one in told(document, rule=rule) if one.path == f"$.{path}"]
    assert problem.found.startswith(start)
    assert len(problem.found) == 40


@pytest.mark.parametrize(
    ("image", "flag"),
    [
        (PYTORCH, "sagemaker_torch_distributed_enabled"),
        (TENSORFLOW.replace("2.12.0", "2.14.1"), next(iter(MIRRORED))),
        (TENSORFLOW, "sagemaker_mpi_enabled"),
        (OWN, "sagemaker_mpi_enabled"),
        (None, "sagemaker_mpi_enabled"),
    ],
)
def test_hosts_that_are_no_job_are_told_how_their_image_joins_them(image: Any, flag: str):
    assert advice(request(image)).startswith(f"set {flag} to")
    assert [one.fix for one in errors(told(request(image)))] in (
        [advice(request(image))],
        [],  # an image of one's own may start anything
    )


def test_hosts_apart_are_a_process_on_each():
    assert start_of(STARTS["nothing on several hosts"][0]).meant == 2


# Name: (request, the flag that does nothing, severity).
SEVERAL = {
    "parameter servers before MPI": (
        request(TENSORFLOW, MPI, FOUR, SERVERS), "sagemaker_mpi_enabled", "error",
    ),
    "MPI before MultiWorkerMirrored": (
        request(TENSORFLOW, MPI, MIRRORED), next(iter(MIRRORED)), "error",
    ),
    "torchrun before smdistributed": (
        request(PYTORCH, TORCHRUN, DATA_PARALLEL), next(iter(DATA_PARALLEL)), "warning",
    ),
    "MPI in an image of one's own": (request(OWN, MPI, TORCHRUN), next(iter(TORCHRUN)), "warning"),
}  # fmt: skip


@pytest.mark.parametrize("name", SEVERAL)
def test_a_distribution_beside_the_one_that_the_toolkit_obeys_is_told(name: str):
    document, flag, severity = SEVERAL[name]
    (problem,) = told(document, rule="distribution-several")
    assert (problem.path, problem.severity) == (f"{HYPER}.{flag}", severity)


@pytest.mark.parametrize("flags", [(MPI,), (TORCHRUN,), (MPI, {next(iter(SERVERS)): "false"})])
def test_one_distribution_is_none_too_many(flags: tuple[dict[str, str], ...]):
    assert told(request(TENSORFLOW, *flags), rule="distribution-several") == []


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("sagemaker_mpi_num_processes_per_host", EACH),
        ("sagemaker_mpi_num_of_process_per_host", EACH),
        ("sagemaker_mpi_enable", "sagemaker_mpi_enabled"),
        ("sagemaker_torch_distributed_enable", next(iter(TORCHRUN))),
        ("sagemaker_MPI_enabled", "sagemaker_mpi_enabled"),
        ("sagemaker_mpi_hosts", ""),
    ],
)
def test_a_key_that_is_nearly_the_toolkits_is_a_warning(key: str, meant: str):
    (problem,) = told(request(TENSORFLOW, MPI, {key: "4"}), rule="distribution-key")
    assert (problem.path, problem.severity) == (f"{HYPER}.{key}", "warning")
    assert problem.fix == (f"did you mean {meant}?" if meant else "")


@pytest.mark.parametrize(
    "key",
    [
        "sagemaker_distributed_dataparallel_custom_mpi_options",
        "sagemaker_instance_type",
        "sagemaker_parameter_count",
        "sagemaker_job_name",
        "mpi_num_processes",
        "my_sagemaker_mpi_enable",
    ],
)
def test_other_keys_are_the_scripts_own_or_anothers(key: str):
    assert told(request(TENSORFLOW, MPI, {key: "4"}), rule="distribution-key") == []


def test_a_count_without_quotes_is_told_as_that_alone():
    document = request(TENSORFLOW)
    document["HyperParameters"] |= {"sagemaker_mpi_enabled": True, EACH: 4}
    assert start_of(document).ranks == 8
    assert {one.rule for one in errors(check(document))} == {"model-type"}


@pytest.mark.parametrize("count", [-1, "9" * 5000])
def test_hosts_that_are_no_count_make_no_world(count: object):
    document = request(TENSORFLOW, MPI, FOUR)
    document["ResourceConfig"]["InstanceCount"] = count
    assert start_of(document).ranks is None
    assert errors(check(document))


def test_a_count_of_more_digits_than_an_integer_may_have_is_no_count():
    document = request(TENSORFLOW, MPI, {EACH: "9" * 5000})
    assert start_of(document).ranks is None
    assert [one.path for one in told(document, rule="mpi-processes")] == [f"{HYPER}.{EACH}"]


def test_no_machines_at_all_are_told_as_one_that_is_missing():
    document = request(TENSORFLOW, MPI)
    document["ResourceConfig"] = {}
    missing = {one.path for one in told(document, rule="instances")}
    assert missing == {f"$.ResourceConfig.Instance{name}" for name in ("Type", "Count")}


def test_an_image_of_pytorch_without_horovod_may_serve_torch_distributed():
    (problem,) = told(request(PYTORCH, MPI), rule="image-horovod")
    assert problem.severity == "warning"
    image = f"{REGISTRY}/tensorflow-training:2.16-gpu-py310"
    (problem,) = told(request(image, MPI), rule="image-horovod")
    assert problem.severity == "error"
