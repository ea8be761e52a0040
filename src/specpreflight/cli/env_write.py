"""`specpreflight env write`: keep the NCCL variables in a file, as its own reader takes them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import click

from specpreflight.cli.environment import (
    EnvironmentOptions,
    LoadedEnvironment,
    find_problems,
    load_environment,
    source_options,
)
from specpreflight.errors import InputError, UsageError
from specpreflight.fixes.environment_file import TARGETS, merge_environment

_BOM: Final = "\ufeff"
_DEFAULT_NAME: Final = "server"
#: What makes the file count, by target.
_THEN: Final = {
    "systemd": "then: systemctl daemon-reload, and restart the service",
    "dotenv": "read by Compose's env_file: and by python-dotenv",
    "docker": "then: docker run --env-file {file} …",
    "shell": "then: . {file} in the shell that launches, or name it in ~/.profile",
    "compose": "then: docker compose up -d",
    "kubernetes": "then: kubectl apply -f {file}; a ConfigMap is named in the container's envFrom:",
    "nccl.conf": "NCCL reads /etc/nccl.conf, ~/.nccl.conf, or since 2.23 what NCCL_CONF_FILE names",
}


@click.command()
@click.argument("file", required=False, metavar="[FILE]")
@click.option("--to", "target", type=click.Choice(TARGETS), required=True, help="Kind of file.")
@click.option(
    "--from", "files", multiple=True, metavar="SOURCE", help="Read a script, unit, env file, …"
)
@source_options
@click.option("--name", metavar="NAME", help="Service of a compose file; name of a new ConfigMap.")
@click.option("--diff", is_flag=True, help="Show what would change; write nothing.")
@click.option("--force", is_flag=True, help="Write values too that NCCL stops at.")
def write(
    file: str | None,
    target: str,
    no_env: bool,
    name: str | None,
    diff: bool,
    force: bool,
    **given: Any,
) -> None:
    """Write the NCCL variables that are set, and those of --env, into FILE (or to stdout).

    Lines of FILE that set something else stay as they are. The new text is read back before it is
    written, and takes the old one's place in one step.

    \b
      specpreflight env write --to systemd /etc/systemd/system/llm.service.d/nccl.conf
      specpreflight env write --to docker nccl.env --from launch.sh --no-env
      specpreflight env write --to compose compose.yaml --name sglang --diff
    """
    options = EnvironmentOptions(use_process_environment=not no_env, **given)
    loaded = load_environment(options)
    variables = _to_write(loaded, options)
    if _has_errors(loaded) and not force:
        click.echo("nothing is written; --force writes the values as they are", err=True)
        click.get_current_context().exit(1)
    before = None if file is None else _read(file)
    text, newline, bom = _decode(before or b"", file or "")
    name = name or (_only_service(text) if target == "compose" else None) or _DEFAULT_NAME
    merged = merge_environment(text, variables, target, name)
    _read_back(text, merged, variables, target, name)
    after = (bom + merged.replace("\n", newline)).encode("utf-8", "surrogateescape")
    if file is None:
        click.echo(after, nl=False)
    elif diff:
        from specpreflight.fixes.diff import diff_file

        click.echo(diff_file(file, before or b"", after), nl=False)
    else:
        _write(file, before, after, f"{_count(variables)} in {file}", target)


def _to_write(loaded: LoadedEnvironment, options: EnvironmentOptions) -> dict[str, str]:
    """Return the variables that NCCL reads, and what `--env` names.

    Raises:
        UsageError: there is none.
        InputError: the value of one is not known before the launch.
    """
    asked = [setting.partition("=")[0] for setting in options.settings]
    names = [name for name in loaded.launch.environment if name.startswith("NCCL_")]
    variables: dict[str, str] = {}
    for name in dict.fromkeys([*names, *asked]):
        variable = loaded.launch.environment[name]
        if variable.value is None:
            raise InputError(
                f"{name}: its value is not known before the launch",
                hint=f"give it: --env {name}=VALUE",
            )
        variables[name] = variable.value
    if not variables:
        raise UsageError(
            "no NCCL variable is set", hint="name them with --env, --env-file, --from or --pid"
        )
    return variables


def _has_errors(loaded: LoadedEnvironment) -> bool:
    """Write errors and warnings to stderr, and tell whether there is an error."""
    from specpreflight.models.finding import SEVERITY_OF_OUTCOME, Severity

    errors = False
    for finding in find_problems(loaded.launch):
        severity = finding.severity or SEVERITY_OF_OUTCOME[finding.outcome]
        if severity in (Severity.ERROR, Severity.WARNING):
            click.echo(f"{severity.value}: {finding.message}", err=True)
            errors = errors or severity is Severity.ERROR
    return errors


def _read(file: str) -> bytes | None:
    from specpreflight.sources.text_file import read_bytes

    path = Path(file)
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise InputError(
            f"{file}: is no regular file; nothing is written",
            hint="give a file, or none for the standard output",
        )
    return read_bytes(path, file) if path.exists() else None


def _decode(data: bytes, given: str) -> tuple[str, str, str]:
    """Return a file's text with `\\n` alone, its line end, and its byte-order mark."""
    from specpreflight.sources.text_file import decode_text

    text = decode_text(data, given)
    bom = _BOM if text.startswith(_BOM) else ""
    text = text.removeprefix(_BOM)
    if text.count("\n") and text.count("\r\n") == text.count("\n"):
        return text.replace("\r\n", "\n"), "\r\n", bom
    return text, "\n", bom


def _only_service(text: str) -> str | None:
    """Return the service of a compose file that has one.

    Raises:
        UsageError: it has several.
    """
    if not text.strip():
        return None
    from specpreflight.sources.yaml_text import read_yaml

    documents = read_yaml(text, "the compose file")
    first = documents[0] if documents else None
    services = first.get("services") if isinstance(first, Mapping) else None
    names = list(services) if isinstance(services, Mapping) else []
    if len(names) > 1:
        raise UsageError(
            f"the compose file has {len(names)} services: {', '.join(map(str, names))}",
            hint="name one: --name SERVICE",
        )
    return str(names[0]) if names else None


def _read_back(
    before: str, after: str, variables: Mapping[str, str], target: str, name: str
) -> None:
    """Compare what the target's reader gets from the new text with what was meant.

    Raises:
        InputError: another line of the file takes the value back, or another value would change.
    """
    from specpreflight.sources.kept_variables import read_kept_variables

    kept = read_kept_variables(after, target, name)
    for key, value in variables.items():
        if kept.get(key) != value:
            raise InputError(
                f"{key}: the file would still give {kept.get(key)!r} instead of {value!r}",
                hint="another line of it sets the variable; nothing is written",
            )
    held = read_kept_variables(before, target, name) if before.strip() else {}
    for key, value in held.items():
        if key not in variables and kept.get(key) != value:
            raise InputError(f"{key}: its value would change to {kept.get(key)!r}; nothing written")


def _write(file: str, before: bytes | None, after: bytes, what: str, target: str) -> None:
    from specpreflight.fixes.text_write import write_text_file

    path = Path(file)
    if path.parent.name.endswith(".d"):
        _make_drop_in_folder(path.parent)
    if before == after:
        click.echo(f"{what} already; nothing to write", err=True)
        return
    write_text_file(path, file, before, after)
    click.echo(f"{what}\n  {_THEN[target].format(file=file)}", err=True)


def _make_drop_in_folder(folder: Path) -> None:
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InputError(f"{folder}: cannot be made ({reason})") from None


def _count(variables: Mapping[str, str]) -> str:
    return "1 variable" if len(variables) == 1 else f"{len(variables)} variables"
