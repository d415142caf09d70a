"""Forks submissions to SageMaker (see :mod:`tests.submit_children`).

python -m tests.sagemaker.service.submit_children ROLE BUCKET SCRIPT
"""

from __future__ import annotations

import sys

from launchers.core.spec.job import JobSpec
from launchers.sagemaker.launcher import SAGEMAKER
from launchers.sagemaker.options import SageMakerOptions
from launchers.sagemaker.service.session import session_for
from tests.submit_children import serve


def main() -> None:
    """Make every client, then serve."""
    role, bucket, script = sys.argv[1:]
    session = session_for("us-east-1")
    for service in ("sts", "iam", "s3", "service-quotas", "sagemaker", "logs", "cloudtrail"):
        session.client(service)
    session.client("sagemaker", attempts=1)
    job = JobSpec(
        provider="sagemaker",
        script=script,
        instances=2,
        gpus=4,
        bucket=bucket,
        options=SageMakerOptions(role=role),
    )
    serve(SAGEMAKER, job)


if __name__ == "__main__":
    main()
