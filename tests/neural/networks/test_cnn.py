"""The convolutional network that comes along."""

import pytest

torch = pytest.importorskip("torch")

from ybar.neural import networks  # noqa: E402


def test_shift_moves_all_images_of_a_batch_alike_and_only_in_training():
    images = torch.zeros(5, 1, 9, 9)
    images[:, 0, 4, 4] = torch.arange(1.0, 6.0)
    shift = networks.Shift(2)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        moved = [shift(images) for _ in range(300)]
    at = {tuple(each[0, 0].nonzero()[0].tolist()) for each in moved}
    assert at == {(row, column) for row in range(2, 7) for column in range(2, 7)}
    for each in moved:
        assert each.shape == images.shape
        (row, column) = each[0, 0].nonzero()[0].tolist()
        assert torch.equal(each[:, 0, row, column], images[:, 0, 4, 4])
        assert each.count_nonzero() == 5
    assert shift.eval()(images) is images
    assert networks.Shift(0)(images) is images


def test_what_is_moved_out_is_gone():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        sums = {networks.Shift(1)(torch.ones(1, 1, 3, 3)).sum().item() for _ in range(200)}
    assert sums == {9.0, 6.0, 4.0}


@pytest.mark.parametrize(("side", "n_classes"), [(28, 10), (8, 10), (9, 3), (1, 2)])
def test_any_square_and_number_of_classes(side, n_classes):
    assert networks.small_cnn(side, n_classes)(torch.zeros(4, side**2)).shape == (4, n_classes)
