"""From the words of a process to the engine it starts, through whatever is wrapped around it."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from specpreflight.models.command import Command, Lost, find_markers, outside, variable
from specpreflight.models.launch import Variable
from specpreflight.sources import containers
from specpreflight.sources.entry_points import (
    Entry,
    find_entry,
    find_module,
    image_engine,
    image_entry,
    image_tag,
)
from specpreflight.sources.env_file import EnvFile, read_env_file
from specpreflight.sources.launch_files import LaunchFiles
from specpreflight.sources.shell import SHELLS, Execution, Shell

_CONTAINER_TOOLS = frozenset({"docker", "podman", "nerdctl"})
_SANDBOXES = frozenset({"singularity", "apptainer"})
#: Commands whose words are text or names, never a command to be run.
_TEXTUAL = re.compile(
    "echo|printf|p?kill|killall|pgrep|e?grep|ps|which|type|whereis|pip3?|apt|apt-get|git|cat|tee|ls"
    "|rm|mkdir|cp|mv|curl|wget|sed|awk|find|sleep|log|logger|tail|head|less|test|touch|chmod|chown"
)
_WRAPPERS = frozenset({"env", "sudo", *_CONTAINER_TOOLS, *_SANDBOXES, *SHELLS, "srun"})
#: A switch of ssh(1) whose value is the next word.
_SSH_VALUE = re.compile("-[A-Za-z]*[BbcDEeFIiJLlmOoPpQRSWw]")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=", re.ASCII)
_MENTION = re.compile(r"\b(sglang|vllm)\b")
_DEEPEST = 8
_MOST_PROCESSES = 20_000


@dataclass(frozen=True, slots=True)
class Process:
    """A process that something starts.

    `environment` is what the launch sets for it, `given` what the caller already had, `stdin` what
    a here-document or a pipe lets it read.
    """

    words: tuple[str, ...]
    environment: Mapping[str, Variable] = field(default_factory=dict)
    given: Mapping[str, str] = field(default_factory=dict)
    unexported: tuple[Variable, ...] = ()
    image: str | None = None
    path_map: tuple[tuple[str, str], ...] = ()
    directory: str | None = None
    service: str | None = None
    line: int | None = None
    stdin: str | None = None
    depth: int = 0


@dataclass
class Tracer:
    """Follows processes to engine launches, and notes what is lost on the way.

    Attributes:
        path: the file that is read, for the places of what is found.
        files: where the files that the launch names are looked for.
        assume_set: what shells guess where nothing is known.
        written: files that the launch itself writes (a here-document, a config map), by name.
    """

    path: str | None = None
    files: LaunchFiles = field(default_factory=LaunchFiles)
    assume_set: bool = False
    commands: list[Command] = field(default_factory=list)
    lost: list[Lost] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    written: dict[str, str] = field(default_factory=dict)
    _followed: int = 0

    def follow(self, process: Process) -> bool:
        """Follow a process; say whether an engine launch was found in it."""
        before = len(self.commands)
        self._followed += 1
        if process.words and process.depth < _DEEPEST and self._followed < _MOST_PROCESSES:
            self._follow(replace(process, depth=process.depth + 1))
        return len(self.commands) > before

    def run_script(
        self,
        text: str,
        process: Process,
        arguments: Sequence[str] = (),
        *,
        line: int = 1,
        files: Mapping[str, str] | None = None,
    ) -> None:
        """Follow a shell script that the process runs.

        Line ends of Windows are read as if they were none: with them the script would not start
        anything, and what it was meant to start is the question.
        """
        if "\r\n" in text:
            text = text.replace("\r\n", "\n")
            self.notes.append(
                "lines end in CR LF: a shell keeps the CR, also in each value it sets"
            )

        def start(execution: Execution) -> None:
            if execution.words[0].startswith("-"):
                if len(execution.words[0]) > 1:
                    self.lost.append(Lost(execution.words, self.path, execution.line))
                return
            self.written.update(execution.files)
            self.follow(
                replace(
                    process,
                    words=execution.words,
                    environment={**execution.environment},
                    given=execution.given,
                    unexported=execution.unexported,
                    directory=execution.directory or process.directory,
                    line=execution.line,
                    stdin=execution.stdin,
                )
            )

        inherited = {name: found.value or "" for name, found in process.environment.items()}
        shell = Shell(
            start,
            lambda name: self.files.read(outside(process.path_map, name)),
            dict(process.given),
            arguments,
            self.path,
            self.assume_set,
            dict(files or {}),
        )
        for name, value in inherited.items():
            origin = process.environment[name].origin
            cell = shell.variables.assign(name, value, origin.path, origin.line or 0)
            cell.exported = True
        shell.input.text = process.stdin or ""
        shell.run(text, line)
        self.notes.extend(note for note in shell.notes if note not in self.notes)

    def _run_file(self, name: str, text: str, process: Process, arguments: Sequence[str]) -> None:
        """Follow a script that the process runs by its name; places in it are its own."""
        before, self.path = self.path, name
        try:
            self.run_script(text, process, arguments)
        finally:
            self.path = before

    def _follow(self, process: Process) -> None:
        words = process.words
        program = words[0].rsplit("/", 1)[-1]
        entry = find_entry(words)
        if entry is not None:
            self.found(entry, process)
        elif program in SHELLS:
            self._shell(process)
        elif program == "env":
            self._env(process)
        elif program == "sudo":
            self._sudo(process)
        elif program in _CONTAINER_TOOLS:
            self._container(process)
        elif program in _SANDBOXES:
            self._sandbox(process)
        elif program == "srun":
            self._srun(process)
        elif program == "ssh":
            self._ssh(process)
        elif not _TEXTUAL.fullmatch(program):
            self._wrapped(process)

    def found(
        self, entry: Entry, process: Process, settings: Mapping[str, str] | None = None
    ) -> None:
        """Note an engine launch; `settings` are flags that it names in another way."""
        environment = tuple(process.environment.values())
        texts = [*entry.argv, *(found.value or "" for found in environment), process.image or ""]
        self.commands.append(
            Command(
                engine=entry.engine or image_engine(process.image),
                entry=entry.name,
                argv=entry.argv,
                engine_version=image_tag(process.image),
                image=process.image,
                environment=environment,
                unresolved=find_markers(texts),
                unexported=process.unexported,
                service=process.service,
                interpreter=entry.interpreter,
                path_map=process.path_map,
                directory=process.directory,
                path=self.path,
                line=process.line,
                settings=dict(settings or {}),
            )
        )

    def _wrapped(self, process: Process) -> None:
        """Follow the command inside one that takes another (nohup, numactl, torchrun, …)."""
        words = process.words
        if words[0].rsplit("/", 1)[-1] in ("mpirun", "mpiexec"):
            exported = containers.read_mpi_exports(words)
            process = replace(process, environment=self._passed(process, exported))
        if words[0].endswith(".sh") or self._script_text(words[0]) is not None:
            text = self._script_text(words[0])
            if text is not None:
                self._run_file(words[0], text, process, words[1:])
            return
        for at in range(1, len(words)):
            rest = words[at:]
            if rest[0] == "-m" and len(rest) > 1:
                entry = find_module(rest[1:], None)
                if entry is not None:
                    self.found(entry, process)
                    return
            program = rest[0].rsplit("/", 1)[-1]
            wraps = program in _WRAPPERS and (len(rest) > 1 or process.stdin is not None)
            if find_entry(rest) is not None or wraps:
                self._follow(replace(process, words=rest))
                return
        for word in words[1:]:
            if _MENTION.search(word) and re.search(r"\s", word):
                self.run_script(word, process, line=process.line or 1)

    def _ssh(self, process: Process) -> None:
        """Follow `ssh [options] host [command…]`.

        The host's shell gets the words joined by blanks, else what is typed into it; of this
        shell's variables it gets none (ssh(1), `SendEnv` apart).
        """
        words = process.words
        at = 1
        while at < len(words) and words[at].startswith("-"):
            at += 2 if _SSH_VALUE.fullmatch(words[at]) else 1
        text = " ".join(words[at + 1 :]) or process.stdin
        if text is None:
            return
        there = replace(process, environment={}, given={}, unexported=(), directory=None)
        self.run_script(text, there, line=process.line or 1)

    def _passed(
        self, process: Process, exported: Sequence[tuple[str, str | None]]
    ) -> Mapping[str, Variable]:
        """Return the environment with what a tool's own option adds to it."""
        environment = dict(process.environment)
        for name, value in exported:
            if value is not None:
                environment[name] = variable(name, value, self.path, process.line)
        return environment

    def _script_text(self, name: str) -> str | None:
        written = self.written.get(posixpath.normpath(name))
        if written is not None:
            return written
        return self.files.read(name) if name.endswith((".sh", ".bash")) else None

    def _shell(self, process: Process) -> None:
        """Follow `bash [options] [-c script | file | -s] [arguments]`; it reads its input else."""
        words = process.words
        at = 1
        reads_input = False
        while at < len(words) and words[at][:1] in "-+" and len(words[at]) > 1:
            option = words[at]
            at += 1
            if option == "--":
                break
            if option[0] == "-" and option[1] != "-" and "c" in option[1:]:
                while at < len(words) and words[at].startswith("-"):
                    at += 1
                if at < len(words):
                    self.run_script(words[at], process, words[at + 2 :], line=process.line or 1)
                return
            reads_input |= option[0] == "-" and option[1] != "-" and "s" in option
            at += option in ("-o", "+o", "-O", "--rcfile", "--init-file")
        if reads_input or at >= len(words):
            if process.stdin is not None:
                inner = replace(process, stdin=None)
                self.run_script(process.stdin, inner, words[at:], line=process.line or 1)
            return
        name = outside(process.path_map, words[at])
        text = self.written.get(posixpath.normpath(name))
        text = self.files.read(name) if text is None else text
        if text is not None:
            self._run_file(name, text, process, words[at + 1 :])
        elif _MENTION.search(words[at]):
            self.missing.append(words[at])

    def _env(self, process: Process) -> None:
        """Follow `env [-i] [-u NAME] [NAME=VALUE…] command`."""
        words = process.words
        environment = dict(process.environment)
        at = 1
        while at < len(words):
            word = words[at]
            if word in ("-i", "-", "--ignore-environment"):
                environment.clear()
            elif word in ("-u", "-C", "-S"):
                at += 1
                if word == "-u":
                    environment.pop("".join(words[at : at + 1]), None)
            elif word.startswith("--unset="):
                environment.pop(word.partition("=")[2], None)
            elif _ASSIGNMENT.match(word):
                name, _, value = word.partition("=")
                environment[name] = variable(name, value, self.path, process.line)
            elif not word.startswith("-"):
                break
            at += 1
        self._next(process, words[at:], environment)

    def _sudo(self, process: Process) -> None:
        """Follow `sudo [options] [NAME=VALUE…] command`.

        Without `-E` sudo resets the environment (`env_reset` in sudoers, its default).
        """
        words = process.words
        kept = False
        environment: dict[str, Variable] = {}
        at = 1
        while at < len(words):
            word = words[at]
            if _ASSIGNMENT.match(word):
                name, _, value = word.partition("=")
                environment[name] = variable(name, value, self.path, process.line)
            elif word.startswith("--preserve-env="):
                for name in word.partition("=")[2].split(","):
                    if name in process.environment:
                        environment[name] = process.environment[name]
            elif word.startswith("-"):
                kept |= word == "--preserve-env" or (word[1] != "-" and "E" in word)
                at += word in ("-u", "-g", "-h", "-p", "-C", "-D", "-R", "-T", "-U", "--user")
            else:
                break
            at += 1
        if kept:
            environment = {**process.environment, **environment}
        elif process.environment:
            self.notes.append("sudo without -E drops the exported variables")
        self._next(process, words[at:], environment)

    def _next(
        self, process: Process, words: Sequence[str], environment: Mapping[str, Variable]
    ) -> None:
        if words:
            self._follow(replace(process, words=tuple(words), environment=environment))

    def _container(self, process: Process) -> None:
        run = containers.read_run(process.words)
        if run is None:
            return
        environment: dict[str, Variable] = {}
        host = {**process.given}
        host.update({name: found.value or "" for name, found in process.environment.items()})
        for name in run.env_files:
            path = self.files.find(name)
            if path is None:
                self.missing.append(name)
                continue
            for line in read_env_file(EnvFile(path, "docker", name), host):
                environment[line.name] = variable(line.name, line.value, name, line.line)
        for key, given in run.environment:
            value = host.get(key, f"${{{key}}}") if given is None else given
            environment[key] = variable(key, value, self.path, process.line)
        self.container(
            replace(
                process,
                environment=environment,
                given={},
                unexported=(),
                image=run.image or process.image,
                path_map=run.path_map,
                directory=run.directory,
            ),
            run.entrypoint,
            run.words,
        )

    def container(
        self, process: Process, entrypoint: Sequence[str] | None, words: Sequence[str]
    ) -> bool:
        """Follow what a container starts: its entry point, then the words given to it."""
        if entrypoint:
            return self.follow(replace(process, words=(*entrypoint, *words)))
        plain = bool(words) and not words[0].startswith("-")
        if plain and self.follow(replace(process, words=tuple(words))):
            return True
        entry = image_entry(process.image, words)
        if entry is None:
            return False
        self.found(entry, process)
        return True

    def _sandbox(self, process: Process) -> None:
        """Follow `singularity exec [options] image command`."""
        words = process.words
        at = next((at for at, word in enumerate(words) if word in ("exec", "run")), len(words))
        image, path_map, rest = containers.read_sandbox(words[at + 1 :])
        if rest:
            self._follow(
                replace(
                    process,
                    words=tuple(rest),
                    image=image or process.image,
                    path_map=process.path_map + path_map,
                )
            )

    def _srun(self, process: Process) -> None:
        """Follow `srun [options] command`; Pyxis names the container's image in an option."""
        environment = dict(process.environment)
        options = containers.read_srun(process.words)
        if options.replaces_environment:
            environment.clear()
        for name, value in options.environment:
            environment[name] = variable(name, value, self.path, process.line)
        self._wrapped(
            replace(
                process,
                words=("srun", *options.words),
                environment=environment,
                image=options.image or process.image,
                path_map=process.path_map + options.path_map,
            )
        )
