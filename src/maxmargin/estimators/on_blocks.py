"""Blocks as the data of estimators: loaded where they fit within their memory limit, streamed where not."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.io.blocks import Blocks
from maxmargin.models.model import linear_scores
from maxmargin.problems.losses import Floats
from maxmargin.training.streaming import needs_loading


def loaded(X: Any, y: Any, sample_weight: Any = None, qid: Any = None) -> tuple[Any, Any, Any, Any]:
    """Rows, labels, weights and query numbers: of blocks that fit their own, unless given; all else as it is."""
    if not isinstance(X, Blocks) or not X.fits:
        return X, y, sample_weight, qid
    y = X.y if y is None else y
    sample_weight = X.sample_weight if sample_weight is None else sample_weight
    qid = X.qid if qid is None else qid
    return X.load(), y, sample_weight, qid


def must_load(what: str, X: Any, y: Any, sample_weight: Any = None, qid: Any = None) -> tuple[Any, Any, Any, Any]:
    """The same, for what does not stream: blocks that do not fit are an error."""
    if isinstance(X, Blocks) and not X.fits:
        raise needs_loading(X, what)
    return loaded(X, y, sample_weight, qid)


def labels_of(X: Any, y: Any) -> Any:
    """Labels as they are given, or those of blocks."""
    return X.y if y is None and isinstance(X, Blocks) else y


def block_scores(blocks: Blocks, coef: Floats, intercept: Floats) -> Floats:
    """Scores of all rows, read block by block."""
    if blocks.shape[1] != coef.shape[1]:
        raise ValueError(
            f"{blocks.path} has {blocks.shape[1]} features, but the model was fitted with {coef.shape[1]} features"
        )
    scores = np.empty((blocks.shape[0], len(coef)))
    coef = np.asfortranarray(coef)
    for block in blocks.blocks(ahead=2):
        scores[block.begin : block.begin + block.X.shape[0]] = linear_scores(block.X, coef, intercept)
    return scores
