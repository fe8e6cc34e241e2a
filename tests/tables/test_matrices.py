"""The transition matrix of a table."""

import numpy as np
import pytest

from ybar.transition.reading import MatrixError, read_matrix


def test_a_matrix_may_have_names_on_any_side(tmp_path):
    for text in ("0,1\n1,0\n", "a,b\n0,1\n1,0\n", ",a,b\na,0,1\nb,1,0\n", "a,0,1\nb,1,0\n"):
        (tmp_path / "T.csv").write_text(text)
        found = read_matrix(tmp_path / "T.csv")
        np.testing.assert_array_equal(found.T, [[0, 1], [1, 0]])
        assert found.classes in (None, ["a", "b"])
    (tmp_path / "T.csv").write_text(",a,b\nb,0,1\na,1,0\n")
    with pytest.raises(MatrixError, match="names its rows and columns alike"):
        read_matrix(tmp_path / "T.csv")
    (tmp_path / "T.csv").write_text(",0.87,0.13\n0.87,0,0.13\n0.87,0.13,0\n")
    with pytest.raises(MatrixError, match="fill in the first cell"):
        read_matrix(tmp_path / "T.csv")
