"""Draw complementary labels from a transition matrix."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .. import transition
from ..transition.checking import check_for_labels
from ..utils import checks
from ..utils.encoding import check_classes, check_indices, look_up
from ..utils.random import as_generator
from ..utils.typing import AnyArray, FloatArray, IntArray, Seed

# Rows per block in `draw`, few enough for its buffers to stay in the processor's cache.
_BLOCK = 1 << 15


def draw(
    y: ArrayLike,
    T: ArrayLike,
    random_state: Seed = None,
    *,
    classes: ArrayLike | None = None,
) -> AnyArray:
    """Draw one complementary label per ordinary label: ȳ ~ T[y].

    Parameters
    ----------
    y : array-like of shape (N,)
        Ordinary labels: class indices 0..K-1, or names from `classes`.
    T : array-like of shape (K, K)
        Transition matrix, ``T[y, k] = P(ȳ = k given y)``.
    random_state : int, Generator, RandomState or None
    classes : array-like of shape (K,), optional
        Names of the classes in the order of the rows of T, if `y` holds names.

    Returns
    -------
    ndarray of shape (N,)
        Class indices, or names if `classes` is passed.

    Notes
    -----
    Walker's alias method takes a constant number of steps per label, whatever K. Entries of T
    that are 0 are never drawn, not even by rounding.

    Examples
    --------
    >>> from ybar import labels, transition
    >>> labels.draw([0, 1, 2, 2], transition.uniform(3), random_state=0)
    array([2, 2, 0, 0])
    >>> labels.draw(["cat", "dog"], [[0, 1], [1, 0]], classes=["cat", "dog"])
    array(['dog', 'cat'], dtype='<U3')
    """
    if classes is not None:
        names = check_classes(classes)
        array = transition.check(T, classes=names)
        values = checks.label_array(y, "y must hold one class name per row")
        indices = look_up(checks.label_column(values, "y"), names, "y")
        if len(indices) == 0:
            raise ValueError("y must hold at least one label; got none")
    else:
        names = None
        array = check_for_labels(T, None)
        indices = check_indices(y, len(array), "y")
    n_classes = len(array)
    threshold, alias = (table.ravel() for table in _alias_tables(array))
    generator = as_generator(random_state)
    drawn = np.empty(len(indices), dtype=np.intp)
    for start in range(0, len(indices), _BLOCK):
        block = indices[start : start + _BLOCK]
        fraction = generator.random(len(block))
        fraction *= n_classes
        column = fraction.astype(np.intp)
        fraction -= column
        cell = block * n_classes
        cell += column
        label = alias.take(cell)
        np.copyto(label, column, where=fraction < threshold.take(cell))
        drawn[start : start + _BLOCK] = label
    return drawn if names is None else names[drawn]


def _alias_tables(T: FloatArray) -> tuple[FloatArray, IntArray]:
    """Return Walker's tables for each row of T.

    Column j of row y is drawn with probability 1/K; it then stays j with probability
    ``threshold[y, j]`` and becomes ``alias[y, j]`` otherwise.
    """
    n = len(T)
    rows = np.arange(n)
    mass = T * n
    threshold = np.ones((n, n))
    alias = np.tile(rows, (n, 1))
    # All rows at once, columns below 1 ("small") first. Each step fills one small column up to 1
    # from the first column above 1 (the "donor"), or, if less than 1 is left of the donor, fills
    # the donor from the next one.
    order = np.argsort(mass >= 1, axis=1, kind="stable")
    small = np.zeros(n, dtype=np.intp)
    n_small = (mass < 1).sum(axis=1)
    donor = n_small.copy()
    left = mass[rows, order[rows, np.minimum(donor, n - 1)]]
    active = rows[donor < n]
    while len(active):
        spent = left[active] < 1
        passing, filling = active[spent & (donor[active] + 1 < n)], active[~spent]
        filling = filling[small[filling] < n_small[filling]]
        column, source = order[filling, small[filling]], order[filling, donor[filling]]
        threshold[filling, column] = mass[filling, column]
        alias[filling, column] = source
        left[filling] -= 1 - mass[filling, column]
        small[filling] += 1
        column, source = order[passing, donor[passing]], order[passing, donor[passing] + 1]
        threshold[passing, column] = left[passing]
        alias[passing, column] = source
        left[passing] += mass[passing, source] - 1
        donor[passing] += 1
        active = np.union1d(filling, passing)
    # Rounding can leave columns unprocessed: they are full, unless T is 0 there.
    over = (T == 0) & (threshold == 1)
    threshold[over] = 0
    alias[over] = np.argmax(T, axis=1)[np.nonzero(over)[0]]
    return threshold, alias
