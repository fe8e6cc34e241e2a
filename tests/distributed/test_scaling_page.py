"""The decoder of the page on scaling, which a pandas UDF of Spark calls."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd

from ybar import decode

PAGE = Path(__file__).resolve().parents[2] / "docs" / "scaling.md"


def test_the_function_for_spark_decodes_as_ybar_does():
    (snippet,) = [
        each
        for each in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
        if "def decoded" in each
    ]
    names = {}
    exec(snippet, names)
    q = np.random.default_rng(0).dirichlet(np.ones(3), 50)
    expected = names["classes"][decode.decode(q, names["T"], "l1")]
    # Rows of any index, as Spark passes them, and partitions without rows.
    result = names["decoded"](pd.Series(list(q), index=range(7, 57)))
    assert result.tolist() == expected.tolist()
    assert len(names["decoded"](pd.Series([], dtype=object))) == 0
