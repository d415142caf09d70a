"""The table of public Horovod scripts, as docs/compatibility.md has it."""

from __future__ import annotations

from tests.compat import page, table
from tests.compat.jobs import Outcome
from tests.compat.manifest import AS_IS, NOT_BROADCAST, UNWRAPPED, load

WORLD = "world size 2: 2 hosts x 1 rank, Gloo; "
OUTCOMES = {
    AS_IS: Outcome("succeeded", f"{WORLD}gradients exchanged, weights equal", 1.0, ""),
    UNWRAPPED: Outcome("failed", "2 ranks trained apart: no gradient and no weight went", 1.0, ""),
    NOT_BROADCAST: Outcome(
        "failed", "gradients were exchanged, but the weights differ at the end (w: 1)", 1.0, ""
    ),
}


def rows(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("| ") and "`" in line]


def test_a_scripts_row_has_its_outcomes_in_the_words_of_the_key():
    script = next(one for one in load() if set(one.expect) == set(OUTCOMES) and not one.note)
    results = table.Results()
    for variant, outcome in OUTCOMES.items():
        results.add(script, variant, outcome)

    text = table.text(results, ["tensorflow 2.18.1"])

    (row,) = rows(text)
    assert row == (
        f"| {script.repository} | `{script.path}` | {script.commit[:7]} | succeeded "
        "| failed: trained apart | failed: weights differ |  |"
    )
    assert row in page.DOCS.read_text()
    assert text.splitlines()[-1] == "Good ones passed: 1 of 1. Apart ones caught: 2 of 2."


def test_what_is_no_common_outcome_keeps_its_words():
    script = next(one for one in load() if set(one.expect) == {AS_IS})
    results = table.Results()
    results.add(script, AS_IS, Outcome("succeeded", f"{WORLD}no training seen", 1.0, ""))

    (row,) = rows(table.text(results, []))

    assert "| succeeded: no training seen | - | - |" in row


def test_the_page_has_a_row_of_each_script():
    part = page.DOCS.read_text().partition(table.BEGIN)[2].partition(table.END)[0]
    assert len(rows(part)) == len(list(load()))
