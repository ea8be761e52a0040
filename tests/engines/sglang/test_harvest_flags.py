"""The option table, read from each of the three styles."""

from __future__ import annotations

import argparse
import sys

import pytest
from engine_trees import ANNOTATED_STYLE, ARGPARSE_STYLE, FIELDS_STYLE, write_tree

from specpreflight.engines.sglang.facts import UNKNOWN, Flag
from specpreflight.engines.sglang.harvest.flags import read_flags


def test_calls(tmp_path):
    flags = read_flags(write_tree(tmp_path, ARGPARSE_STYLE))
    assert [*flags.values()] == [
        Flag("--model-path", ("--model",), "model_path", required=True),
        Flag(
            "--tensor-parallel-size",
            ("--tp-size", "--tp"),
            "tensor_parallel_size",
            "int",
            default=1,
        ),
        Flag("--max-queued", (), "max_queued", "int", default=sys.maxsize),
        Flag(
            "--speculative-algorithm",
            dest="speculative_algorithm",
            choices=("EAGLE", "EAGLE3", "NEXTN"),
        ),
        Flag("--speculative-num-steps", dest="speculative_num_steps", type="int"),
        Flag(
            "--attention-backend",
            dest="attention_backend",
            choices=("triton", "fa3", "flashinfer", "torch_native"),
        ),
        Flag("--hooks", dest="hooks", type="json", default=[]),
        Flag("--quick", dest="quick", type="bool", action="store_true", default=False),
        Flag("--length", dest="length", type="human_readable_int", default=4096),
        Flag("--metrics", dest="metrics", nargs="*"),
        Flag("--mode", dest="mode", nargs="?", const="on", default="off"),
        Flag(
            "--old",
            dest="old",
            type="bool",
            action="DeprecatedAction",
            nargs=0,
            deprecated="--old is gone",
            fatal=True,
        ),
        Flag("--when", dest="when", type="float", default=0.001),
    ]


def test_annotations(tmp_path):
    flags = read_flags(write_tree(tmp_path, ANNOTATED_STYLE))
    assert [*flags.values()] == [
        Flag("--model-path", ("--model",), "model_path", required=True),
        Flag("--tensor-parallel-size", ("--tp",), "tp_size", "int", default=1),
        Flag("--context-length", dest="context_length", type="human_readable_int"),
        Flag("--speculative-num-steps", dest="speculative_num_steps", type="int"),
        Flag("--quick", dest="quick", type="bool", action="store_true", default=False),
        Flag("--maybe", dest="maybe", type="bool", action="store_true"),
        Flag("--both", dest="both", type="bool", action="boolean_optional", default=True),
        Flag("--match-type", dest="match_type", choices=("BFS", "PROB"), default="BFS"),
        Flag("--backend", dest="backend", choices=("full", "disabled")),
        Flag("--names", dest="names", nargs="+"),
        Flag("--sizes", dest="sizes", type="int", nargs="*", default=[]),
        Flag("--rows", dest="rows", type="json_list_type"),
        Flag("--renamed", dest="renamed", action="Renamed"),
        Flag("--old-quick", dest="old_quick", action="_StoreTrueAction"),
        Flag("--plain", dest="plain", type="int", default=4),
        Flag("--gone", dest="gone", type="int", default=argparse.SUPPRESS),
    ]


def test_fields(tmp_path):
    flags = read_flags(write_tree(tmp_path, FIELDS_STYLE))
    assert [*flags.values()] == [
        Flag("--model-path", ("--model",), "model_path", required=True),
        Flag("--speculative-algorithm", dest="speculative_algorithm"),
        Flag("--speculative-num-steps", dest="speculative_num_steps", type="int"),
        Flag("--capacity", dest="capacity", type="int", default=10_000_000),
        Flag("--kind", dest="kind", choices=("x",), default="x"),
        Flag("--config", dest="config"),
        Flag("--kind-alias", dest="kind_alias", choices=("all", "none"), default="x"),
        Flag(
            "--no-graph",
            dest="no_graph",
            type="bool",
            action="DeprecatedStoreTrueAction",
            nargs=0,
            default=False,
            const=True,
            deprecated="--graph=disabled",
        ),
    ]


@pytest.mark.parametrize("expression", ["is_cuda()", "torch.version.cuda", "{}[1]", "1 / 0"])
def test_what_depends_on_run_time_is_unknown(tmp_path, expression):
    text = f"""
        class ServerArgs:
            def add_cli_args(parser):
                parser.add_argument("--a", default={expression}, choices={expression})
        """
    flag = read_flags(write_tree(tmp_path, {"srt/server_args.py": text}))["--a"]
    assert flag.default is UNKNOWN
    assert flag.choices is UNKNOWN


def test_fields_are_registered_in_the_order_of_the_constructor(tmp_path):
    order = 'POSITIONAL_FIELD_ORDER = ("capacity", "model_path", "not_there", "kind")\n'
    tree = write_tree(tmp_path, {**FIELDS_STYLE, "srt/arg_groups/field_order.py": order})
    assert [*read_flags(tree)][:5] == [
        "--capacity",
        "--model-path",
        "--kind",
        "--speculative-algorithm",
        "--speculative-num-steps",
    ]


def test_choices_are_followed_through_star_imports(tmp_path):
    files = {
        "srt/utils/__init__.py": "from sglang.srt.utils.common import *\n",
        "srt/utils/common.py": "MODULES = ['q_proj']\nALL = 'all'\n",
        "srt/server_args.py": """
            from sglang.srt.utils import ALL, MODULES

            class ServerArgs:
                def add_cli_args(parser):
                    parser.add_argument("--modules", choices=MODULES + [ALL])
            """,
    }
    assert read_flags(write_tree(tmp_path, files))["--modules"].choices == ("q_proj", "all")


@pytest.mark.parametrize("text", ["", "class ServerArgs: pass", "class ServerArgs(:", "x = \0"])
def test_a_tree_without_options_has_none(tmp_path, text):
    assert read_flags(write_tree(tmp_path, {"srt/server_args.py": text})) == {}
