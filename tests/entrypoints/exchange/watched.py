"""Puts the exchange's hooks in, for a script that runs next, whose records it prints: what a rank's
guard does, without guard and agent.

    python watched.py SCRIPT [ARGUMENTS...]
"""

from __future__ import annotations

import atexit
import json
import os
import runpy
import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parents[3] / "entrypoints")

from launch_runtime.rank.exchange import collector as exchange  # noqa: E402
from launch_runtime.rank.exchange import telling  # noqa: E402
from launch_runtime.rank.import_hook import when_imported  # noqa: E402
from launch_runtime.strategies.horovod import STRATEGY  # noqa: E402


def _print(record: dict) -> None:
    text = json.dumps({"rank": int(os.environ["HOROVOD_RANK"]), "record": record})
    os.write(1, b"\nRECORD " + text.encode() + b"\n")


def _watch_horovod(module: object) -> None:
    basics = module.HorovodBasics  # type: ignore[attr-defined]
    init, shutdown = basics.init, basics.shutdown

    def after_init(*args: object, **kwargs: object) -> None:
        init(*args, **kwargs)
        collector.world(telling.INITIALISED)

    def before_shutdown(*args: object, **kwargs: object) -> None:
        if args[0].is_initialized():  # type: ignore[attr-defined]
            collector.finish()
        shutdown(*args, **kwargs)
        collector.world(telling.SHUT_DOWN)

    basics.init, basics.shutdown = after_init, before_shutdown


collector = exchange.install(_print, STRATEGY.tables)
when_imported({"horovod.common.basics": _watch_horovod})
atexit.register(lambda: sys.stderr.write(f"WATCHED {collector.broken or 'well'}\n"))
atexit.register(collector.finish)
if __name__ == "__main__":
    sys.argv = sys.argv[1:]
    sys.path[0] = str(Path(sys.argv[0]).resolve().parent)
    runpy.run_path(sys.argv[0], run_name="__main__")
