"""A training job's page in the AWS Management Console."""

from __future__ import annotations

from urllib.parse import quote

from launchers.sagemaker.rules.places import partition

# The consoles' addresses: AWS Sign-In User Guide (console.aws.amazon.com), "Getting Started with
# Amazon Web Services in China" (console.amazonaws.cn), AWS GovCloud (US) User Guide
# (console.amazonaws-us-gov.com); 2026-11-23. Other partitions have none that is public.
_CONSOLES = {
    "aws": "console.aws.amazon.com",
    "aws-cn": "console.amazonaws.cn",
    "aws-us-gov": "console.amazonaws-us-gov.com",
}


def job_link(region: str, name: str) -> str:
    """Where a browser shows the job; empty in a partition whose console is not known.

    Example:
        >>> job_link("cn-north-1", "train-1")
        'https://console.amazonaws.cn/sagemaker/home?region=cn-north-1#/jobs/train-1'
    """
    console = _CONSOLES.get(partition(region), "")
    return (
        f"https://{console}/sagemaker/home?region={region}#/jobs/{quote(name)}" if console else ""
    )
