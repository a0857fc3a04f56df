"""The command ``maxmargin``: one module per subcommand.

A command must start about as fast as numpy is imported, so the modules here import numerical code inside functions,
and never scikit-learn (``bench`` alone does, to compare with it).
"""

import sys


def main() -> None:
    """Run the command and exit."""
    try:
        import signal

        from maxmargin.cli.app import raise_terminated, run

        signal.signal(signal.SIGTERM, raise_terminated)
        code = run()
    except KeyboardInterrupt:  # while starting
        code = 130
    sys.exit(code)
