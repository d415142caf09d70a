"""The link to a training job's page."""

from __future__ import annotations

import pytest

from launchers.sagemaker.service.console import job_link


@pytest.mark.parametrize(
    ("region", "link"),
    [
        ("eu-west-1", "https://console.aws.amazon.com/sagemaker/home?region=eu-west-1#/jobs/t-1"),
        ("cn-north-1", "https://console.amazonaws.cn/sagemaker/home?region=cn-north-1#/jobs/t-1"),
        (
            "us-gov-west-1",
            "https://console.amazonaws-us-gov.com/sagemaker/home?region=us-gov-west-1#/jobs/t-1",
        ),
        ("us-iso-east-1", ""),
    ],
)
def test_each_partition_has_its_own_console(region: str, link: str):
    assert job_link(region, "t-1") == link
