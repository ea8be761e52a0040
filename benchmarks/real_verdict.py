"""Print what a check costs against a verdict of the real engine, in one run on this machine.

    python benchmarks/real_verdict.py --oracle ../shared/oracle/sglang --python VENV/bin/python \\
        --src SRC/0.5.9 --tf TF/4.57.1

The oracle's README says how to set up the engine's wheel, its transformers and a torch for the CPU.
Both sides answer the same case, a fresh process each, in turn.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from pathlib import Path

from budgets import ours, peak_mib, seconds

CASE = "seed-09-dsv3-like-262144"


def main() -> None:
    """Time both sides and print medians, ratio and peak memory."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("oracle", "python", "src", "tf"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder)
        cases = json.loads((options.oracle / "cases.json").read_text())["cases"]
        case = next(one for one in cases if one["id"] == CASE)
        (directory / "case.json").write_text(json.dumps({"cases": [case]}))
        for role in ("target", "draft"):
            (directory / role).mkdir()
            (directory / role / "config.json").write_text(json.dumps(case[f"{role}_config"]))
        flags = [
            word for name, value in case["flags"].items() for word in (f"--{name}", str(value))
        ]
        check = ours(
            "check", str(directory / "target"), str(directory / "draft"), "--no-env",
            "--engine", f"sglang@{options.src.name}", "--", *flags,
        )  # fmt: skip
        real = (
            str(options.python), str(options.oracle / "driver.py"), "--src", str(options.src),
            "--tf", str(options.tf), "--cases", str(directory / "case.json"),
            "--out", str(directory / "verdict.json"),
        )  # fmt: skip
        pairs = [(seconds(check), seconds(real)) for _ in range(options.runs)]
        ours_s, real_s = (statistics.median(side) for side in zip(*pairs, strict=True))
        print(f"check        {ours_s:6.2f} s {peak_mib(check):6.0f} MiB")
        print(f"real verdict {real_s:6.2f} s {peak_mib(real):6.0f} MiB")
        print(f"ratio        x{real_s / ours_s:.0f}")


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    main()
