"""The estimators over a Dask cluster: ``from maxmargin.dask import LinearSVC``.

The data lie in blocks on the workers and never pass through the client. What is computed are pure tasks of the
scheduler: no sockets, no pinned workers. The result depends on the blocks, not on the workers.
"""

from __future__ import annotations

try:
    import dask
    import distributed
except ImportError as error:  # pragma: no cover, runs in a process of its own
    raise ImportError(
        f"maxmargin.dask needs the packages dask and distributed ({error}); install them by "
        "pip install 'maxmargin[dask]'"
    ) from error

from maxmargin.dask.linear_rank_svm import LinearRankSVM
from maxmargin.dask.linear_svc import LinearSVC
from maxmargin.dask.linear_svr import LinearSVR

__all__ = ["LinearRankSVM", "LinearSVC", "LinearSVR"]

del dask, distributed
