"""argparse itself is the oracle."""

import argparse
import json
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specpreflight.models.argument_parser import (
    Option,
    Parser,
    canonical_flags,
)

TYPES = {"str": str, "int": int, "float": float, "json": json.loads}
OLD_ARGPARSE = sys.version_info < (3, 12)


class _StoppedError(Exception):
    pass


class _Parser(argparse.ArgumentParser):
    def error(self, message):
        raise _StoppedError(message)


def real_parser(options):
    parser = _Parser(prog="p", add_help=False)
    for option in options:
        names = option.spellings or (option.dest,)
        settings_ = {}
        if option.spellings:
            settings_["dest"] = option.dest
            settings_["required"] = option.required
        if option.action in ("store_true", "store_false"):
            settings_["action"] = option.action
        elif option.action == "boolean_optional":
            settings_["action"] = argparse.BooleanOptionalAction
            settings_["default"] = option.default
        else:
            settings_["action"] = option.action
            settings_["type"] = TYPES[option.type]
            settings_["nargs"] = option.nargs
            settings_["default"] = option.default
            if option.choices is not None:
                settings_["choices"] = list(option.choices)
            if option.nargs == "?" and option.spellings:
                settings_["const"] = option.const
        parser.add_argument(*names, **settings_)
    return parser


def real_answer(options, argv):
    try:
        return vars(real_parser(options).parse_args(argv)), None
    except _StoppedError as error:
        return None, str(error)


def our_answer(options, argv):
    parsed = Parser(options).parse(argv, python=sys.version_info[:2])
    if parsed.problems:
        return None, parsed.problems[0].message
    return dict(parsed.values), None


NAMES = [
    "--tp",
    "--tp-size",
    "--tensor",
    "--mem-fraction",
    "--mem",
    "--spec-algo",
    "--spec-steps",
    "--flag",
    "--flag-two",
    "-tp",
    "-q",
    "--cfg",
]


@st.composite
def tables(draw):
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=9, unique=True))
    options = []
    while names:
        spellings = tuple(names.pop() for _ in range(min(len(names), draw(st.integers(1, 2)))))
        dest = f"d{len(options)}"
        action = draw(
            st.sampled_from(
                ["store"] * 6 + ["store_true", "store_false", "append", "boolean_optional"]
            )
        )
        if action == "boolean_optional":
            spellings = tuple(name for name in spellings if name.startswith("--")) or ("--bool",)
        kind = draw(st.sampled_from(list(TYPES)))
        nargs = (
            draw(st.sampled_from([None, None, "?", "*", "+", 1, 2])) if action == "store" else None
        )
        choices = (
            draw(st.sampled_from([None, None, ("EAGLE", "NGRAM", "x")])) if kind == "str" else None
        )
        if action in ("store_true", "store_false", "boolean_optional"):
            kind, choices = "str", None
        options.append(
            Option(
                spellings,
                dest,
                kind,
                action,
                nargs,
                choices,
                required=draw(st.booleans()) and action == "store",
            )
        )
    seen = set()
    unique = [o for o in options if not (set(o.spellings) & seen or seen.update(o.spellings))]
    if draw(st.integers(0, 3)) == 0:
        unique.append(Option((), "model", nargs=draw(st.sampled_from([None, "?"]))))
    return unique


@st.composite
def command_lines(draw, options):
    spellings = [s for o in options for s in o.spellings] + ["--unknown", "-x"]
    values = st.sampled_from(
        [
            "1",
            "-1",
            "0.5",
            "-0.5",
            "EAGLE",
            "x",
            "{}",
            '{"a": 1}',
            "a b",
            "",
            "-",
            "--",
            "-1x",
            "32k",
            " --tp",
            "-q",
            "--no-flag",
            "--bool",
        ]
    )

    def spelled(name):
        cut = st.integers(2, len(name)).map(lambda end: name[:end])
        return st.one_of(
            st.just(name),
            st.just(name),
            cut,
            values.map(lambda value: f"{name}={value}"),
            cut.flatmap(lambda short: values.map(lambda value: f"{short}={value}")),
        )

    option = st.sampled_from(spellings).flatmap(spelled)
    return draw(st.lists(st.one_of(option, values), max_size=9))


