"""The guard: one process a rank, in which the user's script runs as if Python had started it.

    python guard.py SCRIPT|-m MODULE [ARGUMENTS...]

It asserts the world size before the script's first line and when ``hvd.init()`` returns, leaves
the rank its own GPU, and lets no rank end well that never was one. Under launch's agent, mpirun
(on SageMaker it is the program of the job) or horovodrun; see launch_runtime/rank/.
"""

from __future__ import annotations

import os
import sys

ENTRYPOINTS = os.path.dirname(os.path.abspath(__file__))
# In the place of the script's folder, or of what `python -m mpi4py guard.py` has put there.
sys.path[: 0 if getattr(sys.flags, "safe_path", False) else 1] = [ENTRYPOINTS]

from launch_runtime.rank.guard import main  # noqa: E402

if __name__ == "__main__":
    main(sys.argv[1:], ENTRYPOINTS)
