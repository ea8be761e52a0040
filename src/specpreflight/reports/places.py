"""Where a finding is shown by a reader that has to put it on a line of some file."""

from __future__ import annotations

from specpreflight.models.finding import Finding, Origin
from specpreflight.models.report import Report


def main_place(finding: Finding, report: Report) -> Origin | None:
    """Return the first place in a file that a finding shows, else the file that it is about.

    That is the launch file, or the config of the draft or target; `None` where there is no file,
    as for a Hub id that was checked by its flags alone.
    """
    for value in finding.values:
        if value.origin.path is not None:
            return value.origin
    inputs = report.inputs
    if inputs.launch_file is not None:
        return Origin("file", path=inputs.launch_file)
    checkpoint = inputs.draft or inputs.target
    if checkpoint is None:
        return None
    is_file = checkpoint.endswith(".json")
    return Origin("file", path=checkpoint if is_file else f"{checkpoint.rstrip('/')}/config.json")
