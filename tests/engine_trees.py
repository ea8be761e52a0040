"""Tiny stand-ins for an engine's source: enough of each style for the harvest to read."""

from __future__ import annotations

import ast
from pathlib import Path
from textwrap import dedent
from typing import Any

from specpreflight.engines.sglang.harvest.source_tree import SourceTree
from specpreflight.engines.sglang.launch_source import BUNDLE
from specpreflight.engines.source.bundle import BundledSources


def write_tree(folder: Path, files: dict[str, str], package: str = "sglang") -> SourceTree:
    """Write the package's files (`srt/server_args.py` → text) and return its tree."""
    root = folder / package
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text))
    return SourceTree(root)


#: Options as calls, the style up to 0.5.13.
ARGPARSE_STYLE = {
    "srt/server_args.py": """
        import argparse, dataclasses, json, sys
        from typing import Optional
        from sglang.srt.utils import human_readable_int

        BACKENDS = ["triton", "fa3"]
        BACKENDS += ["flashinfer"]

        @dataclasses.dataclass
        class ServerArgs:
            model_path: str
            tp_size: int = 1
            max_queued: Optional[int] = sys.maxsize
            speculative_algorithm: Optional[str] = None
            speculative_num_steps: Optional[int] = None
            attention_backend: Optional[str] = None
            hooks: Optional[list] = dataclasses.field(default_factory=list)

            @staticmethod
            def add_cli_args(parser):
                parser.add_argument("--model-path", "--model", type=str, required=True)
                parser.add_argument(
                    "--tensor-parallel-size",
                    "--tp-size",
                    "--tp",
                    type=int,
                    default=ServerArgs.tp_size,
                )
                parser.add_argument("--max-queued", type=int, default=ServerArgs.max_queued)
                parser.add_argument(
                    "--speculative-algorithm", type=str, choices=["EAGLE", "EAGLE3", "NEXTN"]
                )
                parser.add_argument(
                    "--speculative-num-steps",
                    type=int,
                    default=ServerArgs.speculative_num_steps,
                )
                backends = BACKENDS + ["torch_native"]
                parser.add_argument("--attention-backend", choices=backends)
                parser.add_argument("--hooks", type=json.loads, default=ServerArgs.hooks)
                parser.add_argument("--quick", action="store_true")
                parser.add_argument("--length", type=human_readable_int, default=4 * 1024)
                parser.add_argument("--metrics", nargs="*", default=None)
                parser.add_argument("--mode", nargs="?", const="on", default="off")
                parser.add_argument("--old", action=DeprecatedAction, help="--old is gone")
                if True:
                    parser.add_argument("--when", type=float, default=1e-3)

        class DeprecatedAction(argparse.Action):
            def __init__(self, option_strings, dest, nargs=0, **kwargs):
                super().__init__(option_strings, dest, nargs=nargs, **kwargs)

            def __call__(self, parser, namespace, values, option_string=None):
                raise parser.error("no")
        """,
}

#: Options as annotations of the dataclass, the style of 0.5.14 to 0.5.19.
ANNOTATED_STYLE = {
    "srt/arg_groups/arg_utils.py": "",
    "srt/server_args.py": """
        import argparse, dataclasses
        from typing import List, Literal, Optional
        from sglang.srt.arg_groups.arg_utils import A, Arg, add_cli_args_from_dataclass
        from sglang.srt.model_executor.graphs import Backend
        from sglang.srt.utils import human_readable_int, json_list_type

        @dataclasses.dataclass
        class ServerArgs:
            model_path: A[str, Arg(help="path", aliases=["--model"])]
            tp_size: A[
                int, Arg(help="ranks", cli_name="--tensor-parallel-size", aliases=["--tp"])
            ] = 1
            context_length: A[
                Optional[int], Arg(help="x" "y", type_parser=human_readable_int)
            ] = None
            speculative_num_steps: A[Optional[int], "The number of steps."] = None
            quick: A[bool, f"Be {1}."] = False
            maybe: A[Optional[bool], "Perhaps."] = None
            both: A[bool, Arg(help="b", action=argparse.BooleanOptionalAction)] = True
            match_type: A[Literal["BFS", "PROB"], "The match."] = "BFS"
            backend: A[Optional[Literal["a"]], Arg(help="g", choices=Backend.ALL)] = None
            names: A[Optional[List[str]], "Names."] = None
            sizes: A[List[int], Arg(help="s", nargs="*")] = dataclasses.field(default_factory=list)
            rows: A[Optional[List[int]], Arg(help="r", type_parser=json_list_type)] = None
            hidden: A[int, Arg(no_cli=True)] = 3
            plain: int = 4
            renamed: A[
                Optional[str],
                Arg(help="n", action=Renamed, action_kwargs={"new_flag": "--names"}),
            ] = None

            @staticmethod
            def add_cli_args(parser):
                add_cli_args_from_dataclass(parser, ServerArgs)
                parser.add_argument("--old-quick", action=argparse._StoreTrueAction)
                parser.add_argument("--plain", type=int, default=_declared_default("plain"))
                parser.add_argument("--gone", type=int, default=argparse.SUPPRESS)

        class Renamed(argparse.Action):
            pass
        """,
    "srt/model_executor/graphs.py": """
        class Backend:
            FULL = "full"
            NONE = "disabled"
            ALL = (FULL, NONE)
        """,
}

