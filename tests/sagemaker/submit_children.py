"""Submits one job again and again, each time in a process of its own that costs next to nothing.

    python -m tests.sagemaker.submit_children ROLE BUCKET SCRIPT

Everything is imported and made ready once; a line on stdin forks a child that submits and does not
follow. The child's process id is printed before it begins, its exit status when it has ended
(-9 for one that was killed).
"""

from __future__ import annotations

import os
import sys
from dataclasses import replace

from launchers.core import pipeline
from launchers.core.job import JobSpec
from launchers.core.problems import LaunchError
from launchers.sagemaker.launcher import SageMakerProvider
from launchers.sagemaker.options import SageMakerOptions
from launchers.sagemaker.session import session_for


def main() -> None:
    """Serve lines until stdin ends; a line is the job's own argument, which makes it another."""
    role, bucket, script = sys.argv[1:]
    provider = SageMakerProvider()
    job = JobSpec(
        provider="sagemaker",
        script=script,
        instances=2,
        gpus=4,
        bucket=bucket,
        options=SageMakerOptions(role=role),
    )
    session = session_for("us-east-1")
    for service in ("sts", "iam", "s3", "service-quotas", "sagemaker", "logs", "cloudtrail"):
        session.client(service)
    session.client("sagemaker", attempts=1)
    pipeline.prepare(provider, job)
    for line in sys.stdin:
        argument = line.strip()
        start_read, start_write = os.pipe()
        child = os.fork()
        if child == 0:
            os.read(start_read, 1)
            os._exit(submit(provider, replace(job, arguments=("--seed", argument))))
        print(child, flush=True)
        os.write(start_write, b"!")
        _, status = os.waitpid(child, 0)
        os.close(start_read)
        os.close(start_write)
        print(os.waitstatus_to_exitcode(status), flush=True)


def submit(provider: SageMakerProvider, job: JobSpec) -> int:
    """As the command does it, without following."""
    try:
        prepared = pipeline.prepare(provider, pipeline.resolve(provider, job), online=True)
        if prepared.run.standing is None:
            pipeline.submit(provider, prepared)
    except LaunchError as error:
        print(error, file=sys.stderr, flush=True)
        return error.exit_code
    return 0


if __name__ == "__main__":
    main()
