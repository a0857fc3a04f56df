"""How long single runs may take, in seconds: all limits are here, so that a full run stays within hours.

Each is a pair, for quick and for full mode. A method that meets its limit has a curve up to there; a program that knows
no limits is ended. What meets its limit is not tried with more rows or a larger C.
"""

from __future__ import annotations

#: The optimum of a problem, to a gap of 1e-6 or 1e-7.
REFERENCE = (30.0, 120.0)
#: Methods of Hsieh et al., and TRON.
PAPER000 = (2.0, 20.0)
#: Both methods of Glasmachers and Dogan, for each C.
PAPER001 = (4.0, 30.0)
#: Methods of Keerthi et al., and a single fit of their tables.
PAPER003 = (5.0, 30.0)
PAPER003_FIT = (10.0, 10.0)
#: SVM-perf, and the decomposition method beside it.
PAPER004 = (8.0, 20.0)
DECOMPOSITION = (8.0, 60.0)
#: A run of a program of others, which may be the last one of a curve.
PEER = (2.0, 10.0)
#: What starting, reading and compiling may take such a program before its own time begins.
PEER_START = (20.0, 60.0)
