"""What a user is told of variables that stay in the shell."""

import pytest

from specpreflight.models.command import variable
from specpreflight.models.launch import EngineVersion, Launch
from specpreflight.models.resolved import Resolved
from specpreflight.rules.launch.variable_not_exported import RULE
from specpreflight.sources.launch_command import read_launch_text

SERVE = "sglang serve --model-path m\n"


def findings(script, **inherited):
    command = read_launch_text(script, "serve.sh")
    environment = {name: variable(name, value) for name, value in inherited.items()}
    launch = Launch(
        EngineVersion("sglang", "0.5.9", "test"),
        None,
        None,
        environment={**environment, **command.seen_by_engine()},
        facts={"command": command},
    )
    return list(RULE.check(launch, Resolved({}, ())))


def test_the_place_is_told():
    (finding,) = findings("#!/bin/sh\nNCCL_P2P_LEVEL=SYS\n" + SERVE)
    assert "`NCCL_P2P_LEVEL` is set but not exported" in finding.message
    (value,) = finding.values
    assert (value.value, value.origin.path, value.origin.line) == ("SYS", "serve.sh", 2)
    assert finding.remedies[0].environment == {"NCCL_P2P_LEVEL": "SYS"}


@pytest.mark.parametrize(
    "script",
    [
        "export NCCL_P2P_LEVEL=SYS\n" + SERVE,
        "NCCL_P2P_LEVEL=SYS " + SERVE,
        "NCCL_P2P_LEVEL=SYS\nexport NCCL_P2P_LEVEL\n" + SERVE,
        "set -a\nNCCL_P2P_LEVEL=SYS\nset +a\n" + SERVE,
        "NCCL_P2P_LEVEL=SYS\nenv NCCL_P2P_LEVEL=$NCCL_P2P_LEVEL " + SERVE,
        "NCCL_DEBUG=INFO\ndocker run -e NCCL_DEBUG=$NCCL_DEBUG img " + SERVE,
        "MODEL=m\nPORT=1\n" + SERVE,
        "HF_MODEL=org/m\nsglang serve --model-path $HF_MODEL\n",
    ],
)
def test_what_reaches_the_engine_or_is_none_of_its_is_fine(script):
    assert findings(script) == []


def test_what_the_caller_exported_stays_exported():
    assert findings("NCCL_DEBUG=INFO\n" + SERVE, NCCL_DEBUG="WARN") == []
