"""Write the generated parts of the documentation, or check that they are fresh (`--check`).

The table of rules in README.md, a page a rule in docs/rules/, the JSON Schemas of the report and of
the configuration, the manual page, the files that docs/ci.md shows, and the picture of the output
on the shipped example.
"""

from __future__ import annotations

import argparse
import io
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from man import manual_page
from rich.console import Console
from rich.text import Text

from specpreflight.cli.rules import rules_table
from specpreflight.models.configuration import configuration_schema
from specpreflight.models.schema import lock_schema, report_schema
from specpreflight.rules.registry import load_rules, read_page, rule_names

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = ("check", "target", "draft", "--engine", "sglang@0.5.11", "--no-env")


def generated_files() -> Iterator[tuple[Path, str]]:
    """Yield each generated file with the text that it should have."""
    readme = (ROOT / "README.md").read_text()
    yield ROOT / "README.md", _between(readme, "rules", rules_table(load_rules()))
    for rule in load_rules():
        page = f"# {rule.name}\n\n{read_page(rule.name)}\n"
        yield ROOT / "docs" / "rules" / f"{rule.name}.md", page
    for name, schema in (("report", report_schema()), ("lock", lock_schema())):
        yield ROOT / "docs" / f"{name}.schema.json", json.dumps(schema, indent=2) + "\n"
    schema = json.dumps(configuration_schema(rule_names()), indent=2) + "\n"
    yield ROOT / "docs" / "configuration.schema.json", schema
    yield ROOT / "docs" / "specpreflight.1", manual_page()
    yield ROOT / "docs" / "ci.md", _with_files((ROOT / "docs" / "ci.md").read_text())
    yield ROOT / "docs" / "check.svg", _picture()


def _between(text: str, name: str, body: str) -> str:
    """Replace what stands between `<!-- name -->` and `<!-- /name -->`."""
    pattern = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
    return pattern.sub(lambda match: f"{match[1]}{body}\n{match[2]}", text)


def _with_files(text: str) -> str:
    """Put each file's text between `<!-- file: PATH -->` and `<!-- /file -->`."""

    def shown(match: re.Match[str]) -> str:
        path = ROOT / match[2]
        language = {".yml": "yaml", ".yaml": "yaml"}.get(path.suffix, "bash")
        return f"{match[1]}```{language}\n{path.read_text()}```\n<!-- /file -->"

    pattern = re.compile(r"(<!-- file: (\S+) -->\n).*?<!-- /file -->", re.DOTALL)
    return pattern.sub(shown, text)


def _picture() -> str:
    """Return an SVG of the real output of the example, as a terminal of 88 columns shows it."""
    command = [sys.executable, "-m", "specpreflight", *EXAMPLE, "--color", "always"]
    run = subprocess.run(
        command,
        cwd=ROOT / "examples" / "kimi-k2.5-eagle3",
        env={"COLUMNS": "88", "PATH": "", "HOME": "/nonexistent"},
        capture_output=True,
        text=True,
        check=False,
    )
    console = Console(record=True, width=88, file=io.StringIO())
    console.print(Text.assemble(("$ ", "dim"), "specpreflight " + " ".join(EXAMPLE)))
    console.print(Text.from_ansi(run.stdout))
    return console.export_svg(title="specpreflight", unique_id="check")


def main() -> int:
    """Write or check; return 1 if something was stale."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    stale = [
        (path, text)
        for path, text in generated_files()
        if not path.is_file() or path.read_text() != text
    ]
    for path, text in stale:
        print(("stale: " if check else "wrote: ") + str(path.relative_to(ROOT)))
        if not check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    return int(check and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
