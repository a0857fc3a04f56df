"""The command ``maxmargin``: one module per subcommand.

A command must start about as fast as numpy is imported, so the modules here import numerical code inside functions,
and never scikit-learn (``bench`` alone does, to compare with it).
"""

import gc
import os
import sys
from contextlib import suppress


def main() -> None:
    """Run the command and exit, without taking the interpreter apart: that takes a tenth of a short run."""
    # A tenth of the start is the search for garbage in cycles, of which a command makes next to none; and numpy's BLAS
    # would keep a second processor busy with waiting for work that never comes.
    gc.disable()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        import signal

        from maxmargin.cli.app import raise_terminated, run

        signal.signal(signal.SIGTERM, raise_terminated)
        code = run()
    except KeyboardInterrupt:  # while starting
        code = 130
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):  # closed or gone: nobody is listening
            stream.flush()
    os._exit(code)
