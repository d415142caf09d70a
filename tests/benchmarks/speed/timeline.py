"""timeline: where a step of two ranks spends its time, from Horovod's timeline of a job."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.benchmarks.measure import machine, print_table
from tests.benchmarks.speed import events, jobs, load, picture
from tests.benchmarks.speed.work import RANKS, Asked, write_pictures

WORDS = {
    events.COMPUTE: "nothing of Horovod's goes on: forward and backward pass, update, next batch",
    events.NEGOTIATE: "a gradient is ready and awaits the other rank's; both may compute",
    events.QUEUE: "all ranks have it; it waits for its turn",
    events.COPY: "into and out of the buffer in which small gradients travel together",
    events.EXCHANGE: "bytes go from rank to rank and are added up",
}


def run(asked: Asked) -> None:
    """Print the table and write the picture; blocks for a minute or more where a job is run.

    Raises:
        SystemExit: The timeline has too few steps.
    """
    if asked.read:
        text, title = asked.read.read_text(), asked.read.name
    else:
        with tempfile.TemporaryDirectory(prefix="launch-speed-") as name:
            text, title = _traced(asked, Path(name)), f"{asked.work.title}, {RANKS} ranks"
    found = events.steps(*events.spans(events.events(text)))
    kept = events.ordinary(found)
    if not kept:
        raise SystemExit(f"{title}: found {len(found)} steps of training; expected some.")
    means = events.means(kept)
    whole = sum(means.values())
    rows = [
        [part, words, f"{means[part]:.2f}", f"{100 * means[part] / whole:.1f} %"]
        for part, words in WORDS.items()
    ]
    print_table(
        f"Where a step's time goes on rank 0: {title}; mean of {len(kept)} of {len(found)} steps "
        f"(left out: the first tenth, and those {events.LONG:.0f} times as long as the middle one)",
        ["part", "what goes on", "ms a step", "share"],
        [*rows, ["step", "", f"{whole:.2f}", "100 %"]],
    )
    if asked.picture:
        middle = sorted(kept, key=lambda step: step.took)[len(kept) // 2]
        asked.picture.write_text(picture.drawn(means, middle, title, machine()))


def _traced(asked: Asked, folder: Path) -> str:
    work, data, timeline = asked.work, folder / "data", folder / "timeline.json"
    write_pictures(data, work.pictures)
    others = load.others()
    print(f"Other work in the second before the run: {others:.2f} cores.", flush=True)
    flags = ["--env", f"HOROVOD_TIMELINE={timeline}"]
    jobs.metrics_of(jobs.launched(folder / "job", RANKS, work.arguments(data), flags))
    return timeline.read_text()
