"""What a user is told of words that the shell keeps."""

import pytest

from specpreflight.models.launch import EngineVersion, Launch
from specpreflight.models.resolved import Resolved
from specpreflight.rules.launch.words_lost import RULE
from specpreflight.sources.launch_command import read_launch_text


def findings(script):
    command = read_launch_text(script, "serve.sh")
    engine = EngineVersion("sglang", "0.5.9", "test")
    launch = Launch(engine, None, None, facts={"command": command})
    return list(RULE.check(launch, Resolved({}, ())))


@pytest.mark.parametrize(
    ("script", "line", "word"),
    [
        ("sglang serve --model-path m\n  --tp 8\n", 2, "--tp"),
        ("sglang serve --model-path m \\\n  # why\n  --tp 8\n", 3, "--tp"),
        ("sglang serve --model-path m \\ \n  --speculative-algorithm EAGLE\n", 2, "--spec"),
    ],
)
def test_lost_words_have_their_line(script, line, word):
    (finding,) = findings(script)
    assert word in finding.message
    assert finding.outcome.value == "degrades"
    (value,) = finding.values
    assert (value.origin.path, value.origin.line) == ("serve.sh", line)


def test_lost_speculation_is_told():
    (finding,) = findings("sglang serve --model-path m\n--speculative-algorithm EAGLE\n")
    assert "1 for speculation" in finding.detail


def test_a_command_that_is_whole_is_fine():
    assert findings("sglang serve --model-path m \\\n  --tp 8  # why\n# --tp 4\n") == []
