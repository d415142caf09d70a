"""The program that is a host's own Dask cluster (dask_cluster.py starts it): prints its address.

    python dask_host.py WORKERS

A scheduler and so many workers of one thread, on loopback. It ends when its standard input does.
"""

from __future__ import annotations

import signal
import sys

# Dask's own workers give freed memory back at 64 KiB, so that the system has to clear each
# picture's again.
_KEPT = {
    "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": 64 << 20,
    "distributed.nanny.pre-spawn-environ.MALLOC_MMAP_THRESHOLD_": 32 << 20,
}


def main(workers: int) -> None:
    """Runs a cluster until standard input ends."""
    import dask
    import distributed

    dask.config.set(_KEPT)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with distributed.LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        processes=True,
        host="127.0.0.1",
        dashboard_address=None,
        silence_logs=50,
    ) as cluster:
        print(cluster.scheduler_address, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main(int(sys.argv[1]))