#: Options as annotations of namespace classes, the style from 0.5.20.
FIELDS_STYLE = {
    "srt/arg_groups/fields/__init__.py": "",
    "srt/arg_groups/choices.py": 'ALGORITHMS = ["x"]\n',
    "srt/arg_groups/fields/model.py": """
        import msgspec
        from sglang.srt.arg_groups.arg_utils import A, Arg

        class Model(msgspec.Struct, kw_only=True):
            _NS_PATH = "model"
            model_path: A[str, Arg(help="path", aliases=["--model"])]
        """,
    "srt/arg_groups/fields/spec.py": """
        import msgspec
        from sglang.srt.arg_groups.arg_utils import A, Arg
        from sglang.srt.arg_groups.choices import ALGORITHMS

        class Spec(msgspec.Struct, kw_only=True):
            speculative_algorithm: A[str | None, "The algorithm."] = None
            speculative_num_steps: A[int | None, Arg(help="n", resolvable=True)] = None
            capacity: A[int, "Entries."] = 10 * 1000 * 1000
            kind: A[str, Arg(help="k", choices=ALGORITHMS)] = "x"
            _private: A[bool | None, Arg(no_cli=True)] = None
        """,
    "srt/server_args.py": """
        from sglang.srt.arg_groups.arg_utils import add_cli_args_from_dataclass
        from sglang.srt.arg_groups.fields.model import Model
        from sglang.srt.arg_groups.argparse_actions import DeprecatedStoreTrueAction

        class ServerArgs:
            @staticmethod
            def add_cli_args(parser):
                add_cli_args_from_dataclass(parser, ServerArgs)
                parser.add_argument("--config", type=str)
                parser.add_argument(
                    "--kind-alias",
                    choices=[kind.name.lower() for kind in kinds()],
                    default=_declared_default("kind"),
                )
                parser.add_argument(
                    "--no-graph",
                    action=DeprecatedStoreTrueAction,
                    new_flag="--graph=disabled",
                )

        def kinds():
            from sglang.srt.kinds import Kind

            return list(Kind)
        """,
    "srt/kinds.py": """
        class Kind:
            ALL = "everything"
            NONE = "nothing"
        """,
    "srt/arg_groups/argparse_actions.py": """
        import argparse

        class DeprecatedStoreTrueAction(argparse.Action):
            def __init__(
                self, option_strings, dest, new_flag=None, nargs=0, const=True, default=False, **kw
            ):
                super().__init__(
                    option_strings, dest, nargs=nargs, const=const, default=default, **kw
                )

            def __call__(self, parser, namespace, values, option_string=None):
                setattr(namespace, self.dest, True)
        """,
}


def write_configuration(root: Path, release: str) -> None:
    """Write SGLang's configuration code of a release as files, classes put back together."""
    bundle = BundledSources(BUNDLE, {"sglang": release})
    names = bundle.names("sglang")
    for name in names:
        module = bundle.module(name)
        if module is None:
            continue
        parts = name.split(".")
        is_package = module.package == name
        path = root.joinpath(*parts, "__init__.py") if is_package else root.joinpath(*parts)
        path = path if is_package else path.with_suffix(".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = ["from __future__ import annotations"] if module.strings else []
        for key, definitions in module.definitions.items():
            for definition in definitions:
                lines.append(_with_methods(definition.text, module.methods.get(key, {})))
        path.write_text("\n".join(lines) + "\n")


def _with_methods(text: str, methods: dict[str, Any]) -> str:
    tree = ast.parse(text)
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            for method in methods.values():
                node.body += ast.parse(method.text).body
    return ast.unparse(tree)
