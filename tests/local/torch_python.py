"""The Python with PyTorch that real ranks of it run in: Debian's own (Gloo, DDP alone)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

PYTHON = Path("/usr/bin/python3")
_PACKAGE = Path("/usr/lib/python3/dist-packages/torch/__init__.py")


def need_torch() -> None:
    """Skips the test where there is no PyTorch; fails it in CI, which installs one."""
    if PYTHON.exists() and _PACKAGE.exists():
        return
    if os.environ.get("CI"):
        pytest.fail("no PyTorch for /usr/bin/python3: apt-get install python3-torch")
    pytest.skip("no PyTorch for /usr/bin/python3 (Debian: apt-get install python3-torch)")
