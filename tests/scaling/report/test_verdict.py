"""The sentences say what the figures bear, and claim no more."""

from __future__ import annotations

from dataclasses import replace

import pytest

from launchers.scaling.report.verdict import verdict
from tests.scaling.report.studies import compared, hostile, row, run, silent, steps, study, times

LOADED = "Other programs kept up to 1.3 of 2 cores busy when runs began"
# name, study, what one sentence begins with and what that sentence must hold, what none may hold
CASES = [
    (
        "faster at the same accuracy",
        times({1: [10.0, 10.2, 10.4], 2: [6.0, 6.1, 6.2]}),
        "2 ranks:",
        ["1.7 x faster than 1 rank (1.67 to 1.68, 3 runs)", "efficiency 84 %",
         "accuracy within noise (0.8600 against 0.8600)"],
        ["seems", "lower", "higher"],
    ),
    (
        "no faster on 2 cores",
        times({1: [10.0, 10.2, 10.4], 4: [9.9, 10.3, 10.5]}),
        "4 ranks on 2 cores:",
        ["not clearly faster than 1 rank (0.99 to 1.01, 3 runs, within noise)"],
        [" x faster", "slower", "Fastest"],
    ),
    (
        "slower",
        times({1: [10.0, 10.2, 10.4], 4: [20.0, 20.6, 21.0]}),
        "4 ranks on 2 cores:",
        ["slower than 1 rank: 0.50 x its speed (0.50 to 0.50, 3 runs)"],
        [" x faster", "Fastest"],
    ),
    (
        "every pair says faster and yet the ranges overlap",
        times({1: [10.0, 11.0, 12.0], 2: [9.5, 10.5, 11.5]}),
        "2 ranks:",
        ["not clearly faster than 1 rank (1.04 to 1.05, 3 runs, within noise)"],
        [" x faster", "Fastest"],
    ),
    (
        "the same steps of larger batches are compared by images a second, which is said",
        steps({1: [10.0, 10.2, 10.4], 2: [10.1, 10.2, 10.3]}),
        "Compared by images a second, since an epoch is not the same work",
        ["with 2 ranks 2.0 x the images of one with 1 rank."],
        ["No larger size", "not clearly faster", "with 1 rank 1"],
    ),
    (
        "the same steps of larger batches are faster by images a second",
        steps({1: [10.0, 10.2, 10.4], 2: [10.1, 10.2, 10.3]}),
        "2 ranks:",
        ["2.0 x faster than 1 rank"],
        [],
    ),
    (
        "epochs of hundredths of a second are compared by images, and that is said",
        times({1: [0.10, 0.10, 0.10], 2: [0.05, 0.05, 0.05]}),
        "Compared by images a second, since an epoch is too short for its time",
        ["which is told in hundredths."],
        ["not the same work"],
    ),
    (
        "files that changed while the study ran",
        times({1: [10.0], 2: [5.0]}, changed=("config.json", "vocab.txt")),
        "Changed while the study ran: config.json and vocab.txt;",
        ["runs that read them are not alike"],
        ["Compared by images"],
    ),
    (
        "one run tells nothing, however far apart",
        times({1: [10.0], 2: [1.0]}, {1: [0.9], 2: [0.5]}),
        "2 ranks:",
        ["10.0 x the speed of 1 rank in one run, which can't tell it from chance",
         "accuracy 0.5000 against 0.9000, which one run can't tell from chance"],
        ["faster", "lower", "sooner", "Fastest"],
    ),
    (
        "one run a size asks for more",
        times({1: [10.0], 2: [1.0]}),
        "One run a size can't tell a difference from chance:",
        ["repeat each size three times or more"],
        [],
    ),
    (
        "two runs seem",
        times({1: [10.0, 10.1], 2: [5.0, 5.1]}, {1: [0.9, 0.9], 2: [0.8, 0.8]}),
        "2 ranks:",
        ["seems 2.0 x faster than 1 rank (1.98 to 2.00, only 2 runs)",
         "accuracy seems lower by 0.1000 (0.1000 to 0.1000, only 2 runs)"],
        ["Fastest"],
    ),
    (
        "accuracy lost",
        times({1: [10.0, 10.2, 10.4], 2: [5.0, 5.1, 5.2]},
              {1: [0.90, 0.901, 0.902], 2: [0.88, 0.884, 0.885]}),
        "2 ranks:",
        ["2.0 x faster", "accuracy lower by 0.0170 (0.0170 to 0.0200, 3 runs)"],
        ["Fastest"],
    ),
    (
        "accuracy won",
        times({1: [10.0, 10.2, 10.4], 2: [5.0, 5.1, 5.2]},
              {1: [0.88, 0.884, 0.885], 2: [0.90, 0.901, 0.902]}),
        "2 ranks:",
        ["accuracy higher by 0.0170 (0.0170 to 0.0200, 3 runs)"],
        ["lower"],
    ),
    (
        "accuracies that overlap are noise though the medians differ",
        times({1: [10.0, 10.2, 10.4], 2: [5.0, 5.1, 5.2]},
              {1: [0.90, 0.91, 0.92], 2: [0.85, 0.86, 0.901]}),
        "2 ranks:",
        ["accuracy within noise (0.8600 against 0.9100)"],
        ["lower", "higher"],
    ),
    (
        "a larger size is measured against the one before it too",
        times({1: [10.0, 10.2, 10.4], 2: [6.0, 6.1, 6.2], 4: [5.9, 6.1, 6.3]}),
        "4 ranks on 2 cores:",
        ["1.7 x faster than 1 rank", "not clearly faster than 2 ranks (0.98 to 1.02, 3 runs"],
        [],
    ),
    (
        "the smallest of sizes as fast as each other is the one to take",
        times({1: [10.0, 10.2, 10.4], 2: [6.0, 6.1, 6.2], 4: [5.9, 6.1, 6.3]}),
        "Fastest without a clear loss of accuracy:",
        ["2 ranks, 1.7 x faster than 1 rank"],
        [],
    ),
    (
        "sooner at an accuracy that both reached",
        times({1: [10.0, 10.2, 10.4], 2: [6.0, 6.1, 6.2]}),
        "2 ranks: reaches",
        ["reaches accuracy 0.860 after 20.3 s, 1 rank after 32.6 s: 1.6 x sooner", "(1.60 to 1.61"],
        ["as long"],
    ),
    (
        "the smallest size failed",
        study(row(1, run(1, state="failed", reason="no memory")),
              row(2, *(run(2, n, 10.0 + n / 10) for n in (1, 2, 3))),
              row(4, *(run(4, n, 5.0 + n / 10) for n in (1, 2, 3)))),
        "4 ranks on 2 cores:",
        ["x faster than 2 ranks"],
        ["than 1 rank"],
    ),
    (
        "a size that failed is named with its reasons",
        study(row(1, run(1)), row(2, run(2, 1, state="failed", reason="out of memory."),
                                  run(2, 2, state="timed out"), run(2, 3, state="running"))),
        "2 ranks:",
        ["no run succeeded, 1 failed, 1 timed out and 1 not ended (out of memory)"],
        [],
    ),
    (
        "runs that failed are left out of the figures",
        study(row(1, *(run(1, n, 10.0) for n in (1, 2, 3))),
              row(2, run(2, 1, 5.0), run(2, 2, 5.1), run(2, 3, 0.1, state="failed"))),
        "2 ranks: seems",
        ["seems 2.0 x faster than 1 rank (1.96 to 2.00, only 2 runs)"],
        [],
    ),
    (
        "a run that diverged counts and is named",
        study(row(1, run(1)), row(2, run(2, 1, 5.0, reason="the loss is no number"))),
        "2 ranks, run 1:",
        ["2 ranks, run 1: the loss is no number."],
        [],
    ),
    (
        "other programs had the cores",
        times({1: [10.0, 10.2, 10.4], 2: [6.0, 6.1, 6.2]}, load=(0.1, 1.3)),
        LOADED,
        ["times are less certain"],
        [],
    ),
    (
        "repeats that are all alike tell nothing of chance",
        times({1: [10.0, 10.2, 10.4], 2: [6.0, 6.1, 6.2]}, {1: [0.9] * 3, 2: [0.89] * 3}),
        "The repeats of each size have exactly the same accuracy",
        ["can't be told"],
        [],
    ),
    (
        "repeats that are all alike and differ nowhere need no doubt",
        times({1: [10.0, 10.2, 10.4], 2: [6.0, 6.1, 6.2]}),
        "2 ranks:",
        [],
        ["The repeats"],
    ),
    ("nothing said", silent(), "2 ranks:", ["accuracy unknown"], ["reaches", "core"]),
    (
        "nothing to compare",
        study(row(1, run(1))),
        "Only one size and no other value: nothing to compare.",
        [],
        ["faster"],
    ),
    ("no rows", study(), "Only one size and no other value: nothing to compare.", [], []),
    (
        "values of one size beside each other",
        compared(),
        "2 ranks, lr-scaling linear beside lr-scaling none:",
        ["accuracy higher by 0.0110", "neither clearly faster nor slower than lr-scaling none ("],
        [],
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("of", "begins", "holds", "nowhere"),
    [case[1:] for case in CASES],
    ids=[case[0] for case in CASES],
)
def test_the_verdict(of, begins, holds, nowhere):
    sentences = verdict(of)
    said = [sentence for sentence in sentences if sentence.startswith(begins)]
    assert said, sentences
    assert all(any(part in sentence for sentence in said) for part in holds), said
    assert not [part for part in nowhere if part in " ".join(sentences)], sentences


def test_little_load_is_not_spoken_of():
    assert not [s for s in verdict(times({1: [10.0], 2: [5.0]})) if "Other programs" in s]


def test_every_sentence_of_a_hostile_study_is_one_line_of_bounded_length():
    sentences = verdict(hostile())
    assert all(sentence.isprintable() and len(sentence) < 1500 for sentence in sentences)


def test_the_study_stays_as_it_was():
    before = compared()
    kept = replace(before)
    verdict(before)
    assert before == kept


def test_where_no_run_said_anything_it_is_told_what_to_print():
    quiet = study(
        row(1, run(1, epoch_seconds=None, accuracies=())),
        row(2, run(2, epoch_seconds=None, accuracies=())),
    )
    assert verdict(quiet)[0] == (
        "No two sizes said how fast they trained; `launch help scaling` shows the lines that a "
        "script prints for it."
    )
