"""Whatever a launch file holds, the answer is a launch or one clear line."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specpreflight.errors import InputError
from specpreflight.models.command import Command
from specpreflight.sources.launch_command import read_launch_text

PIECES = st.sampled_from(
    [
        "sglang serve --model-path m",
        "vllm serve m",
        "docker run img",
        "\n",
        " ",
        "\\\n",
        "'",
        '"',
        "`",
        "$",
        "${",
        "}",
        "$(",
        ")",
        "((",
        "))",
        "[[",
        "]]",
        "{",
        "|",
        "&",
        "&&",
        ";",
        ";;",
        "<",
        ">",
        "<<E\n",
        "E\n",
        "<<<",
        "#",
        "=",
        "A=1",
        "a=(",
        "if",
        "then",
        "fi",
        "case x in",
        "esac",
        "for i in",
        "do",
        "done",
        "while",
        "f() {",
        "*",
        "~",
        ":",
        "- ",
        "---\n",
        "services:",
        "  image: ",
        "args: [",
        "[Service]\n",
        "ExecStart=",
        "import os\n",
        "os.system('",
        "%X%",
        "^\n",
        "--tp 8",
        "\x00",
        "é",
    ]
)
NAMES = st.sampled_from(["a.sh", "a.yaml", "a.service", "a.py", "a.bat", "a.env", "a.json", "a"])


def answers(text, name):
    try:
        answer = read_launch_text(text, name)
    except InputError as error:
        answer = error
    assert isinstance(answer, Command) or "\n" not in answer.message


@settings(max_examples=200, deadline=None)
@given(st.lists(PIECES, max_size=25).map("".join), NAMES)
def test_answers(text, name):
    answers(text, name)


@pytest.mark.nightly
@settings(max_examples=20_000, deadline=None)
@given(st.lists(PIECES, max_size=40).map("".join), NAMES)
def test_answers_for_long(text, name):
    answers(text, name)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("x=" + "$(" * 3000 + ")" * 3000, "a.sh"),
        ("x=$((9**9**9**9)); y=$(seq 1 1000000000); echo {1..100000000}", "a.sh"),
        ("x=a; while true; do x=$x$x; done", "a.sh"),
        ("f() { f | f; }; f", "a.sh"),
        ("for ((;;)); do :; done", "a.sh"),
        (
            "a: &a [x,x]\n"
            + "".join(
                f"{chr(98 + i)}: &{chr(98 + i)} [{','.join(['*' + chr(97 + i)] * 9)}]\n"
                for i in range(9)
            ),
            "a.yaml",
        ),
        ("a: &a\n  - *a\n", "a.yaml"),
        ("[" * 3000, "a.yaml"),
        ("import os\ndef f(): f()\nf()\n", "a.py"),
        ("import os\nx = [0] * 10000000000\n", "a.py"),
    ],
)
def test_what_grows_without_end_is_bounded(text, name):
    answers(text, name)
