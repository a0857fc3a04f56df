"""One module per method of the papers, the choice between them, and ``solve``, the one way in."""

from maxmargin.solvers.methods import METHODS, SOLVERS
from maxmargin.solvers.solve import solve

__all__ = ["METHODS", "SOLVERS", "solve"]
