from __future__ import annotations

import pytest

from specpreflight.sources.slurm_export import read_slurm_export


@pytest.mark.parametrize(
    ("option", "values", "names"),
    [
        ("--export=ALL,NCCL_ALGO=Ring", {"NCCL_ALGO": "Ring"}, None),
        ("--export=NONE", {}, frozenset()),
        ("--export=PATH,NCCL_PROTO", {}, {"PATH", "NCCL_PROTO"}),
        ("--export NCCL_IB_HCA='mlx5_0,mlx5_1',ALL", {"NCCL_IB_HCA": "mlx5_0,mlx5_1"}, None),
        ('--export="ALL,A=b c"', {"A": "b c"}, None),
        ("-N 2 --export=A=1 # x", {"A": "1"}, frozenset()),
    ],
)
def test_the_option(option: str, values: dict[str, str], names: object) -> None:
    read = read_slurm_export(f"#!/bin/bash\n#SBATCH {option}\n\nsrun x\n")
    assert read is not None
    assert {name: value for name, value, _ in read.values} == values
    assert read.names == names


def test_not_given_or_given_too_late() -> None:
    assert read_slurm_export("#!/bin/bash\n#SBATCH -N 2\nsrun x\n") is None
    assert read_slurm_export("#!/bin/bash\nset -e\n#SBATCH --export=NONE\n") is None