@st.composite
def cases(draw):
    options = draw(tables())
    return options, draw(command_lines(options))


def agree(options, argv):
    expected, message = real_answer(options, argv)
    got, ours = our_answer(options, argv)
    if OLD_ARGPARSE:
        assert ours == message
    else:
        assert (ours is None) == (message is None)
    assert got == expected


@settings(max_examples=150, deadline=None)
@given(cases())
def test_agrees_with_argparse(case):
    agree(*case)


@pytest.mark.nightly
@settings(max_examples=5000, deadline=None)
@given(cases())
def test_agrees_with_argparse_for_long(case):
    agree(*case)


TABLE = (
    Option(("--model-path", "--model"), "model_path", required=True),
    Option(("--tensor-parallel-size", "--tp-size", "--tp"), "tp_size", "int", default=1),
    Option(("--context-length",), "context_length", "int"),
    Option(("--cuda-graph-bs",), "cuda_graph_bs", "int", nargs="+"),
    Option(("--speculative-algorithm",), "speculative_algorithm", choices=("EAGLE", "NGRAM")),
    Option(("--speculative-draft-model-path", "--speculative-draft-model"), "draft"),
    Option(("--trust-remote-code",), "trust_remote_code", action="store_true"),
    Option(("--old",), "old", action="DeprecatedAction", nargs=0, fatal="use --new"),
)


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--context-length", "32k"], "argument --context-length: invalid int value: '32k'"),
        (["--context-length"], "argument --context-length: expected one argument"),
        (
            ["--cuda-graph-bs", "--tp", "1"],
            "argument --cuda-graph-bs: expected at least one argument",
        ),
        (
            ["--speculative-algorithm", "DFLASH"],
            "argument --speculative-algorithm: invalid choice: 'DFLASH'"
            " (choose from 'EAGLE', 'NGRAM')",
        ),
        (
            ["--speculative-d", "x"],
            "ambiguous option: --speculative-d could match"
            " --speculative-draft-model-path, --speculative-draft-model",
        ),
        (["-tp", "8"], "unrecognized arguments: -tp 8"),
        (
            ["--trust-remote-code=true"],
            "argument --trust-remote-code: ignored explicit argument 'true'",
        ),
        (["--old"], "use --new"),
    ],
)
def test_says_what_argparse_says(argv, message):
    parsed = Parser(TABLE).parse(["--model", "m", *argv], python=(3, 11))
    assert [problem.message for problem in parsed.problems] == [message]


def test_reports_every_problem_in_argparse_order():
    parsed = Parser(TABLE).parse(["--tp", "x", "--context-length", "y", "--nope"])
    assert [problem.kind for problem in parsed.problems] == [
        "invalid-value",
        "invalid-value",
        "required",
        "unrecognized",
    ]


def test_an_ambiguous_abbreviation_waits_for_its_turn_since_python_3_12():
    argv = ["--model", "m", "--tp", "x", "--speculative-d", "y"]
    old = Parser(TABLE).parse(argv, python=(3, 11)).problems
    new = Parser(TABLE).parse(argv, python=(3, 12)).problems
    assert [problem.kind for problem in old] == ["ambiguous", "invalid-value"]
    assert [problem.kind for problem in new] == ["invalid-value", "ambiguous"]


def test_the_last_of_repeated_flags_counts_and_is_told():
    parsed = Parser(TABLE).parse(["--model", "a", "--tp", "1", "--tp-size=2"])
    assert parsed.values["tp_size"] == 2
    assert [given.words for given in parsed.repeated()["tp_size"]] == [("1",), ("2",)]


def test_canonical_flags_keep_what_was_written():
    argv = ["--model", "m", "--tp", "8", "--cuda-graph-bs", "1", "2", "--trust", "--nope", "x"]
    assert canonical_flags(argv, TABLE) == {
        "model-path": "m",
        "tp-size": "8",
        "cuda-graph-bs": ["1", "2"],
        "trust-remote-code": True,
        "nope": "x",
    }
