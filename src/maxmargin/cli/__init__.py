"""The command ``maxmargin``: one module per subcommand.

A command must start about as fast as numpy is imported, so the modules here import numerical code inside functions,
and never scikit-learn (``bench`` alone does, to compare with it).
"""

from maxmargin.cli.app import main

__all__ = ["main"]
