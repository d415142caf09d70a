"""HorovodRunner and MirroredStrategyRunner are found in scripts and notebooks of a source tree."""

from __future__ import annotations

import json

import pytest

from launchers.core.analysis.document_source import DocumentSource, with_source
from launchers.core.analysis.notebooks import read_notebook
from launchers.core.analysis.spark_runners import problems_of_runners
from launchers.core.model.jobs import Examined, JobDefinition
from launchers.core.source.texts import SourceTexts

RUNNER = "from sparkdl import HorovodRunner\n\ndef main():\n    pass\n\n"


def found(**files):
    contents = {name.replace("__", "."): text for name, text in files.items()}
    texts = {
        name: text if isinstance(text, bytes) else text.encode() for name, text in contents.items()
    }
    return problems_of_runners(SourceTexts(contents=texts))


def notebook(*cells, kind="code"):
    return json.dumps(
        {"nbformat": 4, "cells": [{"cell_type": kind, "source": list(cell)} for cell in cells]}
    )


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            "HorovodRunner(np=4).run(main)",
            ["np=4", "main once, alone in the driver", "--instances 4"],
        ),
        ("HorovodRunner(np=-2).run(main)", ["2 processes on the driver", "--processes 2"]),
        ("HorovodRunner(np=0).run(main)", ["np=0", "--instances N"]),
        ("HorovodRunner(np=workers).run(main)", ["alone in the driver", "--instances N"]),
        ("HorovodRunner(np=True).run(main)", ["--instances N"]),
        ("hr = HorovodRunner\nhr(np=3)", ["--instances 3"]),
    ],
)
def test_a_script_with_horovod_runner_is_named_with_what_it_does_and_the_line_to_use(call, words):
    (problem,) = found(train__py=RUNNER + call)
    assert (problem.rule, problem.severity) == ("spark-horovod-runner", "warning")
    assert problem.path.startswith("train.py:6") or problem.path == "train.py:7"
    assert "launch spark SCRIPT.py --master MASTER" in problem.fix
    assert [word for word in words if word not in str(problem)] == []


@pytest.mark.parametrize(
    "code",
    [
        "import sparkdl\nsparkdl.HorovodRunner(np=2)",
        "import sparkdl as s\ns.HorovodRunner(np=2)",
        "from sparkdl.horovod.runner_base import HorovodRunner\nHorovodRunner(np=2)",
        "from sparkdl.horovod import log_to_driver\nlog_to_driver('x')",
        "try:\n    from sparkdl import HorovodRunner\nexcept ImportError:\n    pass",
        "# Databricks notebook source\n# MAGIC %pip install x\nfrom sparkdl import HorovodRunner",
        "print 'Python 2'\nfrom sparkdl import HorovodRunner",
    ],
)
def test_it_is_found_however_it_is_imported(code):
    assert [one.rule for one in found(a__py=code)] == ["spark-horovod-runner"]


@pytest.mark.parametrize(
    "code",
    [
        "# from sparkdl import HorovodRunner",
        "text = 'from sparkdl import HorovodRunner'",
        "import sparkdl\nsparkdl.DeepImageFeaturizer()",
        "import sparkdlx\nsparkdlx.HorovodRunner()",
        "class HorovodRunner: pass\nHorovodRunner()",
    ],
)
def test_what_only_mentions_it_is_not_named(code):
    assert found(a__py=code) == []


def test_a_notebook_is_named_with_its_cell():
    cells = (["%pip install sparkdl\n", "import os"], ["%%bash\n", "ls"], ["x = 1"])
    with_runner = notebook(*cells, [RUNNER + "HorovodRunner(np=2).run(main)"])
    (problem,) = found(book__ipynb=with_runner)
    assert problem.path == "book.ipynb, cell 4"
    assert "--instances 2" in problem.fix


def test_an_old_notebook_is_read_as_well():
    cell = {"cell_type": "code", "input": RUNNER + "HorovodRunner(np=2)"}
    old = json.dumps({"nbformat": 3, "worksheets": [{"cells": [cell]}]})
    assert [one.path for one in found(book__ipynb=old)] == ["book.ipynb, cell 1"]


def test_a_notebook_that_writes_about_it_is_not_named():
    assert found(book__ipynb=notebook(["from sparkdl import HorovodRunner"], kind="markdown")) == []


@pytest.mark.parametrize(
    "content",
    [
        b"sparkdl",
        b'"sparkdl"',
        b"[" * 100_000 + b"sparkdl",
        b'{"cells": "sparkdl"}',
        b'{"cells": [1, null, {"cell_type": "code", "source": 7}], "sparkdl": 1}',
        b'{"worksheets": [3, {"cells": 4}], "sparkdl": 1}',
        b'{"cells": [{"cell_type": "code", "source": ["sparkdl", 3, null]}]}',
        b"\xff\xfe sparkdl",
    ],
)
def test_a_broken_notebook_breaks_nothing(content):
    assert found(book__ipynb=content) == []


def test_magic_lines_leave_code_that_can_be_read():
    read = read_notebook(
        notebook(["if x:\n", "    !ls\n", "y = 1"], ["%%time\n", "z = 2"]).encode()
    )
    compile(read.code, "book", "exec")
    assert (read.cell_of(1), read.cell_of(4)) == (1, 2)


def test_the_runner_of_tensorflow_is_named_too():
    code = "from spark_tensorflow_distributor import MirroredStrategyRunner\n"
    (problem,) = found(a__py=code + "MirroredStrategyRunner(num_slots=8).run(train)")
    assert (problem.rule, problem.severity) == ("spark-mirrored-runner", "warning")
    assert "--instances 8" in problem.fix


def test_many_copies_are_told_of_by_the_first():
    files = {f"a{number}__py": RUNNER for number in range(50)}
    assert len(found(**files)) == 20


def test_a_document_is_told_what_its_source_uses(tmp_path):
    (tmp_path / "train.py").write_text(RUNNER + "HorovodRunner(np=2).run(main)")
    definition = JobDefinition("spark", "j", 1, "{}\n", {})
    examined = Examined(definition, (), 1)
    told = with_source(examined, DocumentSource(str(tmp_path)))
    assert [one.rule for one in told.problems] == ["spark-horovod-runner"]
