"""Made-up studies with the shapes of real ones, for the tests of the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import exp
from random import Random

from launchers.scaling.measures import filled
from launchers.scaling.results import Epoch, Row, Run, Size, Study

# What a page would be harmed by, were it not written as text; a run's reason is the job's own.
HOSTILE = (
    "</script><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"
    "<svg onload=alert(1)> & \"quoted\" 'single' {{ 7*7 }} $x_{1}^$ \x1b[31mred\x00 \u202egnp.exe "
    "]]> --> style=position:fixed \ud800 end"
)
COMMAND = (
    "launch scaling local train_image_classifier.py --processes 1,2,4 --repeat 3 "
    "--compare lr-scaling=none,linear -- --epochs 8 --batch-size 128 --validate"
)
STATES = {"failed": "rank 3 on host 1 failed first: ResourceExhaustedError: OOM when allocating"}


def run(
    world: int,
    repeat: int = 1,
    epoch_seconds: float | None = 10.0,
    accuracies: Sequence[float | None] = (0.80, 0.84, 0.86),
    variant: tuple[tuple[str, str], ...] = (),
    state: str = "succeeded",
    **more,
) -> Run:
    """One run; ``accuracies`` are of validation, an epoch each."""
    epochs = tuple(
        Epoch(
            number,
            None if epoch_seconds is None else round(2 + number * epoch_seconds, 3),
            None if epoch_seconds is None else 60_000 / epoch_seconds,
            1.1 / number,
            None if accuracy is None else accuracy + 0.02,
            None if accuracy is None else 1.2 - accuracy,
            accuracy,
        )
        for number, accuracy in enumerate(accuracies, 1)
    )
    if state != "succeeded":
        more.setdefault("reason", STATES.get(state, ""))
    name = f"train-0a1b2c3d-{world}{repeat}"
    values = {"job": name, "epochs": epochs, "state": state} | more
    return Run(Size(1, world, None, variant), repeat, world, **values)


def row(world: int, *runs: Run) -> Row:
    return Row(runs[0].size, world, runs)


def study(*rows: Row, **more) -> Study:
    values = {
        "name": "fashion",
        "command": COMMAND,
        "provider": "local",
        "machine": "AMD EPYC 7R13, 2 cores",
        "begun": "2026-11-23T14:05:11.000Z",
        "batch": "total",
        "load": (0.0, 0.1),
        "cores": 2,
    }
    return Study(rows=filled(rows), **(values | more))


def times(
    seconds: Mapping[int, Sequence[float]],
    accuracies: Mapping[int, Sequence[float]] | None = None,
    **more,
) -> Study:
    """A study of some sizes: seconds an epoch of each repeat, and the accuracy at its end."""
    ends = accuracies or {}
    rows = []
    for world, each in seconds.items():
        lasts = ends.get(world, [0.86] * len(each))
        rows.append(
            row(
                world,
                *(
                    run(world, repeat, second, (last - 0.05, last - 0.01, last))
                    for repeat, (second, last) in enumerate(zip(each, lasts, strict=True), 1)
                ),
            )
        )
    return study(*rows, **more)


def steps(seconds: Mapping[int, Sequence[float]]) -> Study:
    """The same number of steps at every size, each rank with a batch of its own."""
    rows = []
    for one in times(seconds).rows:
        runs = []
        for each in one.runs:
            epochs = tuple(
                replace(epoch, images_per_second=(epoch.images_per_second or 0) * one.world_size)
                for epoch in each.epochs
            )
            runs.append(replace(each, epochs=epochs))
        rows.append(row(one.world_size, *runs))
    return study(*rows)


def learning(final: float, epochs: int, slow: float, chance: Random) -> list[float]:
    """Accuracies that rise to about ``final``."""
    rises = (final - 0.3 * exp(-number / slow) for number in range(1, epochs + 1))
    return [round(rise + chance.gauss(0, 0.0015), 4) for rise in rises]


def compared() -> Study:
    """Two values, four sizes, three repeats; a run and a whole size failed."""
    rows, chance = [], Random(3)
    for value, loss in (("none", 0.011), ("linear", 0.0)):
        variant = (("lr-scaling", value),)
        for index, (world, seconds) in enumerate(((1, 24.0), (2, 13.6), (4, 13.9))):
            runs = []
            for repeat in (1, 2, 3):
                final = 0.905 - index * loss + chance.gauss(0, 0.001)
                shares = learning(final, 8, 1.6 + 0.3 * index, chance)
                failed = value == "linear" and world == 4 and repeat == 2
                more = {"state": "failed"} if failed else {"test_accuracy": shares[-1]}
                times = seconds * chance.gauss(1, 0.02)
                shown = shares[:3] if failed else shares
                runs.append(run(world, repeat, times, shown, variant, **more))
            rows.append(row(world, *runs))
        lost = "8 ranks on 2 cores: host 1 lost"
        each = [run(8, one, None, (), variant, "failed", reason=lost) for one in (1, 2, 3)]
        rows.append(row(8, *each))
    return study(*rows, load=(0.1, 1.3))


def silent() -> Study:
    """A script of the user's own: images a second at most, and nothing else."""
    rates = {1: 900.0, 2: 1650.0, 4: 3100.0}
    return study(
        *(
            row(
                world,
                *(
                    Run(
                        Size(1, world), repeat, world, f"job-{world}-{repeat}", "succeeded",
                        epochs=(Epoch(1, images_per_second=rate * (1 + repeat / 100)),),
                    )
                    for repeat in (1, 2, 3)
                ),
            )
            for world, rate in rates.items()
        ),
        load=None,
        cores=None,
        provider="sagemaker",
        machine="ml.p3.8xlarge",
    )  # fmt: skip


def many() -> Study:
    """Twelve series: four values, three sizes, three repeats, costs."""
    rows, chance = [], Random(5)
    for place, value in enumerate(("allreduce", "adasum", "average:epoch", "average:10")):
        variant = (("sync", value),)
        for world, seconds in ((1, 120.0), (2, 66.0 + place), (4, 36.0 + 2 * place)):
            runs = []
            for repeat in (1, 2, 3):
                shares = learning(0.9 - 0.01 * place, 12, 1 + 0.4 * world, chance)
                times = seconds * chance.gauss(1, 0.01)
                cost = times * 12 * world / 3600 * 3.06
                runs.append(run(world, repeat, times, shares, variant, cost=cost))
            rows.append(row(world, *runs))
    return study(
        *rows, load=None, cores=None, provider="vertex", machine="n1-standard-8, NVIDIA_TESLA_T4"
    )


def hostile() -> Study:
    """Everything that a study takes from others is harmful."""
    variant = (("sync", HOSTILE),)
    rows = [
        row(1, run(1, 1, variant=variant), run(1, 2, variant=variant)),
        row(2, run(2, 1, 6.0, variant=variant), run(2, 2, 6.1, variant=variant)),
        row(4, run(4, 1, None, (), variant, HOSTILE, job=HOSTILE, reason=HOSTILE)),
        row(8, run(8, 1, None, (), variant, "failed", job="x" * 5000, reason="y" * 5000)),
    ]
    return study(
        *rows, name=HOSTILE, command=HOSTILE, machine=HOSTILE, provider=HOSTILE, begun=HOSTILE,
        batch=HOSTILE, changed=(HOSTILE,),
    )  # fmt: skip


STUDIES = {
    "compared": compared,
    "silent": silent,
    "many": many,
    "hostile": hostile,
}
