"""Logs in the engines' true shapes, written from the templates of their releases.

A log is built step by step, as the release goes through them, and ends in a failure or serves. The
paths, hosts and numbers are invented; no captured log is among them.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

from packaging.version import Version

#: Bytes at which Docker and the journal cut a line.
DOCKER, LINE_MAX = 16 << 10, 48 << 10
PACKAGES = "/opt/venv/lib/python3.12/site-packages/"
FIELDS = json.loads(
    (
        Path(__file__).parents[1] / "src/specpreflight/engines/logs/data/server_args_fields.json"
    ).read_text()
)
ARGUMENTS = {
    "model_path": "/models/Qwen3-32B",
    "tokenizer_path": "/models/Qwen3-32B",
    "speculative_algorithm": "EAGLE3",
    "speculative_draft_model_path": "/models/qwen3-32b-eagle3",
    "speculative_num_steps": 3,
    "speculative_eagle_topk": 1,
    "speculative_num_draft_tokens": 4,
    "tp_size": 2,
    "port": 30000,
    "host": "127.0.0.1",
    "random_seed": 7,
    "mem_fraction_static": 0.85,
    "api_key": None,
}
#: The steps in the order in which an engine goes through them; a failure stops in one.
SGLANG_STEPS = ("ARG", "CFG", "DIST", "TW", "TKV", "TGR", "DCFG", "DW", "DKV", "DGR", "WARM", "RUN")
SGLANG_STEPS_516 = (
    "ARG", "CFG", "DIST", "TW", "DCFG", "DW", "TKV", "DKV", "TGR", "DGR", "WARM", "RUN",
)  # fmt: skip
VLLM_STEPS = ("ARG", "CFG", "DIST", "TW", "DW", "TKV", "TGR", "DGR", "WARM", "RUN")


@dataclass
class Clock:
    """The log's time, which goes on with every step."""

    now: datetime = datetime(2026, 3, 1, 23, 58, 40)
    began: datetime = field(init=False)

    def __post_init__(self) -> None:
        self.began = self.now

    def wait(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)

    @property
    def seconds(self) -> float:
        return (self.now - self.began).total_seconds()


def fields_of(release: str) -> list[str]:
    """Return the fields of a release's arguments, as its table has them."""
    order = FIELDS["releases"]
    place = order.index(release)

    def has(spans: Sequence[tuple[str, str | None]]) -> bool:
        return any(
            order.index(since) <= place < (order.index(before) if before else len(order))
            for since, before in spans
        )

    return [name for name, spans in FIELDS["fields"].items() if has(spans)]


def traceback_lines(frames: Sequence[str], final: str) -> list[str]:
    """Return a traceback; a frame is `file:function[:source]`, the outermost first."""
    lines = ["Traceback (most recent call last):"]
    for frame in frames:
        file, function, source = (*frame.split(":", 2), "call()")[:3]
        lines.append(f'  File "{PACKAGES}{file}", line 71, in {function}')
        lines.append(f"    {source}")
    return [*lines, *final.split("\n")]


