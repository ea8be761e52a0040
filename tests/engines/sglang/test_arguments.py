"""SGLang's own parser is the oracle: recorded verdicts, and argparse with the harvested table."""

import argparse
import json
import re
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specpreflight.engines.sglang import arguments
from specpreflight.engines.sglang.arguments import (
    ConfigFileError,
    merge_config,
    options,
    options_for_words,
    parse,
)
from specpreflight.engines.sglang.knowledge import load
from specpreflight.models.argument_parser import ConversionError, Parser, canonical_flags

LAUNCHES = Path(__file__).resolve().parents[4] / "shared" / "launches"
RECORDED = [
    pytest.param(expected["argv"], version, verdict, id=f"{path.name[:3]}-{version}")
    for path in sorted(LAUNCHES.glob("*.expect.json"))
    for expected in [json.loads(path.read_text())]
    for version, verdict in expected.get("engine_parser", {}).items()
]


RECORDED_LENGTH = 190 + len("rejects: ")


def matches(message, verdict):
    """Say whether a message is the recorded one, which is cut and lacks the list of choices."""
    shown = message if "(choose from" in verdict else message.partition(" (choose from")[0]
    return shown.startswith(verdict) and (shown == verdict or len(verdict) >= RECORDED_LENGTH)


@pytest.mark.shared
@pytest.mark.parametrize(("argv", "version", "verdict"), RECORDED)
def test_says_what_the_release_says(argv, version, verdict):
    parsed = parse(argv, load(version))
    got = "accepts" if not parsed.problems else f"rejects: {parsed.problems[0].message}"
    assert matches(got, verdict), (got, verdict)


class _StoppedError(Exception):
    pass


class _Parser(argparse.ArgumentParser):
    def error(self, message):
        raise _StoppedError(message)


class _Stored(argparse.Action):
    """A stand-in for the engine's own actions: takes its words, stores its constant."""

    def __call__(self, parser, namespace, values, option_string=None):
        setattr(namespace, self.dest, self.const if self.nargs == 0 else values)


def _raising(convert):
    def converted(text):
        try:
            return convert(text)
        except ConversionError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return converted


def real_parser(version):
    parser = _Parser(prog="p", add_help=False)
    known = {
        "str": ("str", str),
        "int": ("int", int),
        "float": ("float", float),
        "bool": ("bool", bool),
        "json": ("loads", json.loads),
        **arguments._CONVERTERS,
    }
    for option in options(load(version)):
        given = {"dest": option.dest, "default": option.default}
        if option.action == "help":
            parser.add_argument(*option.spellings, dest="help", action=_Stored, nargs=0)
            continue
        if option.action in ("store_true", "store_false"):
            given = {"dest": option.dest, "action": option.action}
        elif option.action == "boolean_optional":
            given["action"] = argparse.BooleanOptionalAction
        else:
            name, convert = known[option.type]
            converted = _raising(convert)
            converted.__name__ = name
            given |= {"type": converted, "nargs": option.nargs, "required": option.required}
            if option.choices is not None:
                given["choices"] = list(option.choices)
            if option.action != "store":
                given |= {"action": _Stored, "const": option.const}
            elif option.nargs == "?":
                given["const"] = option.const
        parser.add_argument(*option.spellings, **given)
    return parser


def command_lines(version):
    spelled = sorted({name for option in options(load(version)) for name in option.spellings})
    speculative = [name for name in spelled if "spec" in name or "cuda-graph" in name]
    choices = sorted(
        {str(c) for option in options(load(version)) for c in option.choices or () if c is not None}
    )
    value = st.one_of(
        st.sampled_from(
            ["1", "-1", "0.5", "32k", "8Ki", "true", "{}", "[1]", "", "a b", "--", "x"]
        ),
        st.sampled_from(choices),
    )
    name = st.one_of(st.sampled_from(spelled), st.sampled_from(speculative))
    abbreviated = st.tuples(name, st.integers(4, 40)).map(lambda pair: pair[0][: pair[1]])
    option = st.one_of(name, abbreviated, st.tuples(name, value).map("=".join))
    return st.lists(st.one_of(option, value), max_size=10).map(
        lambda words: ["--model", "m", *words]
    )


