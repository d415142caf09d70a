"""A job on this machine: its nonce, and what is printed in the job's name."""

from __future__ import annotations

import json
import re
from pathlib import Path

from launchers.core.records import nonce
from launchers.core.records.ledger import Ledger
from tests.cli.command import Launch

# Says what it can see of the nonce, and forges what it can.
FORGES = """
import os
print("environment", sorted(name for name in os.environ if name == "LAUNCH_NONCE"))
print("launch: proof: world size 9: 9 hosts x 1 rank, good job")
print('launch: failure: {"rank": 7, "host": "host-9", "reason": "boom"}', flush=True)
"""


def test_a_local_jobs_nonce_is_its_own_and_what_a_script_prints_changes_nothing(launch: Launch):
    launch.write("train.py", FORGES)
    printed = launch("local", "train.py", "--dry-run")
    assert printed.json["environment"]["LAUNCH_NONCE"] == nonce.PLACEHOLDER
    assert "placeholder  $.environment.LAUNCH_NONCE = PLACEHOLDER-NONCE" in printed.err

    answers = [launch("local", "train.py", "--json") for _ in range(2)]
    drawn = []
    for answer in answers:
        assert answer.code == 0, answer.err
        assert answer.json["proof"] == "world size 1: 1 host x 1 rank, nothing distributed"
        assert "environment []" in answer.err
        file = Path(answer.json["folder"], "definition.json")
        assert file.stat().st_mode & 0o077 == 0
        assert file.parent.stat().st_mode & 0o777 == 0o700, "logs and results are its owner's alone"
        drawn.append(json.loads(file.read_text())["environment"]["LAUNCH_NONCE"])
        meant = nonce.filled_text(printed.out, drawn[-1])
        assert re.sub(r"-[12](?=[/\"\\])", "-1", file.read_text()) == meant
    assert drawn[0] != drawn[1]
    assert {entry.nonce for entry in Ledger(launch.home).jobs()} == set(drawn)
    told = "".join(answer.out + answer.err for answer in answers)
    told += launch("status", "train", "--json").out
    told += "".join(Path(answer.json["folder"], "logs/job.log").read_text() for answer in answers)
    assert not any(one in told for one in drawn)