class Sglang:
    """A launch of an SGLang release with `ranks` tensor-parallel ranks."""

    def __init__(self, release: str, ranks: int = 2, **arguments: object) -> None:
        self.release, self.ranks = release, ranks
        self.arguments = {**ARGUMENTS, "tp_size": ranks, **arguments}
        self.clock = Clock()
        self.lines: list[str] = []

    def since(self, release: str) -> bool:
        return Version(self.release) >= Version(release)

    @property
    def steps(self) -> tuple[str, ...]:
        return SGLANG_STEPS_516 if self.since("0.5.16") else SGLANG_STEPS

    def say(self, text: str, rank: int | None = None) -> None:
        marker = "" if rank is None or self.ranks == 1 else f" TP{rank}"
        self.lines.append(f"[{self.clock.now:%Y-%m-%d %H:%M:%S}{marker}] {text}")

    def all_say(self, text: str) -> None:
        for rank in range(self.ranks):
            self.say(text, rank)

    def start(self, until: str) -> Sglang:
        """Go through the steps before `until`, and begin it (`DIST+`: and end it)."""
        for step in self.steps:
            getattr(self, f"_{step.lower()}")(step == until)
            if step == until.removesuffix("+"):
                break
            self.clock.wait(7)
        return self

    def _arg(self, ends: bool) -> None:
        if ends:
            return
        values = {name: self.arguments.get(name) for name in fields_of(self.release)}
        form = str(values)
        if not self.since("0.5.19"):
            form = f"ServerArgs({', '.join(f'{name}={value!r}' for name, value in values.items())})"
        self.say(f"server_args={form}")

    def _cfg(self, ends: bool) -> None:
        self.say("Ignore import error when loading sglang.srt.models.x: No module named 'y'")

    def _dist(self, ends: bool) -> None:
        self.all_say("Init torch distributed begin.")
        self.say("sglang is using nccl==2.27.5", 0)
        if ends:
            return
        if self.since("0.5.21"):
            self.all_say("Memory baseline taken. mem usage=0.96 GB")
        elif self.since("0.5.9"):
            self.all_say("Init torch distributed ends. elapsed=1.20 s, mem usage=0.96 GB")
        else:
            self.all_say("Init torch distributed ends. mem usage=0.96 GB")

    def _load(self, model: str, shards: int, ends: bool) -> None:
        self.all_say("Load weight begin. avail mem=78.00 GB")
        for done in range(shards if not ends else shards // 2 + 1):
            share = 100 * (done + 1) // shards
            self.lines.append(
                f"\rLoading safetensors checkpoint shards: {share:3d}% Completed | "
                f"{done + 1}/{shards} [00:0{done}<00:05,  1.21s/it]\n"
            )
        if ends:
            return
        self.clock.wait(30)
        elapsed = "elapsed=30.00 s, " if self.since("0.5.9") else ""
        dtype = "" if self.since("0.5.11") else "dtype=torch.bfloat16, "
        self.all_say(
            f"Load weight end. {elapsed}type={model}, {dtype}avail mem=40.00 GB, "
            "mem usage=38.00 GB."
        )

    def _tw(self, ends: bool) -> None:
        self._load("Qwen3ForCausalLM", 4, ends)

    def _dw(self, ends: bool) -> None:
        self._load("LlamaForCausalLMEagle3", 1, ends)

    def _tkv(self, ends: bool) -> None:
        if ends:
            return
        if self.since("0.5.19"):
            text = "MHATokenToKVPool is allocated. dtype: torch.bfloat16, #tokens: 300160, "
        elif self.since("0.5.13"):
            text = "KV Cache is allocated. dtype: torch.bfloat16, #tokens: 300160, "
        else:
            text = "KV Cache is allocated. #tokens: 300160, "
        self.all_say(f"{text}K size: 9.00 GB, V size: 9.00 GB")
        self.all_say("Memory pool end. avail mem=19.30 GB")

    _dkv = _tkv

    def _tgr(self, ends: bool) -> None:
        self._capture("Capture cuda graph", "Capture target verify CUDA graph", ends)

    def _dgr(self, ends: bool) -> None:
        self._capture("Capture draft cuda graph", "Capture draft decode CUDA graph", ends)

    def _capture(self, old: str, new: str, ends: bool) -> None:
        name = new if self.since("0.5.16") else old
        self.all_say(f"{name} begin. This can take up to several minutes. avail mem=19.00 GB")
        bar = "Capturing batches (bs=8 avail_mem=6.62 GB):  12%|█▎        | 1/8 [00:00<00:06]"
        self.lines.append(f"\r  0%|          | 0/8 [00:00<?, ?it/s]\r{bar}")
        if ends:
            return
        self.clock.wait(8)
        if self.since("0.5.16"):
            self.all_say(f"{name} end. elapsed=8.00 s, mem usage=0.80 GB, avail mem=18.20 GB.")
        else:
            self.all_say(
                f"{name} end. Time elapsed: 8.00 s. mem usage=0.80 GB. avail mem=18.20 GB."
            )

    def _dcfg(self, ends: bool) -> None:
        return

    def _warm(self, ends: bool) -> None:
        self.say(
            "max_total_num_tokens=300160, chunked_prefill_size=8192, max_prefill_tokens=16384, "
            "max_running_requests=48, context_len=40960, available_gpu_mem=18.20 GB",
            0,
        )
        self.say("INFO:     Started server process [1840]")
        self.say("INFO:     Application startup complete.")
        if not ends:
            self.say('INFO:     127.0.0.1:50326 - "POST /generate HTTP/1.1" 200 OK')
            self.say("The server is fired up and ready to roll!")

    def _run(self, ends: bool) -> None:
        return

    def serve(self, lengths: Sequence[float]) -> Sglang:
        """Serve, a line of periodic figures for each acceptance length."""
        for length in lengths:
            self.clock.wait(2)
            head, rate = "Decode batch.", ""
            if self.since("0.5.4"):
                head = "Decode batch,"
                share = (length - 1) / 3 if self.since("0.5.10") else length / 4
                rate = f"accept rate: {share:.2f}, "
            self.say(
                f"{head} #running-req: 4, #token: 9000, token usage: 0.05, accept len: "
                f"{length:.2f}, {rate}cuda graph: True, gen throughput (token/s): "
                f"{110 * length:.2f}, #queue-req: 0",
                0,
            )
            self.say('INFO:     10.0.0.8:4001 - "POST /v1/chat/completions HTTP/1.1" 200 OK')
        return self

    def die(self, final: str, frames: Sequence[str], *, in_main: bool = False) -> Sglang:
        """End in a traceback: of every rank, or of the main process before it has any."""
        self.clock.wait(5)
        if in_main:
            self.lines += [*traceback_lines(frames, final), ""]
            return self
        for rank in range(self.ranks):
            first, *rest = traceback_lines(frames, final)
            self.say(f"Scheduler hit an exception: {first}", rank)
            self.lines += [*rest, ""]
        if self.since("0.5.5") and self.lines and "ready to roll" in "".join(self.lines):
            self.say(
                "SIGQUIT received. signum=None, frame=None. It usually means one child failed."
            )
        else:
            self.say("Received sigquit from a child process. It usually means the child failed.")
        return self

    @property
    def text(self) -> str:
        return "\n".join(self.lines) + "\n"


class Vllm:
    """A launch of a vLLM release with `ranks` tensor-parallel ranks."""

    def __init__(self, release: str, ranks: int = 2, *, serving: bool = False) -> None:
        self.release, self.ranks = release, ranks
        self.clock = Clock()
        self.lines: list[str] = []
        self.serving = serving

    def since(self, release: str) -> bool:
        return Version(self.release) >= Version(release)

    steps = VLLM_STEPS

    def prefix(self, process: str) -> str:
        """Return the stream's marker as the release writes it: always coloured to 0.13."""
        if not self.since("0.10"):
            rank = process.removeprefix("Worker_TP")
            return f"(VllmWorker rank={rank} pid=7{rank}) " if rank != process else ""
        if process == "EngineCore" and not self.since("0.20.2"):
            process = "EngineCore_DP0"
        marker = f"({process} pid=511)"
        return f"{marker} " if self.since("0.16") else f"\x1b[1;36m{marker}\x1b[0;0m "

    def say(self, text: str, process: str = "APIServer", level: str = "INFO") -> None:
        head = f"{level} {self.clock.now:%m-%d %H:%M:%S} [x.py:12] "
        lines = [f"{self.prefix(process)}{head}{line}" for line in text.split("\n")]
        self.lines.append("\r\n".join(lines))

    def bare(self, text: str, process: str) -> None:
        """Print without the logger: prefixed up to 0.29, bare since 0.31."""
        prefix = "" if self.since("0.31") or not self.since("0.10") else self.prefix(process)
        self.lines += [f"{prefix}{line}" for line in text.split("\n")]

    @property
    def workers(self) -> list[str]:
        if self.ranks == 1:
            return ["EngineCore"]
        return [f"Worker_TP{rank}" for rank in range(self.ranks)]

    def all_say(self, text: str) -> None:
        for worker in self.workers:
            self.say(text, worker)

    def start(self, until: str) -> Vllm:
        for step in self.steps:
            if step == until:
                break
            getattr(self, f"_{step.lower()}")()
            self.clock.wait(7)
        return self

    def _arg(self) -> None:
        if self.since("0.16"):
            self.say(f"  ▄▄ ▄█ █     █     █ ▀▄▀ █  version {self.release}")
            self.say("   █▄█▀ █     █     █     █  model   /models/Qwen3-32B")
        else:
            self.say(f"vLLM API server version {self.release}")
        if self.since("0.9"):
            self.say(
                "non-default args: {'model': '/models/Qwen3-32B', 'tensor_parallel_size': "
                f"{self.ranks}, 'speculative_config': {{'method': 'eagle3', 'model': "
                "'/models/qwen3-32b-eagle3', 'num_speculative_tokens': 3}}"
            )

    def _cfg(self) -> None:
        if self.since("0.10.2"):
            self.say("Resolved architecture: Qwen3ForCausalLM")
            self.say("Using max model len 40960")
            self.say("Resolved architecture: Eagle3LlamaForCausalLM")
            self.say("Using max model len 40960")
        self.say(
            f"Initializing a V1 LLM engine (v{self.release}) with config: model='/models/Qwen3-32B'"
            ", speculative_config=SpeculativeConfig(method='eagle3', model='/models/qwen3-32b-"
            "eagle3', num_spec_tokens=3), tokenizer='/models/Qwen3-32B', quantization=None, "
            "enforce_eager=False",
            "EngineCore",
        )

    def _dist(self) -> None:
        for rank, worker in enumerate(self.workers):
            self.say("vLLM is using nccl==2.27.5", worker)
            self.say(f"rank {rank} in world size {self.ranks} is assigned as DP rank 0", worker)

    def _tw(self) -> None:
        self.all_say("Starting to load model /models/Qwen3-32B...")
        self.bare(
            "Loading safetensors checkpoint shards: 100% Completed | 17/17 [00:25<00:00,  1.4s/it]",
            self.workers[0],
        )
        self.clock.wait(25)
        self.all_say("Loading weights took 25.00 seconds")
        self.all_say("Loading drafter model...")

    def _dw(self) -> None:
        self.all_say("Loading weights took 1.00 seconds")
        self.all_say("Model loading took 62.41 GiB memory and 30.000000 seconds")

    def _tkv(self) -> None:
        self.all_say("Available KV cache memory: 48.12 GiB")
        self.say("GPU KV cache size: 400,128 tokens", "EngineCore")

    def _tgr(self) -> None:
        self.all_say("Graph capturing finished in 5 secs, took 0.60 GiB")

    def _dgr(self) -> None:
        return

    def _warm(self) -> None:
        self.say(
            "init engine (profile, create kv cache, warmup model) took 42.10 seconds", "EngineCore"
        )
        self.say("Starting vLLM API server 0 on http://0.0.0.0:8000")
        self.bare("INFO:     Application startup complete.", "APIServer")

    def serve(self, lengths: Sequence[float]) -> Vllm:
        self.serving = True
        for length in lengths:
            self.clock.wait(10)
            accepted = round((length - 1) * 100)
            self.say(
                f"SpecDecoding metrics: Mean acceptance length: {length:.2f}, Accepted throughput: "
                f"4.00 tokens/s, Drafted throughput: 30.00 tokens/s, Accepted: {accepted} tokens, "
                f"Drafted: 300 tokens, Per-position acceptance rate: 0.5, 0.3, 0.1, Avg Draft "
                f"acceptance rate: {accepted / 3:.1f}%"
            )
            self.bare(
                'INFO:     10.0.0.1:1 - "POST /v1/chat/completions HTTP/1.1" 200 OK', "APIServer"
            )
        return self

    def die(self, final: str, frames: Sequence[str], process: str | None = None) -> Vllm:
        """End in a traceback: of the API server while it reads configs, else of the workers."""
        self.clock.wait(5)
        text = "\n".join(traceback_lines(frames, final))
        if process == "APIServer":
            self.bare(text, process)
            return self
        for worker in [process] if process else self.workers:
            which = "EngineCore" if worker == "EngineCore" else "WorkerProc"
            died = {"EngineCore": "encountered a fatal error.", "WorkerProc": "hit an exception."}
            what = died[which] if self.serving else "failed to start."
            self.say(f"{which} {what}\n{text}", worker, "ERROR")
        if process is None and self.ranks > 1:
            wrapped = traceback_lines(
                ["vllm/v1/engine/core.py:run_engine_core"],
                "Exception: WorkerProc initialization failed due to an exception in a background "
                "process. See stack trace for root cause.",
            )
            self.say("EngineCore failed to start.\n" + "\n".join(wrapped), "EngineCore", "ERROR")
        parent = traceback_lines(
            ["vllm/v1/engine/utils.py:wait_for_engine_startup"],
            "RuntimeError: Engine core initialization failed. See root cause above. Failed core "
            "proc(s): {'EngineCore_DP0': 1}",
        )
        self.bare("\n".join(parent), "APIServer")
        return self

    @property
    def text(self) -> str:
        return "\n".join(self.lines) + "\n"


def _cri(text: str) -> Iterator[str]:
    for line in text.split("\n"):
        pieces = [line[start : start + 16384] for start in range(0, len(line) or 1, 16384)]
        for piece in pieces:
            mark = "F" if piece is pieces[-1] else "P"
            yield f"2026-03-02T00:10:24.123456789Z stderr {mark} {piece}"


def _docker(text: str) -> Iterator[str]:
    for line in text.split("\n"):
        whole = line + "\n"
        for start in range(0, len(whole), 16384):
            yield json.dumps(
                {
                    "log": whole[start : start + 16384],
                    "stream": "stderr",
                    "time": "2026-03-02T00:10:24.1Z",
                }
            )


def _journal_json(text: str) -> bytes:
    lines = [
        json.dumps({"__REALTIME_TIMESTAMP": f"17724102{place:05d}000000"[:16], "MESSAGE": line})
        for place, line in enumerate(text.split("\n"))
    ]
    return "\n".join(lines).encode()


def _each(prefix: str) -> Callable[[str], bytes]:
    return lambda text: "\n".join(f"{prefix}{line}" for line in text.split("\n")).encode()


def as_json(log: Sglang | Vllm) -> str:
    """Return a log as a logging configuration of one's own writes it: a JSON record a message."""
    records: list[dict[str, str]] = []
    for line in "\n".join(log.lines).replace("\r\n", "\n").split("\n"):
        if match := re.match(r"\[(\S+ \S+?)((?: TP\d+)?)\] (.*)", line):
            time, process, message = match.groups()
            records.append(
                {
                    "asctime": time,
                    "name": "sglang.srt",
                    "processName": process.strip(),
                    "message": message,
                }
            )
        elif records:
            records[-1]["message"] += f"\n{line}"
    return "\n".join(map(json.dumps, records)) + "\n"


def as_plain(log: Sglang | Vllm) -> str:
    """Return a log in the format that Python's documentation of logging shows."""
    form = r"\1,123 - sglang.srt - INFO -\2 "
    return "\n".join(re.sub(r"^\[(\S+ \S+?)((?: TP\d+)?)\] ", form, line) for line in log.lines)


def pieces(line: str, size: int) -> Iterator[tuple[str, bool]]:
    """Yield a line's pieces of `size` bytes, and whether each is the last."""
    data = line.encode()
    starts = range(0, max(len(data), 1), size)
    for start in starts:
        yield data[start : start + size].decode("utf-8", "replace"), start == starts[-1]


def journal(text: str, size: int = LINE_MAX) -> Iterator[str]:
    """Yield a journal's lines, where pieces of `size` bytes are cut and the kernel writes too."""
    for line in text.splitlines():
        for piece, last in pieces(line.replace("ü", "ue"), size):
            kept = piece if size == DOCKER else piece.rstrip()
            yield f"Mar 02 00:10:24 node-1 sglang[12]: {kept}"
            if not last:
                yield "Mar 02 00:10:24 node-1 kernel: usb 1-1: new device"


#: What stands between an engine and the file that is read, by name.
WRAPPERS: dict[str, Callable[[str], bytes]] = {
    "plain": str.encode,
    "gzip": lambda text: gzip.compress(text.encode()),
    "utf-16": lambda text: text.encode("utf-16"),
    "crlf": lambda text: text.replace("\n", "\r\n").encode(),
    "compose": _each("\x1b[36mengine-1  | \x1b[0m"),
    "docker -t": _each("2026-03-02T00:10:24.123456789Z "),
    "docker json": lambda text: "\n".join(_docker(text)).encode(),
    "containerd": lambda text: "\n".join(_cri(text)).encode(),
    "kubectl": _each("[pod/serve-0/engine] "),
    "kubectl -t": _each("[pod/serve-0/engine] 2026-03-02T00:10:24.123456789Z "),
    "journal": _each("Mar 02 00:10:24 node-1 sglang[12]: "),
    "journal iso": _each("2026-03-02T00:10:24+0000 node-1 sglang[12]: "),
    "journal short-precise": _each("Mar 02 00:10:24.123456 node-1 sglang[12]: "),
    "journal json": _journal_json,
    "compose container": _each("sglang  | "),
    "compose v1": _each("sglang_1  | "),
    "journal precise": _each("2026-03-02T00:10:24.123456+0000 node-1 sglang[12]: "),
    "mpirun": _each("[1,0]<stderr>:"),
    "torchrun": _each("[default0]:"),
    "srun": _each("0: "),
    "github": _each("2026-03-02T00:10:24.1234567Z "),
}
