"""What a container of a rehearsal does before its program: it waits for the cluster's master, and
unpacks the job's code. Then it becomes that program.

`python3 container_start.py [--await HOST:PORT] [--unpack ARCHIVE FOLDER] -- PROGRAM [WORDS...]`
runs by whatever Python the image has: 3.8, the standard library alone.
"""

from __future__ import annotations

import argparse
import os
import socket
import sys
import tarfile
import time

_PAUSE = 0.1  # seconds between two tries


def main(words: list[str]) -> None:
    """Do what ``words`` ask for, and run what stands behind ``--``. Never returns."""
    at = words.index("--")
    parser = argparse.ArgumentParser()
    parser.add_argument("--await", dest="address")
    parser.add_argument("--unpack", nargs=2)
    asked = parser.parse_args(words[:at])
    if asked.unpack:
        unpack(*asked.unpack)
    if asked.address:
        await_port(asked.address)
    program = words[at + 1 :]
    os.execvp(program[0], program)


def unpack(archive: str, folder: str) -> None:
    """The bundle's files, as a submission unpacks them for the driver."""
    with tarfile.open(archive) as packed:
        if hasattr(tarfile, "data_filter"):
            packed.extractall(folder, filter="data")
        else:
            packed.extractall(folder)


def await_port(address: str) -> None:
    """Blocks until somebody listens at ``HOST:PORT``; whoever waits for this container decides
    when that is too long."""
    host, _, port = address.rpartition(":")
    while True:
        try:
            socket.create_connection((host, int(port)), timeout=1.0).close()
            return
        except OSError:  # the name is not known before its container has started
            time.sleep(_PAUSE)


if __name__ == "__main__":
    main(sys.argv[1:])
