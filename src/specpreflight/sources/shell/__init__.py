"""Bash, as far as launch scripts need it: a parser and an interpreter that runs nothing.

tree-sitter-bash and bashlex were tried first. The one keeps no exact text of blanks in strings,
hangs the rest of a pipeline under a here-document and takes `<placeholder>` for a redirection; the
other knows neither `case` nor arithmetic. What an interpreter needs is less than working around
either.
"""

from specpreflight.sources.shell.execution import Execution
from specpreflight.sources.shell.interpreter import Shell
from specpreflight.sources.shell.parser import ShellSyntaxError
from specpreflight.sources.shell.syntax import SHELLS

__all__ = ["SHELLS", "Execution", "Shell", "ShellSyntaxError"]
