from __future__ import annotations

import importlib
import logging

import pytest

from launchers.core.model.problems import LaunchError
from launchers.sagemaker.tables import images, machines
from tests.refusals import refused

pytestmark = pytest.mark.processes

AWS = "763104351884.dkr.ecr.us-east-1.amazonaws.com"


def _machine(name: str) -> machines.Machine:
    entry = machines.machine(name)
    assert entry is not None
    return entry


def test_the_captured_requests_image_is_the_one_of_tensorflow_2_12() -> None:
    image = images.lookup("tensorflow-2.12", gpu=True, region="us-east-1")
    assert image.uri == f"{AWS}/tensorflow-training:2.12.0-gpu-py310"
    assert (image.horovod, image.python, image.cuda) == ("0.27.0", "3.10", "11.8")
    assert (image.refused, image.unfit) == ("", "")
    assert image.horovod_text == "Horovod 0.27.0"
    assert "past its end of patch" in image.end_of_patch_text


def _sdks_address(framework: str, image: images.Image, region: str) -> str:
    """What the real SageMaker SDK gives for the same version, Python, processor and region."""
    logging.getLogger("sagemaker").setLevel(logging.ERROR)
    address: str = importlib.import_module("sagemaker.image_uris").retrieve(
        framework,
        region,
        image.version,
        py_version=f"py{image.python.replace('.', '')}",
        instance_type="ml.g5.12xlarge" if image.processor == "gpu" else "ml.c5.4xlarge",
        image_scope="training",
    )
    return address


@pytest.mark.parametrize("framework", ["tensorflow", "pytorch"])
def test_addresses_are_those_of_the_sagemaker_sdk_for_every_version(framework: str) -> None:
    compared = 0
    for short in images.load()["aliases"][framework]:
        image = images.lookup(f"{framework}-{short}", compared % 2 == 0, "us-east-1")
        # Some older ones have several Pythons, among which the SDK wants a choice.
        if not image.refused:
            assert image.uri == _sdks_address(framework, image, "us-east-1")
            compared += 1
    assert compared >= 12


def test_addresses_are_those_of_the_sagemaker_sdk_in_every_region() -> None:
    missing = images.load()["images"]["tensorflow-2.12.0"]["not_in"]
    regions = set(images.load()["registries"]) - set(missing)
    assert len(regions) > 35
    for region in regions:
        image = images.lookup("tensorflow-2.12", True, region)
        assert image.uri == _sdks_address("tensorflow", image, region)
        assert not image.unfit


def test_a_region_that_lacks_a_version_is_a_problem() -> None:
    assert images.lookup("tensorflow-2.11", True, "us-iso-east-1").uri.endswith("-gpu-py39")
    with refused("image-region", "us-iso-east-1"):
        images.lookup("tensorflow-2.12", True, "us-iso-east-1")


# Read from AWS's Dockerfiles at their release tags.
HOROVOD = [
    ("tensorflow-2.4", True, "0.21.0"),
    ("tensorflow-2.5", True, "0.21.1"),
    ("tensorflow-2.6", True, "0.22.1"),
    ("tensorflow-2.7", True, "0.23.0"),
    ("tensorflow-2.8.0", True, "0.23.0"),
    ("tensorflow-2.8.3", True, "0.25.0"),
    ("tensorflow-2.9", True, "0.24.2"),
    ("tensorflow-2.10", True, "0.25.0"),
    ("tensorflow-2.11", True, "0.26.1"),
    ("tensorflow-2.12", True, "0.27.0"),
    ("tensorflow-2.12", False, "0.27.0"),
    ("tensorflow-2.13", True, None),
    ("tensorflow-2.14", False, None),
    ("tensorflow-2.16", True, None),
    ("tensorflow-2.18", True, None),
    ("tensorflow-2.19", True, None),
    ("tensorflow-2.21", True, None),
    ("pytorch-1.4", True, "0.16.4"),
    ("pytorch-1.13", True, "0.26.1"),
    ("pytorch-1.13", False, None),
    ("pytorch-2.0.0", True, "0.26.1"),
    ("pytorch-2.0", True, None),
    ("pytorch-2.8", True, None),
    ("pytorch-2.11", True, None),
]


@pytest.mark.parametrize(("framework", "gpu", "horovod"), HOROVOD)
def test_each_image_has_the_horovod_of_its_dockerfile(
    framework: str, gpu: bool, horovod: str | None
) -> None:
    image = images.lookup(framework, gpu, "eu-west-1")
    assert image.horovod == horovod
    assert image.horovod_text == (f"Horovod {horovod}" if horovod else "no Horovod")