def agree(version, parser, argv):
    ours = parse(argv, load(version), python=sys.version_info[:2])
    theirs = None
    try:
        values = vars(parser.parse_args(argv))
    except _StoppedError as error:
        theirs = str(error)
    message = ours.problems[0].message if ours.problems else None
    if sys.version_info < (3, 12):
        assert message == theirs
    else:
        assert (message is None) == (theirs is None)
    if theirs is None:
        given = {found.option.dest for found in ours.given}
        assert {name: ours.values[name] for name in given} == {name: values[name] for name in given}


@pytest.mark.parametrize("version", ["0.4.6.post5", "0.5.9", "0.5.23"])
def test_agrees_with_argparse(version):
    parser = real_parser(version)

    @settings(max_examples=60, deadline=None)
    @given(command_lines(version))
    def check(argv):
        agree(version, parser, argv)

    check()


@pytest.mark.nightly
@pytest.mark.parametrize("version", ["0.4.6.post5", "0.5.3", "0.5.9", "0.5.14", "0.5.20", "0.5.23"])
def test_agrees_with_argparse_for_long(version):
    parser = real_parser(version)

    @settings(max_examples=2000, deadline=None)
    @given(command_lines(version))
    def check(argv):
        agree(version, parser, argv)

    check()


@pytest.mark.parametrize(
    ("version", "config", "words"),
    [
        ("0.5.2", {"tp": 2}, ["--x", "--config", "f", "--y"]),
        ("0.5.3", {"tp-size": 2, "trust-remote-code": True, "a": False}, None),
        ("0.5.9", {"trust-remote-code": False, "disable-radix-cache": True}, None),
        ("0.5.9", {"speculative-draft-model-path": "d", "cuda-graph-bs": [1, 2], "x": []}, None),
        ("0.5.14", {"json-model-override-args": {"a": 1}}, None),
    ],
)
def test_config_files_come_before_the_command_line(version, config, words):
    merged = merge_config(["--x", "--config", "f", "--y"], config, load(version))
    expected = {
        "0.5.3": ["--tp-size", "2", "--trust-remote-code"],
        "0.5.9": ["--disable-radix-cache"]
        if "disable-radix-cache" in config
        else ["--speculative-draft-model-path", "d", "--cuda-graph-bs", "1", "2"],
        "0.5.14": ["--json-model-override-args", '{"a": 1}'],
    }
    assert merged == (words or [*expected[version], "--x", "--y"])


@pytest.mark.parametrize(
    ("version", "argv", "config", "message"),
    [
        ("0.5.9", ["--config", "a", "--config", "b"], {}, "Multiple config files specified"),
        ("0.5.9", ["--config"], {}, "No config file specified after --config flag!"),
        ("0.5.9", ["--config", "a"], {"lora-paths": ["x"]}, "'LoRAPathAction'"),
    ],
)
def test_config_files_that_are_refused(version, argv, config, message):
    with pytest.raises(ConfigFileError, match=re.escape(message)):
        merge_config(argv, config, load(version))


def test_a_config_key_with_an_underscore_is_no_option():
    parsed = parse(["--config", "f"], load("0.5.9"), config={"model-path": "m", "tp_size": 2})
    assert parsed.problems[0].message == "unrecognized arguments: --tp_size 2"


@pytest.mark.parametrize(
    ("word", "release", "name"),
    [
        ("--tp", "0.5.9", "tp-size"),
        ("--speculative-algo", "0.5.23", "speculative-algorithm"),
        ("--speculative-draft", "0.5.23", "speculative-draft-model-path"),
        ("--mamba-scheduler-strategy", "0.5.23", "mamba-scheduler-strategy"),
        ("--nccl-init", "0.5.9", "dist-init-addr"),
        ("--no-such-flag", "0.5.23", "no-such-flag"),
    ],
)
def test_old_and_short_spellings_have_one_name(word, release, name):
    assert canonical_flags([word, "x"], options_for_words([word], release)) == {name: "x"}


@pytest.mark.parametrize(
    ("text", "value"), [("1k", 1000), ("1Ki", 1024), ("25.6k", 25600), (" 7 ", 7), ("2M", 2000000)]
)
def test_numbers_with_suffixes(text, value):
    assert arguments.human_readable_int(text) == value


@pytest.mark.parametrize("text", ["1.5Ki", "1kk", "k", "1K"])
def test_numbers_that_are_none(text):
    with pytest.raises(ConversionError):
        arguments.human_readable_int(text)


def test_the_table_is_parsed_in_the_order_of_the_release():
    parsed = Parser(options(load("0.5.9"))).parse(["--help"])
    assert parsed.given[0].option.action == "help"
