"""The command line: one command a file, imported when it is called."""

from __future__ import annotations

import atexit
import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import click

from specpreflight import __version__
from specpreflight.errors import InputError, SpecpreflightError

#: Command → (module under `specpreflight.cli`, one line of help). The help stands here so that
#: `--help` imports none of them.
_COMMANDS = {
    "check": ("check", "Say what will stop a launch, and why; write the fix."),
    "scan": ("scan", "Check every checkpoint and launch file of a tree."),
    "baseline": ("baseline", "Keep a list of known findings, so that new ones fail."),
    "launch": ("launch", "Print what is understood of a launch command, script or manifest."),
    "convert": ("convert", "Write a draft with the tensor names that an engine takes."),
    "keys": ("keys", "Say which tensors of a draft an engine's loader takes."),
    "undo": ("undo", "Restore what the last fix in a checkpoint replaced."),
    "history": ("history", "List what was fixed in a checkpoint."),
    "env": ("env", "Show, keep and compare the NCCL environment."),
    "run": ("run", "Check a launch, then become its command."),
    "diagnose": ("diagnose", "Say why a server died, or accepts nothing, from its log."),
    "compare": ("compare", "Show what differs between two checkpoints, launches or logs."),
    "record": ("record", "Write down a launch that works, to compare others with."),
    "upgrade-check": ("upgrade_check", "Say what another release would make of a launch."),
    "engines": ("engines", "List the engine releases that are known, and what changed."),
    "rules": ("rules", "List all rules."),
    "explain": ("explain", "Print a rule's page, or what each engine makes of a pair."),
    "completion": ("completion", "Print the completion script of a shell."),
}

#: What a shell sets to ask for completions; click derives it from the program's name.
COMPLETION_VARIABLE = "_SPECPREFLIGHT_COMPLETE"


class LazyGroup(click.Group):
    """A group that imports a command when it is called, and reports errors without a traceback."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run as a process of its own: what it makes is wanted, or goes when it ends.

        The interpreter looks for garbage once more when it ends, among everything that is left;
        that was a fifth of a check. What is frozen it passes over.
        """
        gc.disable()
        atexit.register(gc.freeze)
        for name in ("stdout", "stderr"):
            if getattr(sys, name) is None:  # closed: whoever did that reads nothing
                setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, PTH123
        try:
            return super().__call__(*args, **kwargs)
        except OSError as error:
            report_error(_refused(error))
            sys.exit(InputError.exit_code)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands in their order of use."""
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return a command."""
        if cmd_name not in _COMMANDS:
            return None
        module = import_module(f"specpreflight.cli.{_COMMANDS[cmd_name][0]}")
        command: click.Command = getattr(module, cmd_name.replace("-", "_"))
        if COMPLETION_VARIABLE in os.environ:
            from specpreflight.cli.completion import teach

            teach(command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Resolve a command; an unknown one is answered with the nearest."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            from difflib import get_close_matches

            near = get_close_matches(args[0], list(_COMMANDS), 1)
            if near:
                raise click.UsageError(f"{error.message} Did you mean '{near[0]}'?", ctx) from None
            raise

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands from the table."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in _COMMANDS.items()])

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; what a user caused becomes one line and the contract's exit code."""
        try:
            with _escaping(sys.stdout):
                return super().invoke(ctx)
        except SpecpreflightError as error:
            report_error(error)
            ctx.exit(error.exit_code)
        except click.UsageError as error:
            message = error.format_message()
            if _visible(message) == message:
                raise
            raise click.UsageError(_visible(message), error.ctx) from None
        except (click.ClickException, click.exceptions.Exit, click.Abort, BrokenPipeError):
            raise
        except KeyboardInterrupt:
            click.echo("specpreflight: interrupted", err=True)
            ctx.exit(130)
        except OSError as error:
            report_error(_refused(error))
            _print_traceback_if_asked()
            ctx.exit(InputError.exit_code)
        except Exception as error:
            click.echo(
                f"specpreflight: internal error: {type(error).__name__}: {error}\n"
                "  please report this with the command line; SPECPREFLIGHT_DEBUG=1 shows more",
                err=True,
            )
            _print_traceback_if_asked()
            ctx.exit(3)


def report_error(error: SpecpreflightError) -> None:
    """Write what a user caused to stderr: the fact on one line, the remedy on the next."""
    click.echo(f"specpreflight: {_visible(error.message)}", err=True)
    if error.hint:
        click.echo(f"  {_visible(error.hint)}", err=True)


def _refused(error: OSError) -> InputError:
    """Return what the system refused to do, where no reader or writer has words of its own."""
    reason = (error.strerror or str(error)).lower()
    place = "the output" if error.filename is None else os.fsdecode(error.filename)
    denied = isinstance(error, PermissionError)
    hint = "run as a user who may use it" if denied else "see whether it is there, and has room"
    return InputError(f"{place}: {reason}", hint=hint)


def _visible(text: str) -> str:
    """Return text that a file's or a caller's names stand in, safe to show on a terminal."""
    lines = text.split("\n")
    if all(map(str.isprintable, lines)):
        return text
    from specpreflight.reports.printable import printable

    return "\n".join(map(printable, lines))


@contextmanager
def _escaping(stream: Any) -> Iterator[None]:
    """Write as `\\u274c` what the encoding of a stream lacks, instead of failing on it."""
    before = getattr(stream, "errors", None)
    if before != "strict" or not hasattr(stream, "reconfigure"):
        yield
        return
    stream.reconfigure(errors="backslashreplace")
    try:
        yield
    finally:
        stream.reconfigure(errors=before)


def _print_traceback_if_asked() -> None:
    if os.environ.get("SPECPREFLIGHT_DEBUG"):
        import traceback

        traceback.print_exc(file=sys.stderr)


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, "-V", "--version", prog_name="specpreflight")
def main() -> None:
    """Say what will stop a speculative-decoding launch before it is started."""
