"""Reading a log: blocks in, launches out, quickly past what says nothing.

Once a server serves, only a few words in a block make its lines worth reading; everything else is
counted, so a gigabyte of periodic lines costs little more than finding their ends.
"""

from __future__ import annotations

import re
from typing import Final

from specpreflight.engines.logs.acceptance import read_samples, read_speeds, samples_of
from specpreflight.engines.logs.arguments import read_arguments
from specpreflight.engines.logs.launch_log import LaunchLog
from specpreflight.engines.logs.lines import Line, Unwrap, read_line
from specpreflight.engines.logs.marks import read_mark
from specpreflight.engines.logs.nccl_lines import read_nccl, says_nothing
from specpreflight.engines.logs.request_tracebacks import (
    HEADER,
    RequestTracebacks,
    announced_from,
)
from specpreflight.engines.logs.steps import read_step
from specpreflight.engines.logs.telling import (
    PERIODIC,
    SIGNS,
    TellingLines,
    is_of_request,
    says_nothing_new,
    served_lines,
    survived_until,
)
from specpreflight.engines.logs.versions import TEXTS

#: So many launches are read; of more, the last one only.
_MOST_LAUNCHES: Final = 24
_START_WORDS: Final = (b"server_args=", b"non-default args: ")
#: The lines before an arguments line that belong to its launch are no longer than this, in bytes.
_BEFORE_START: Final = 4096
#: Blocks of a launch that wait until the next one begins.
_MOST_HELD: Final = 32
#: How the log ends is read line by line, whatever its words: so many bytes.
_END: Final = 1 << 16
_COMMAND: Final = re.compile(
    r"^\++ (.*(?:sglang\.launch_server|sglang serve|vllm serve|vllm\.entry).*)"
)
_EXPORT: Final = re.compile(r"^\++ (?:export )?((?:NCCL|SGLANG|SGL|VLLM)_\w+)=(\S*)")
_SECRET: Final = re.compile(r"KEY|TOKEN|SECRET|PASSWORD")
_SERVER_ARGS: Final = re.compile(r"\bserver_args=(?:ServerArgs)?([({])")
#: No number of an engine has more digits; one that has is cut, and can always be computed with.
_DIGITS: Final = 40
_TOO_LONG: Final = re.compile(rb"(\d{%d})\d+" % _DIGITS)
_ONE_DIGIT: Final = bytes.maketrans(b"123456789", b"000000000")
#: A client's request that was answered: where a log's beginning is lost, so many of them tell.
_MANY_ANSWERS: Final = 20
_ANSWERED: Final = re.compile(rb'"POST /v1/\S+ HTTP/[\d.]+\\?" 200')
_START_HOOKS: Final = ("Max running requests is reset", "Overlap scheduler is disabled because")


