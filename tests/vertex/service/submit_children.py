"""Forks submissions to Vertex AI (see :mod:`tests.submit_children`).

python -m tests.vertex.service.submit_children IMAGE SCRIPT
"""

from __future__ import annotations

import sys

import google.auth
from google.cloud import aiplatform_v1, storage

from launchers.core.spec.job import JobSpec
from launchers.vertex.launcher import VERTEX
from launchers.vertex.options import VertexOptions
from launchers.vertex.service import custom_job, preflight, resolve, upload
from tests.submit_children import serve

# What a submission imports on use; a child finds it imported.
IMPORTED = (aiplatform_v1, storage, google.auth, preflight, resolve, custom_job, upload)


def main() -> None:
    """Serve submissions of one job."""
    image, script = sys.argv[1:]
    job = JobSpec(
        provider="vertex",
        script=script,
        instances=2,
        gpus=4,
        image=image,
        options=VertexOptions(),
    )
    serve(VERTEX, job)


if __name__ == "__main__":
    main()
