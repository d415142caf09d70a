"""Our train_lightning.py, as it is."""

import runpy

import gpu_toy  # noqa: F401 - gives each rank a host of its own

runpy.run_path("train_lightning.py", run_name="__main__")
