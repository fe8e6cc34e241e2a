"""`read_matrix` reads every form of T that a user may write, in the order of the classes."""

import io

import numpy as np
import pandas as pd
import pytest

from ybar import transition
from ybar.transition.reading import Matrix, MatrixError, as_csv, read_matrix

CLASSES = ["cat", "cow", "dog"]
T = transition.weak(3, random_state=0)
REVERSED = T[::-1, ::-1]


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "T.csv"
    path.write_text(as_csv(T, CLASSES))
    return path


def test_words_need_the_number_of_classes():
    np.testing.assert_array_equal(read_matrix("uniform", 3).T, transition.uniform(3))
    for word, build in (("weak", transition.weak), ("strong", transition.strong)):
        np.testing.assert_array_equal(read_matrix(word, CLASSES, random_state=7).T, build(3, 7))
        with pytest.raises(MatrixError, match=f"T must .* got '{word}'"):
            read_matrix(word)


def test_words_draw_from_the_generator_of_the_caller():
    first, second = np.random.default_rng(3), np.random.default_rng(3)
    np.testing.assert_array_equal(
        read_matrix("strong", 5, random_state=first).T, transition.strong(5, second)
    )
    assert first.random() == second.random()


def test_the_matrices_of_annotators_have_their_classes_by_name():
    matrix = read_matrix("clcifar10")
    np.testing.assert_array_equal(matrix.T, transition.annotators("clcifar10"))
    assert matrix.classes[0] == "airplane"
    assert len(matrix.classes) == 10


def test_every_source_with_names_has_the_order_of_the_classes(file):
    frame = pd.DataFrame(T, index=CLASSES, columns=CLASSES)
    with file.open() as opened:
        for source in (file, str(file), opened, frame, Matrix(T, CLASSES)):
            matrix = read_matrix(source, CLASSES[::-1])
            np.testing.assert_array_equal(matrix.T, REVERSED)
            assert matrix.classes == CLASSES[::-1]


def test_every_source_without_names_keeps_its_order():
    text = "\n".join(",".join(map(str, row)) for row in T.tolist())
    for source in (T, T.tolist(), Matrix(T, None), io.StringIO(text)):
        matrix = read_matrix(source, CLASSES)
        np.testing.assert_array_equal(matrix.T, T)
        assert matrix.classes is None


def test_a_word_wins_over_a_file_of_its_name(tmp_path, monkeypatch, file):
    monkeypatch.chdir(tmp_path)
    file.rename(tmp_path / "uniform")
    np.testing.assert_array_equal(read_matrix("uniform", 3).T, transition.uniform(3))
    np.testing.assert_array_equal(read_matrix("./uniform", 3).T, T)


# Each: the source, further arguments, and what the error must show.
BAD = {
    "no word, no file": (("unifrom", 3), {"name": "--transition"}, ["--transition", "'unifrom'"]),
    "a word that is not allowed": (
        ("weak", 3),
        {"name": "T", "words": ["uniform"]},
        ["T", "'uniform'", "'weak'"],
    ),
    "another size": ((T, ["a", "b"]), {}, ["T", "2", "3"]),
    "another size in numbers": ((T, 4), {"name": "--transition"}, ["--transition", "4", "3"]),
    "other names": ((Matrix(T, CLASSES), list("abc")), {}, ["T", "a, b, c", "cat, cow, dog"]),
    "no square": ((T[:2],), {}, ["T", "(2, 3)"]),
    "no numbers": (([["a", "b"], ["c", "d"]],), {}, ["T", "'a'"]),
    "rows that do not sum to 1": ((io.StringIO("0,1\n2,0\n"),), {"name": "x.csv"}, ["x.csv", "2"]),
    "no text": ((io.StringIO(""),), {"name": "standard input"}, ["standard input"]),
}


@pytest.mark.parametrize(("arguments", "keywords", "shows"), BAD.values(), ids=BAD)
def test_what_is_no_matrix_of_the_classes_raises_one_line(arguments, keywords, shows):
    with pytest.raises(MatrixError) as caught:
        read_matrix(*arguments, **keywords)
    text = str(caught.value)
    assert "\n" not in text
    assert not [part for part in shows if part not in text], text


def test_a_file_that_does_not_exist_is_named(tmp_path):
    with pytest.raises(MatrixError, match=r"none\.csv"):
        read_matrix(tmp_path / "none.csv")