@pytest.mark.parametrize(
    ("framework", "python"),
    [("tensorflow-2.4", "3.7"), ("tensorflow-2.5", "3.7"), ("tensorflow-1.15", "3.7")]
    + [(f"pytorch-1.{minor}", "3.6") for minor in range(4, 9)],
)
def test_an_image_below_the_guards_python_is_listed_and_refused(
    framework: str, python: str
) -> None:
    image = images.lookup(framework, True, "us-east-1")
    assert image.refused == f"Python {python}, and the guard needs 3.8 or later"


def test_the_images_with_horovod_can_run_the_guard_and_begin_with_the_newest() -> None:
    names = [f"{image.framework}-{image.version}" for image in images.with_horovod()]
    assert names[0] == "tensorflow-2.12.0"
    assert names == [
        *[
            f"tensorflow-2.{minor}"
            for minor in ("12.0", "11.0", "10.1", "9.2", "8.0", "7.1", "6.3")
        ],
        *[f"pytorch-{version}" for version in ("2.0.0", "1.13.1", "1.12.1", "1.11.0", "1.10.2")],
        "pytorch-1.9.1",
    ]
    for image in images.with_horovod():
        assert images.lookup(f"{image.framework}-{image.version}", True, "us-east-1") == image
    assert {image.framework for image in images.with_horovod("pytorch")} == {"pytorch"}


TAGS = [
    "tensorflow-training:2.12.0-gpu-py310",
    "tensorflow-training:2.12.0-gpu-py310-cu118-ubuntu20.04-sagemaker",
    "tensorflow-training:2.12.0-gpu-py310-cu118-ubuntu20.04-sagemaker-v1.4-2024-02-05-15-34-49",
    "tensorflow-training:2.12-gpu-py310-cu118-ubuntu20.04-sagemaker-v1",
    "tensorflow-training:2.12-gpu",
    f"tensorflow-training:2.12.0-gpu-py310@sha256:{'0' * 64}",
]


@pytest.mark.parametrize("tag", TAGS)
def test_every_form_of_tag_is_recognised(tag: str) -> None:
    image = images.parse(f"{AWS}/{tag}")
    assert image is not None
    assert image.framework == "tensorflow"
    assert (image.processor, image.python, image.cuda) == ("gpu", "3.10", "11.8")
    assert image.horovod == "0.27.0"


# address, framework, processor, Python, CUDA, Horovod
OTHERS = [
    (f"{AWS}/pytorch:2.11.0-cu130-amzn2023-sagemaker", "pytorch", "gpu", "3.12", "13.0", None),
    (f"{AWS}/pytorch:2.11.0-cpu-amzn2023-sagemaker", "pytorch", "cpu", "3.12", "", None),
    (
        f"{AWS}/huggingface-pytorch-training:1.13.1-transformers4.26.0-gpu-py39-cu117-ubuntu20.04",
        "huggingface-pytorch-training",
        "gpu",
        "3.9",
        "11.7",
        "",
    ),
    (f"{AWS}/mxnet-training:1.9.0-gpu-py38", "mxnet-training", "gpu", "3.8", "", ""),
    (f"{AWS}/tensorflow-training:2.99.0-gpu-py310", "tensorflow", "gpu", "3.10", "", ""),
    (f"{AWS}/tensorflow-training@sha256:{'0' * 64}", "tensorflow", "", "", "", ""),
    (
        "727897471807.dkr.ecr.cn-north-1.amazonaws.com.cn/tensorflow-training:2.11.0-cpu-py39",
        "tensorflow",
        "cpu",
        "3.9",
        "",
        "0.26.1",
    ),
    (
        "520713654638.dkr.ecr.us-east-1.amazonaws.com/sagemaker-tensorflow-scriptmode:1.12-gpu-py3",
        "sagemaker-tensorflow-scriptmode",
        "gpu",
        "",
        "",
        "",
    ),
    (
        "public.ecr.aws/deep-learning-containers/tensorflow-training:2.19.0-gpu-py312-sagemaker",
        "tensorflow",
        "gpu",
        "3.12",
        "12.5",
        None,
    ),
]


@pytest.mark.parametrize("case", OTHERS, ids=[case[0].rsplit("/", 1)[1][:60] for case in OTHERS])
def test_other_images_of_aws_are_recognised(case: tuple[object, ...]) -> None:
    uri, *expected = case
    image = images.parse(str(uri))
    assert image is not None
    assert [
        image.framework,
        image.processor,
        image.python,
        image.cuda,
        image.horovod,
    ] == expected


