"""One run of `launch check`: all files, the ignore file, and the report's own file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from launchers.cli.checking.document import check_file
from launchers.cli.checking.files import files_of
from launchers.cli.checking.findings import Check, Checked, Finding
from launchers.cli.checking.ignores import ignores
from launchers.cli.failures import defect
from launchers.core.model.problems import LaunchError
from launchers.core.paths import writing

if TYPE_CHECKING:
    from launchers.core.analysis.document_source import DocumentSource


def check(
    words: Sequence[str],
    job: str = "",
    world_size: int | None = None,
    source: str | None = None,
    strategy: str | None = None,
    strict: bool = False,
    ignore_file: str | None = None,
    on_defect: Callable[[Exception], None] = lambda error: None,
) -> Check:
    """What is wrong in the files that ``words`` name. One that cannot be read is a part like the
    others, and hides none of them.

    Args:
        job, world_size, source, strategy: As :func:`check_file` has them, for every file.
        on_defect: Takes an exception that is a defect of ours. Its file is a part with that alone,
            the others are checked.

    Raises:
        LaunchError: ``source`` is neither a folder nor a tar, ``ignore_file`` cannot be read.
    """
    ignored = ignores(ignore_file)
    files, wrong = files_of(words)
    parts = [Checked(word, (Finding(problem, word),)) for word, problem in wrong]
    known: dict[str, DocumentSource] = {}
    for file in files:
        try:
            parts += check_file(file, job, world_size, source, strategy, known)
        except LaunchError:
            raise
        except Exception as error:
            on_defect(error)
            parts.append(Checked(file, (Finding(defect(error), file),)))
    if ignored is not None:
        parts = [ignored.applied(part) for part in parts]
        told = ignored.told(files)
        parts += [told] if told else []
    return Check(parts, strict)


def write(file: str, text: str) -> None:
    """The report's text into ``file``, over what is there.

    Raises:
        LaunchError: It cannot be written.
    """
    with writing(file):
        Path(file).write_text(text, encoding="utf-8")
