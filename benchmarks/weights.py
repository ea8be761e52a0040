"""Headers and index of a one-terabyte target: how much dearer than parsing the same JSON.

    python benchmarks/weights.py [DIRECTORY]

Writes a checkpoint of 64 shards and 100,000 tensors as sparse files (a terabyte that takes a few
megabytes of disk), reads it as `check` does, and prints the time, the ratio to `json.loads` of the
same bytes (budget: 3) and the peak of memory (budget: 250 MB). Each is the best of five.
"""

from __future__ import annotations

import json
import struct
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from specpreflight.sources.weight_index import INDEX_NAME, WeightFolder, read_weights

SHARDS, TENSORS, TERABYTE = 64, 100_000, 10**12
RUNS = 5


def write_checkpoint(folder: Path) -> None:
    """Write shards of equal tensors whose data is a hole in the file."""
    each = TERABYTE // TENSORS // 2 // 1024 * 1024
    places: dict[str, str] = {}
    for shard in range(SHARDS):
        file = f"model-{shard + 1:05}-of-{SHARDS:05}.safetensors"
        names = range(shard, TENSORS, SHARDS)
        entries, start = {}, 0
        for number in names:
            name = f"model.layers.{number // 1600}.mlp.experts.{number % 1600}.gate_proj.weight"
            span = [start, start + each * 2]
            entries[name] = {"dtype": "BF16", "shape": [each // 1024, 1024], "data_offsets": span}
            places[name] = file
            start += each * 2
        text = json.dumps(entries, separators=(",", ":")).encode()
        with (folder / file).open("wb") as out:
            out.write(struct.pack("<Q", len(text)) + text)
            out.truncate(8 + len(text) + start)
    index = {"metadata": {"total_size": each * 2 * TENSORS}, "weight_map": places}
    (folder / INDEX_NAME).write_text(json.dumps(index, indent=2))


def parse_only(folder: Path) -> None:
    """Read and parse the same bytes, and nothing else."""
    json.loads((folder / INDEX_NAME).read_bytes())
    for path in folder.glob("*.safetensors"):
        with path.open("rb") as file:
            (length,) = struct.unpack("<Q", file.read(8))
            json.loads(file.read(length))


def best(run: Callable[[Path], object], folder: Path) -> float:
    """Return the shortest of `RUNS` processor times in seconds; other load does not count."""
    times = []
    for _ in range(RUNS):
        start = time.process_time()
        run(folder)
        times.append(time.process_time() - start)
    return min(times)


def find_one(folder: Path) -> object:
    """Find one tensor as a rule does that compares it."""
    return WeightFolder(folder).find("model.layers.3.mlp.experts.7.gate_proj.weight")


def peak_megabytes() -> float:
    """Return the highest resident memory of this process so far."""
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1024 if sys.platform != "darwin" else peak / 1024**2


def main(folder: Path) -> None:
    """Write, measure, print."""
    write_checkpoint(folder)
    table = read_weights(folder)
    memory = peak_megabytes()
    assert len(table.tensors) == TENSORS
    assert table.problems == ()
    reading, parsing = best(read_weights, folder), best(parse_only, folder)
    print(f"json.loads of the same bytes  {parsing * 1000:8.1f} ms")
    print(f"read_weights                  {reading * 1000:8.1f} ms   ratio {reading / parsing:.2f}")
    print(f"one tensor through the index  {best(find_one, folder) * 1000:8.1f} ms")
    print(f"peak memory                   {memory:8.1f} MB")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as made:
            main(Path(made))