@pytest.mark.parametrize(
    "uri",
    [
        "123456789012.dkr.ecr.us-east-1.amazonaws.com/tensorflow-training:2.12.0-gpu-py310",
        "tensorflow/tensorflow:2.12.0-gpu",
        "docker.io/library/python",
        "europe-docker.pkg.dev/vertex-ai/training/tf-gpu.2-12.py310:latest",
        "",
    ],
)
def test_an_image_that_is_not_awss_own_is_not_recognised(uri: str) -> None:
    assert images.parse(uri) is None


@pytest.mark.parametrize(
    ("uri", "reason"),
    [
        (f"{AWS}/tensorflow-inference:2.12.0-gpu", "inference"),
        (f"{AWS}/tensorflow-training:2.12.0-gpu-py310-cu118-ubuntu20.04-ec2", "EC2"),
        (
            "763104351884.dkr.ecr.af-south-1.amazonaws.com/tensorflow-training:2.12.0-gpu-py310",
            "not AWS's registry in af-south-1, which is 626614931356",
        ),
    ],
)
def test_an_image_that_sagemaker_cannot_train_with_says_so(uri: str, reason: str) -> None:
    image = images.parse(uri)
    assert image is not None
    assert reason in image.unfit


@pytest.mark.parametrize(
    ("wanted", "region", "path", "text"),
    [
        ("tensorflow-2.1x", "us-east-1", "--framework", "did you mean tensorflow-2."),
        ("tensorflow-3.1", "us-east-1", "--framework", "tensorflow-2.12.0"),
        ("tensorflow", "us-east-1", "--framework", "those with Horovod: tensorflow-2.12.0"),
        ("tensorflow-", "us-east-1", "--framework", "tensorflow-2.12"),
        ("tensorflw-2.12", "us-east-1", "--framework", "did you mean tensorflow-2.12.0?"),
        ("mxnet-1.9", "us-east-1", "--framework", "those with Horovod"),
        ("tensorflow-2.12", "us-east-9", "--region", "did you mean us-east-"),
        ("tensorflow-2.12", "nowhere", "--region", "--image"),
    ],
)
def test_what_aws_does_not_have_is_a_problem_that_names_the_way_on(
    wanted: str, region: str, path: str, text: str
) -> None:
    with pytest.raises(LaunchError) as raised:
        images.lookup(wanted, True, region)
    (problem,) = raised.value.problems
    assert problem.path == path
    assert text in str(problem)


# image, machine, what the reason holds; None where the image can use the machine
PAIRS = [
    ("tensorflow-2.12", "ml.g4dn.12xlarge", None),
    ("tensorflow-2.12", "ml.p3.8xlarge", None),
    ("tensorflow-2.12", "ml.g5.12xlarge", None),
    ("tensorflow-2.12", "ml.g6e.12xlarge", None),
    ("tensorflow-2.12", "ml.p5.48xlarge", None),
    ("tensorflow-2.12", "ml.c5.4xlarge", None),
    ("tensorflow-2.12", "ml.g7.24xlarge", "CUDA 11.8 cannot drive Blackwell GPUs"),
    ("tensorflow-2.12", "ml.g7e.24xlarge", "need 12.8 or later"),
    ("tensorflow-2.12", "ml.p6-b200.48xlarge", "Blackwell"),
    ("tensorflow-2.12", "ml.p6-b300.48xlarge", "Blackwell"),
    ("tensorflow-2.12", "ml.p6e-gb200.36xlarge", "arm64"),
    ("tensorflow-2.11", "ml.p5.48xlarge", "CUDA 11.2 cannot drive Hopper GPUs"),
    ("tensorflow-2.11", "ml.g6.12xlarge", None),
    ("pytorch-2.10", "ml.p3.8xlarge", "whose last is 12.9"),
    ("pytorch-2.10", "ml.g7.24xlarge", None),
    ("tensorflow-2.16", "ml.p2.xlarge", "Kepler"),
]


@pytest.mark.parametrize(("framework", "name", "reason"), PAIRS)
def test_which_gpus_the_cuda_of_an_image_drives(
    framework: str, name: str, reason: str | None
) -> None:
    image = images.lookup(framework, True, "us-east-1")
    told = images.can_drive(image, _machine(name))
    assert (told is None) if reason is None else (told is not None and reason in told)


def test_a_cpu_image_does_not_use_gpus() -> None:
    image = images.lookup("tensorflow-2.12", gpu=False, region="us-east-1")
    assert "4 x A10G" in (images.can_drive(image, _machine("ml.g5.12xlarge")) or "")
    assert images.can_drive(image, _machine("ml.c5.4xlarge")) is None


def test_an_image_whose_cuda_is_not_known_is_given_the_benefit_of_the_doubt() -> None:
    image = images.parse(f"{AWS}/mxnet-training:1.9.0-gpu-py38")
    assert image is not None
    assert images.can_drive(image, _machine("ml.g7.24xlarge")) is None
