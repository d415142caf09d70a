"""What has to be installed before anything asks Google Cloud."""

from __future__ import annotations

from launchers.core.extras import Extra

SDK = Extra(
    "gcp",
    {
        "google-cloud-aiplatform": "google.cloud.aiplatform",
        "google-cloud-storage": "google.cloud.storage",
    },
)
