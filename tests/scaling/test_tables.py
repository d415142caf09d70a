"""A study as a table, JSON and CSV."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

from launchers.scaling.files import study_as_csv, study_as_json, write_results
from launchers.scaling.results import Size
from launchers.scaling.rows import study_of
from launchers.scaling.table import failures, study_table
from tests.cli import answers
from tests.scaling.made import record, run

EPOCHS = run().epochs
RUNS = (run(2), run(1), run(1, 2), run(2, 2, load=0.25), run(4, epochs=()), run(4, 2, "failed"))


def table(*runs: object) -> list[dict[str, str]]:
    columns, cells = study_table(study_of(record(*runs)).rows)  # type: ignore[arg-type]
    return [dict(zip(columns, row, strict=True)) for row in cells]


def test_a_row_is_a_size_with_its_spread_and_a_dash_for_what_nobody_said():
    one, two, four = table(*RUNS)

    assert [row["WORLD"] for row in (one, two, four)] == ["1", "2", "4"]
    assert (one["RUNS"], two["RUNS"], four["RUNS"]) == ("2/2", "2/2", "1/2")
    assert (two["SPEED-UP"], two["EFFICIENCY"]) == ("2.00", "1.00")
    assert four["S/EPOCH"] == four["SPEED-UP"] == four["VAL ACCURACY"] == "-"
    assert "COST" not in one
    assert "COMPARED" not in one


def test_a_spread_has_its_lowest_and_highest_behind_it():
    slow = replace(run(2, 3), epochs=tuple(replace(e, seconds=e.number * 2.5) for e in EPOCHS))
    (row,) = table(run(2), run(2, 2), slow)

    assert row["S/EPOCH"] == "1 (1-2.5)"


def test_what_is_compared_and_what_it_cost_have_their_columns():
    variants = [run(1, size=Size(1, 1, None, (("lr", name),)), cost=2.0) for name in "ab"]

    assert [row["COMPARED"] for row in table(*variants)] == ["lr=a", "lr=b"]
    assert {row["COST"] for row in table(*variants)} == {"2.00 USD"}
    assert [row["COST"] for row in table(run(cost=0.004))] == ["0.0040 USD"]


def test_every_run_that_did_not_succeed_is_named():
    found = failures(study_of(record(*RUNS, run(8, state="waiting"))).rows)

    assert [(row.world_size, one.state) for row, one in found] == [(4, "failed")]


def test_the_json_fits_its_schema():
    study = study_of(record(*RUNS))
    value = study_as_json(study, ["a sentence"], Path("/x"), [Path("/x/results.csv")])

    answers.fits("scaling", value)
    assert value["finished"] is True
    assert value["load"] == [0.25, 0.25]


def test_the_file_holds_what_is_answered_and_names_the_report(tmp_path: Path):
    value = write_results(study_of(record(*RUNS)), ["a"], tmp_path, [tmp_path / "report.html"])

    assert json.loads((tmp_path / "results.json").read_text()) == json.loads(json.dumps(value))
    named = [Path(path).name for path in value["files"]]
    assert named == ["results.json", "results.csv", "report.html"]


def test_the_csv_has_a_line_a_run_and_no_formula():
    study = study_of(record(*RUNS[:4], run(4, 2, "failed", reason="=HYPERLINK(1)")))

    rows = list(csv.DictReader(io.StringIO(study_as_csv(study))))

    assert [row["world_size"] for row in rows] == ["1", "1", "2", "2", "4"]
    assert rows[2]["speed_up"] == "2"
    assert rows[4]["reason"] == "'=HYPERLINK(1)"
    assert rows[4]["speed_up"] == ""


def test_what_is_compared_has_a_column_of_its_own_whatever_its_name():
    runs = [run(1, size=Size(1, 1, None, (("epochs", text),))) for text in ("-5", "-x")]

    rows = list(csv.DictReader(io.StringIO(study_as_csv(study_of(record(*runs))))))

    assert [row["compared epochs"] for row in rows] == ["-5", "'-x"]
    assert {row["epochs"] for row in rows} == {"2"}
