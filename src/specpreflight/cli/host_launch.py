"""`--host`: a launch of which everything is read on the machine that it starts on."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, unquote, urlparse

from specpreflight.errors import InputError, UsageError
from specpreflight.models.finding import Origin
from specpreflight.models.launch import EngineVersion, Launch, Variable
from specpreflight.models.token_map import TokenMap
from specpreflight.sources.host_mirror import HostMirror

if TYPE_CHECKING:
    from specpreflight.cli.check import Options

#: Where a package is installed, by what a running process has loaded.
_SITE: Final = re.compile(r"(/\S*/(?:site|dist)-packages)/")

#: Folders of a user's home that may be, or hold, Python environments.
_HOME_ENVIRONMENTS: Final = (".venv", "venv", "miniconda3", "miniconda3/envs/*", "miniforge3")


def load_there(options: Options, host: str) -> list[Launch]:
    """Read the launch once for each engine, and everything of it on a host.

    Raises:
        UsageError: the arguments do not name a launch, or no engine is where they say.
        InputError: the host cannot be reached, or a file there cannot be read.
    """
    from specpreflight.cli.loading import load_launches

    with TemporaryDirectory(prefix="specpreflight-") as scratch:
        machine = OtherMachine(host, Path(scratch), options.pid)
        engines = tuple(machine.engine(engine) for engine in options.engines)
        launches = load_launches(options._replace(engines=engines, machine=machine))
        return [machine.finish(launch, options.nccl) for launch in launches]


def load_process(options: Options, pid: int) -> list[Launch]:
    """Read the launch once for each engine, with the variables and the NCCL of a process here.

    Raises:
        UsageError: the arguments do not name a launch.
        InputError: there is no such process, or it belongs to another user.
    """
    from specpreflight.cli.loading import load_launches
    from specpreflight.sources.installed_nccl import find_nccl_of_process

    installed = find_nccl_of_process(pid)
    return [with_nccl(launch, options.nccl, installed) for launch in load_launches(options)]


def with_nccl(launch: Launch, wanted: str | None, installed: str | None) -> Launch:
    """Return a launch whose NCCL variables are read as the release beside it reads them."""
    from specpreflight.engines.nccl.launch import read_launch

    if not any(name.upper().startswith("NCCL_") for name in launch.environment):
        return launch
    reading = read_launch(launch, wanted=wanted, installed=installed)
    return replace(launch, facts={**launch.facts, "nccl": reading})


def variables_of_process(
    pid: int, proc: Path = Path("/proc"), origin: str = ""
) -> dict[str, Variable]:
    """Return the variables that a running process was started with.

    Raises:
        InputError: there is no such process, or it belongs to another user.
        UsageError: not a number that a process can have.
    """
    from specpreflight.sources.process_environ import read_process_environ

    path = f"{origin}/proc/{pid}/environ"
    return {
        name: replace(one, origin=Origin("environment", path=path, name=name))
        for name, one in read_process_environ(pid, proc).items()
    }


class OtherMachine:
    """The machine of a launch that is not this one.

    Small files are copied to a scratch folder; an engine's source goes to the cache, where the next
    check finds what has not changed.

    Attributes:
        inherited: the variables of the process that was named there; none if none was.
    """

    def __init__(self, host: str, scratch: Path, pid: int | None) -> None:
        from specpreflight.engines.sglang.harvest.cache import cache_folder
        from specpreflight.storage.connections import open_host

        self._origin = f"ssh://{host}"
        self._files = open_host(self._origin)
        self._pid = pid
        self._scratch = HostMirror(self._origin, self._files, scratch)
        kept = cache_folder() / "hosts" / quote(host, safe="@")
        self._kept = HostMirror(self._origin, self._files, kept)
        self._home = self._files.real_path(".")
        self.inherited: Mapping[str, Variable] = {}
        if pid is not None:
            self._scratch.copy(f"/proc/{pid}/environ")
            self.inherited = variables_of_process(pid, self._scratch.here("/proc"), self._origin)

    def locate(self, path: str) -> str:
        """Return the URL of a path that the launch's flags name; a Hub id stays what it is."""
        return self._origin + path if path.startswith("/") else path

    def engine(self, wanted: str) -> str:
        """Return what `--engine` means here: a tree or installation of the host as a copy.

        Raises:
            UsageError: the host has no such engine there.
        """
        name, _, where = wanted.partition("@")
        if "/" in name or name in ("installed", "."):
            name, where = "sglang", wanted
        if not where.startswith(("/", "~", ".", "installed")):
            return wanted
        for folder in self._folders(where):
            root = next(self._packages(folder, name), None)
            if root is not None:
                return f"{name}@{self._copy_package(root)}"
        raise UsageError(
            f"{self._origin}: no {name} found at {where}",
            hint="give the folder of the package, of its environment, or of a checkout there",
        )

    def add_nccl_files(
        self, environment: Mapping[str, Variable], engine: EngineVersion, wanted: str | None
    ) -> dict[str, Variable]:
        """Return an environment with what NCCL's own files on the host add.

        Raises:
            InputError: a file is there and cannot be read.
            UsageError: `wanted` is no release.
        """
        from specpreflight.engines.nccl.versions import determine_release
        from specpreflight.sources.nccl_conf import read_nccl_conf

        release, _ = determine_release(
            wanted, self._installed_nccl(engine), engine.name, engine.version
        )
        texts = {name: known.value or "" for name, known in environment.items()}
        added = read_nccl_conf(
            texts, release, Path(self._home), here=lambda path: self._scratch.copy(str(path))
        )
        return {**environment, **{name: self._there(one) for name, one in added.items()}}

    def finish(self, launch: Launch, wanted: str | None) -> Launch:
        """Return a launch with the host's names in place of the copies', and its NCCL."""
        engine = launch.engine
        named = replace(engine, determined_by=self._kept.named(engine.determined_by))
        token_map = launch.flags.get("speculative-token-map")
        if isinstance(token_map, str) and token_map.startswith("/"):
            facts = {**launch.facts, "token_map": self._token_map(token_map)}
            launch = replace(launch, facts=facts)
        launch = with_nccl(launch, wanted, self._installed_nccl(engine))
        return replace(launch, engine=named)

    def _token_map(self, path: str) -> TokenMap:
        from specpreflight.sources.token_map import read_token_map

        try:
            return read_token_map(str(self._scratch.copy(path)))._replace(given=path)
        except InputError:
            return TokenMap(path, "unread")

    def _there(self, variable: Variable) -> Variable:
        path = f"{self._origin}{variable.origin.path}"
        return replace(variable, origin=replace(variable.origin, path=path))

    def _folders(self, where: str) -> Iterator[str]:
        """Yield the host's folders that may be, or hold, the package that `where` means."""
        if not where.startswith("installed"):
            yield where if where.startswith("/") else f"{self._home}/{where.lstrip('~./')}"
            return
        python = where.partition(":")[2]
        if python:
            yield python.rpartition("/")[0].rpartition("/")[0] or "/"
            return
        yield from self._sites
        yield "/"
        for pattern in _HOME_ENVIRONMENTS:
            yield from self._kept.find(self._home, pattern)

    @cached_property
    def _sites(self) -> list[str]:
        """Return the folders of packages that the process has loaded something from."""
        if self._pid is None:
            return []
        maps = self._scratch.copy(f"/proc/{self._pid}/maps")
        text = maps.read_text(errors="replace") if maps.exists() else ""
        return list(dict.fromkeys(_SITE.findall(text)))

    def _packages(self, folder: str, name: str) -> Iterator[str]:
        from specpreflight.engines.sglang.installations import PLACES

        marker = "srt/server_args.py" if name == "sglang" else "__init__.py"
        for pattern in PLACES:
            for found in self._kept.find(folder, pattern.replace("sglang", name)):
                if found.endswith(f"/{name}") and self._kept.has(f"{found}/{marker}"):
                    yield found
        for source in self._editable_sources(folder, name):
            if self._kept.has(f"{source}/{marker}"):
                yield source

    def _editable_sources(self, folder: str, name: str) -> Iterator[str]:
        """Yield where an editable installation says that its source stands."""
        for site in (folder, *self._kept.find(folder, "lib/python3*/site-packages")):
            for record in self._kept.find(site, f"{name}-*.dist-info/direct_url.json"):
                try:
                    url = json.loads(self._scratch.copy(record).read_bytes())["url"]
                except (ValueError, KeyError, TypeError):
                    continue
                source = unquote(urlparse(str(url)).path)
                yield from (f"{source}/{name}", f"{source}/python/{name}")

    def _copy_package(self, root: str) -> Path:
        """Copy a package's source, and what tells its version and what it needs."""
        site = root.rpartition("/")[0]
        place = self._copy_metadata(site)
        for folder in (site, site.rpartition("/")[0]):
            self._kept.copy(f"{folder}/pyproject.toml")
        if root.endswith("/vllm"):
            return place
        return self._kept.copy_tree(root, ("srt",), ".py")

    def _copy_metadata(self, site: str) -> Path:
        """Copy what a folder of packages says of their versions, and return where it is here."""
        place = self._kept.here(site)
        names = [name for name in self._files.names(site) if name.endswith(".dist-info")]
        for old in place.glob("*.dist-info"):
            if old.name not in names:
                rmtree(old)
        for name in names:
            (place / name).mkdir(parents=True, exist_ok=True)
            if name.startswith(("sglang-", "torch-")):
                self._kept.copy(f"{site}/{name}/METADATA")
        return place

    def _installed_nccl(self, engine: EngineVersion) -> str | None:
        """Return the NCCL beside the engine, or beside what the process has loaded."""
        from specpreflight.sources.installed_nccl import find_installed_nccl

        if engine.path is not None:
            return find_installed_nccl([engine.path, str(Path(engine.path).parent)])
        return find_installed_nccl(str(self._copy_metadata(one)) for one in self._sites)
