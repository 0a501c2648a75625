"""A small classifier over embeddings, fitted from a choice question's own examples.

Kernel ridge regression with a Gaussian kernel: one linear system, solved once, and the same result
on every machine. It beats the nearest example by far where a question's words decide less than
what is asked about them ("report harassment", "harass somebody").
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]

SHARPNESS = 1.0
"""How fast an example's influence falls with its distance. Set by leaving out one example at a
time: 0.5 confuses more harmful with ordinary texts, 2.0 no longer generalises."""

REGULARISATION = 0.3
"""How little one example alone may bend the result; set together with ``SHARPNESS``."""


class ExampleClassifier:
    """Scores near 1 for the class of a text and near 0 for the others, in the order given.

    Args:
        vectors: one row of length 1 an example.
        labels: each example's class, from 0 to ``classes`` - 1; every class has one at least.
    """

    def __init__(self, vectors: Matrix, labels: Sequence[int], classes: int) -> None:
        chosen = np.asarray(labels)
        targets = np.eye(classes)[chosen]
        # Classes with few examples count as much as those with many.
        weights = len(chosen) / (classes * targets.sum(axis=0))[chosen]
        self._vectors = vectors
        kernel = _kernel(vectors, vectors)
        self._influence = np.linalg.solve(kernel + np.diag(REGULARISATION / weights), targets)

    def scores(self, vectors: Matrix) -> Matrix:
        """One row of scores a text."""
        scores: Matrix = _kernel(vectors, self._vectors) @ self._influence
        return scores


def _kernel(left: Matrix, right: Matrix) -> Matrix:
    kernel: Matrix = np.exp(-SHARPNESS * (2.0 - 2.0 * (left @ right.T)))
    return kernel