class LogReading:
    """The launches that a log tells of, read block by block.

    Args:
        unwrap: takes off what a container, a journal or a terminal added to a line.
    """

    def __init__(self, unwrap: Unwrap) -> None:
        self._unwrap = unwrap
        self._number = 1
        self._year = 2000
        self._held: list[bytes] = []
        self._reads_on = False
        self._skipped = b""
        self._foreign = b""
        self._requests = RequestTracebacks()
        self.launches = [LaunchLog(1)]

    def read(self, block: bytes) -> None:
        """Read whole lines; of a server that restarts for ever, the first launches and the last."""
        if not block:
            return
        block = _with_short_numbers(block)
        if len(self.launches) >= _MOST_LAUNCHES:
            self._hold(block)
        else:
            self._read_now(block)

    def finish(self) -> None:
        """Read what was held back, and how the log ends."""
        self._read_held()
        launch, end = self.launches[-1], self._skipped[-_END:]
        if end and launch.serves:
            lines = end.removesuffix(b"\n").split(b"\n")
            self._number -= len(lines)
            for raw in lines:
                if not any(words in raw for words in PERIODIC):
                    self._read_raw(raw)
                self._number += 1
        if self.launches[-1].foreign_lines and self._foreign:
            for line in read_line(self._foreign, self._number, self._unwrap, self._year):
                self._note_time(self.launches[-1], line)

    def _read_held(self) -> None:
        held, self._held = self._held, []
        for block in held:
            self._read_now(block)

    def _hold(self, block: bytes) -> None:
        start = max(block.rfind(words) for words in _START_WORDS)
        if start >= 0:
            start = block.rfind(b"\n", 0, max(start - _BEFORE_START, 0)) + 1
            self._number += sum(held.count(b"\n") for held in self._held)
            self._number += block.count(b"\n", 0, start)
            self._held, block = [], block[start:]
            self._reads_on = False
        if self._reads_on:
            self._read_now(block)
            return
        self._held.append(block)
        if len(self._held) >= _MOST_HELD:
            self._reads_on = True
            self._read_held()

    def _read_now(self, block: bytes) -> None:
        launch = self.launches[-1]
        self._skipped = b""
        if not launch.serves:
            self._read_lines(block)
        elif not launch.tracebacks.is_open and says_nothing_new(block, launch.engine):
            self._sample(launch, block)
            self._number += block.count(b"\n")
            self._skipped = block
        else:
            self._read_telling_lines(launch, block)
        self.launches[-1].last_line = self._number - 1

    def _read_lines(self, block: bytes) -> None:
        for raw in block.removesuffix(b"\n").split(b"\n"):
            self._read_raw(raw)
            self._number += 1

    def _read_telling_lines(self, launch: LaunchLog, block: bytes) -> None:
        """Read the lines that hold a telling word, with the tracebacks they begin."""
        start = 0
        while start < len(block) and launch.tracebacks.is_open and self.launches[-1] is launch:
            start = self._read_at(launch, block, start)
        if self.launches[-1] is launch:
            start = self._pass_survived(launch, block, start)
        telling = TellingLines(block, start, launch.engine)
        while start < len(block) and self.launches[-1] is launch:
            line = start if launch.tracebacks.is_open else telling.first_from(start)
            self._sample(launch, block[start:line])
            self._number += block.count(b"\n", start, line)
            start = self._read_at(launch, block, line)
        if start < len(block):
            self._read_lines(block[start:])

    def _read_at(self, launch: LaunchLog, block: bytes, start: int) -> int:
        """Read the line that begins at `start`; return where the next one to read does.

        A request's traceback is passed if its text was read before.
        """
        end = block.find(b"\n", start)
        end = len(block) if end < 0 else end
        header = block.find(HEADER, start, end)
        if header >= 0 and not launch.tracebacks.is_chained:
            frames = self._requests.frames_at(block, header)
            if frames and self._requests.is_known(frames):
                launch.tracebacks.end_requests()
                self._number += frames.count(b"\n")
                return start + len(frames)
        if start < len(block):
            self._read_raw(block[start:end])
            self._number += 1
        return end + 1

    def _pass_survived(self, launch: LaunchLog, block: bytes, start: int) -> int:
        """Take from what a server outlives only what tells its release; return where that ends."""
        end = survived_until(block, start, launch.engine)
        header = block.find(HEADER, start, end)
        while header >= 0:
            frames = self._requests.frames_at(block, header)
            if frames is None:
                end = max(announced_from(block, header), start)
                break
            if frames and not self._requests.is_known(frames):
                self._note_engine_of_frame(launch, frames.decode("utf-8", "replace"))
            header = block.find(HEADER, header + len(HEADER), end)
        self._sample(launch, block[start:end])
        self._number += block.count(b"\n", start, end)
        return end

    def _sample(self, launch: LaunchLog, block: bytes) -> None:
        launch.samples += read_samples(block, samples_of(block, len(launch.samples)))
        launch.speeds += read_speeds(block, samples_of(block, len(launch.speeds)))
        launch.served += served_lines(block)

    def _read_raw(self, raw: bytes) -> None:
        launch = self.launches[-1]
        if is_of_request(raw):
            return
        if not launch.began and b"200 OK" in raw and _ANSWERED.search(raw):
            self._note_answer(launch)
        if any(words in raw for words in PERIODIC):
            self._sample(launch, raw)
            self._note_serving(launch, raw)
            return
        if b" NCCL INFO " in raw and says_nothing(raw):
            return
        if not launch.tracebacks.is_open and not SIGNS.search(raw):
            launch.foreign_lines += 1
            self._foreign = raw
            return
        for line in read_line(raw, self._number, self._unwrap, self._year):
            self._read_line(line)

    def _note_answer(self, launch: LaunchLog) -> None:
        """Take a log whose beginning is lost for a server's once it answered often enough.

        A proxy's answers may stand beside a server that dies: its traceback is no request's.
        """
        launch.answers += 1
        if launch.answers % _MANY_ANSWERS == 0 and launch.tracebacks.are_of_requests:
            launch.step, launch.ready = "READY", True

    def _note_serving(self, launch: LaunchLog, raw: bytes) -> None:
        engine = "sglang" if b"gen throughput" in raw or b"accept len: " in raw else "vllm"
        launch.engines[engine] += 1
        launch.step, launch.ready = "READY", True
        if engine == "sglang":
            for words in ("Decode batch. ", "Decode batch, ", "Decode batch [", "accept rate: "):
                if words.encode() in raw:
                    launch.texts.add(words)

    def _read_line(self, line: Line) -> None:
        launch = self._launch_of(line)
        launch.last_line = line.number
        self._note_time(launch, line)
        if line.engine:
            launch.engines[line.engine] += 1
            if line.process:
                launch.processes.add(line.process)
        silent = line.engine is None and "NCCL" not in line.text
        launch.foreign_lines = launch.foreign_lines + 1 if silent else 0
        if launch.tracebacks.read(line, launch.now):
            self._note_engine_of_frame(launch, line.text)
            if launch.engine == "sglang":
                launch.texts.update(words for words in TEXTS if words in line.text)
            return
        self._read_start(launch, line)
        read_step(launch, line)
        read_nccl(launch.nccl, line.text)
        if launch.nccl.started and launch.step in {None, "CFG"}:
            launch.step = "DIST"
        read_mark(launch, line)
        if line.engine == "sglang" or launch.engine == "sglang":
            launch.texts.update(words for words in TEXTS if words in line.text)

    def _launch_of(self, line: Line) -> LaunchLog:
        launch, text = self.launches[-1], line.text
        over = launch.ready or bool(launch.tracebacks.traces) or bool(launch.marks)
        if (
            ((_COMMAND.match(text) or text.startswith(_START_HOOKS)) and over)
            or (_SERVER_ARGS.search(text) and (launch.arguments or launch.step or over))
            or (
                ("API server version " in text or "non-default args: " in text)
                and (launch.step or over)
            )
        ):
            launch.last_line = line.number - 1
            launch = LaunchLog(line.number)
            self.launches.append(launch)
        return launch

    def _note_time(self, launch: LaunchLog, line: Line) -> None:
        begins = line.engine or _COMMAND.match(line.text)
        if line.time:
            if self._year == 2000 and line.engine == "sglang":
                self._year = line.time.year
            launch.last = line.time
            launch.first = launch.first or line.time
        if line.outer:
            launch.last_outer = line.outer
            if line.engine or "NCCL" in line.text:
                launch.last_outer_of_engine = line.outer
            if begins:
                launch.first_outer = launch.first_outer or line.outer

    def _note_engine_of_frame(self, launch: LaunchLog, text: str) -> None:
        if "/sglang/" in text:
            launch.engines["sglang"] += 1
            launch.texts.update(words for words in TEXTS if words in text)
        elif "/vllm/" in text:
            launch.engines["vllm"] += 1

    def _read_start(self, launch: LaunchLog, line: Line) -> None:
        text = line.text
        if match := _COMMAND.match(text):
            launch.command = match[1]
            launch.engines["sglang" if "sglang" in match[1] else "vllm"] += 1
        elif match := _EXPORT.match(text):
            launch.environment[match[1]] = "***" if _SECRET.search(match[1]) else match[2]
        elif match := _SERVER_ARGS.search(text):
            body = text[match.start(1) :]
            launch.arguments, launch.complete = read_arguments(body)
            launch.engines["sglang"] += 1
        elif "non-default args: " in text or text.startswith("args: Namespace("):
            body = text[text.index("args: ") + 6 :].removeprefix("Namespace")
            launch.arguments, launch.complete = read_arguments(body)
            launch.engines["vllm"] += 1
        elif "LLM engine (v" in text and " with config: " in text:
            launch.engine_config = read_arguments("(" + text.partition(" with config: ")[2])[0]
            launch.engines["vllm"] += 1


def _with_short_numbers(block: bytes) -> bytes:
    if b"0" * (_DIGITS + 1) not in block.translate(_ONE_DIGIT):
        return block
    return _TOO_LONG.sub(rb"\1", block)
