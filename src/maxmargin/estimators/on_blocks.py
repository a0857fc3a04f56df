"""Blocks as the data of estimators: loaded where they fit within their memory limit, streamed where not."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.io.blocks import Blocks
from maxmargin.models.model import linear_scores
from maxmargin.problems.losses import Floats


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
