"""Converts class folders of pictures into Parquet that training reads fast.

    python convert_images.py IMAGES OUT                          bytes as they are, all in train
    python convert_images.py IMAGES OUT --split 0.7,0.2,0.1 --seed 13 --size 224 --engine dask
    python convert_images.py s3://bucket/images gs://bucket/out  object stores, by pyarrow

IMAGES has a folder a class. A start after an interruption goes on and ends with the same files.
``--help`` lists the options. `launch data parquet` starts it.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
from typing import NoReturn, Sequence

from lib.conversion import events, options, run
from lib.errors import TrainingError

EXIT_FAILED, EXIT_BAD_REQUEST, EXIT_INTERRUPTED = 1, 2, 130


def main(argv: Sequence[str] | None = None) -> int:
    """The process's exit code: 0, 1 after one line that says why, 130 after an interruption."""
    given = options.parse(argv, _Parser)
    say = events.speaker(given.json)
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _interrupt)
    if given.until_stdin_ends:
        threading.Thread(target=_end_with_stdin, daemon=True).start()
    try:
        run.convert(given, say)
    except TrainingError as error:
        say({"event": "error", "message": str(error), "interrupted": False})
        return EXIT_FAILED
    except KeyboardInterrupt:
        message = "interrupted; what is done is kept: run the same command to resume"
        say({"event": "error", "message": message, "interrupted": True})
        return EXIT_INTERRUPTED
    except BrokenPipeError:  # nobody reads any more: end as a pipe's writer does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_FAILED
    return 0


def _interrupt(number: int, frame: object) -> NoReturn:
    for ending in (signal.SIGINT, signal.SIGTERM):  # once is enough: what follows is clearing up
        signal.signal(ending, signal.SIG_IGN)
    raise KeyboardInterrupt


def _end_with_stdin() -> None:
    """Whoever holds the other end is gone: this process ends at once, and its workers with it."""
    while os.read(0, 4096):
        pass
    os.kill(os.getpid(), signal.SIGKILL)


class _Parser(argparse.ArgumentParser):
    """Says what is wrong as an event where events are asked for."""

    def error(self, message: str) -> NoReturn:
        if "json" in sys.argv or "--events=json" in sys.argv:
            events.speaker(True)({"event": "error", "message": message, "interrupted": False})
        else:
            print(f"{self.prog}: error: {message}", file=sys.stderr)
        sys.exit(EXIT_BAD_REQUEST)


if __name__ == "__main__":
    sys.exit(main())
