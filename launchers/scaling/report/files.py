"""The files of a report: the page, and the charts as PNG where matplotlib is installed."""

from __future__ import annotations

import shlex
from importlib.util import find_spec
from pathlib import Path

from launchers import DISTRIBUTION
from launchers.core.extras import installer
from launchers.core.paths import writing
from launchers.scaling.records import PAGE, PICTURE
from launchers.scaling.report.charts import charts
from launchers.scaling.report.page import page
from launchers.scaling.results import Study

# Of pyproject.toml.
EXTRA = "scaling"


def write(study: Study, folder: Path) -> list[Path]:
    """Writes the report of ``study`` into ``folder``, which is there, and gives its files.

    Without matplotlib there is no PNG; ``missing`` has a line for that.

    Raises:
        LaunchError: The folder can't be written.
    """
    written = [folder / PAGE]
    with writing(written[0]):
        written[0].write_text(page(study), "utf-8", newline="\n")
    drawn = charts(study)
    if drawn and missing() is None:
        from launchers.scaling.report.png import picture

        written.append(folder / PICTURE)
        with writing(written[1]):
            written[1].write_bytes(picture(drawn, study))
    return written


def missing() -> str | None:
    """One line of what is not installed, and what is not written for that; None where all is."""
    if find_spec("matplotlib") is not None:
        return None
    install = shlex.join([*installer(), f"{DISTRIBUTION}[{EXTRA}]"])
    return f"{PICTURE} is not written: matplotlib is not installed; {install}"
