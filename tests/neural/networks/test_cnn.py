"""The networks for images, and how images move in training."""

import functools

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import ybar  # noqa: E402
from bad_input import assert_one_clear_line  # noqa: E402
from neural_helpers import net  # noqa: E402
from ybar.neural import networks  # noqa: E402

BUILDERS = [networks.small_cnn, functools.partial(networks.resnet18, width=4)]


@pytest.fixture(autouse=True)
def _seeded():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        yield


def test_a_batch_is_shifted_alike_and_only_in_training():
    images = torch.zeros(5, 1, 9, 9)
    images[:, 0, 4, 4] = torch.arange(1.0, 6.0)
    augment = networks.Augment(2, flip=False, per_image=False)
    moved = [augment(images) for _ in range(300)]
    at = {tuple(each[0, 0].nonzero()[0].tolist()) for each in moved}
    assert at == {(row, column) for row in range(2, 7) for column in range(2, 7)}
    for each in moved:
        assert each.shape == images.shape
        (row, column) = each[0, 0].nonzero()[0].tolist()
        assert torch.equal(each[:, 0, row, column], images[:, 0, 4, 4])
        assert each.count_nonzero() == 5


@pytest.mark.parametrize("per_image", [True, False])
def test_what_is_moved_out_is_gone(per_image):
    augment = networks.Augment(1, flip=False, per_image=per_image)
    sums = {augment(torch.ones(1, 1, 3, 3)).sum().item() for _ in range(200)}
    assert sums == {9.0, 6.0, 4.0}


@pytest.mark.parametrize("per_image", [True, False])
def test_nothing_moves_outside_training_or_without_moves(per_image):
    images = torch.rand(2, 3, 5, 5)
    assert networks.Augment(per_image=per_image).eval()(images) is images
    assert networks.Augment(0, flip=False, per_image=per_image)(images) is images


@pytest.mark.parametrize("flip", [True, False])
def test_each_image_is_moved_by_itself_and_all_its_channels_alike(flip):
    """Each result is one of the shifts, and of the mirrored shifts, of its image; all occur."""
    images = torch.rand(400, 3, 4, 5)
    moved = networks.Augment(1, flip=flip)(images)
    assert moved.shape == images.shape
    seen = set()
    for image, result in zip(images, moved, strict=True):
        padded = torch.nn.functional.pad(image, (1, 1, 1, 1))
        candidates = {}
        for down in range(3):
            for right in range(3):
                shifted = padded[:, down : down + 4, right : right + 5]
                candidates[down, right, False] = shifted
                candidates[down, right, True] = shifted.flip(-1)
        (move,) = [name for name, each in candidates.items() if torch.equal(each, result)]
        seen.add(move)
    assert len(seen) == (18 if flip else 9)
    assert flip or not any(mirrored for _, _, mirrored in seen)


def test_a_batch_is_mirrored_half_of_the_time():
    images = torch.rand(3, 2, 4, 4)
    augment = networks.Augment(0, per_image=False)
    mirrored = [torch.equal(augment(images), images.flip(-1)) for _ in range(200)]
    assert 60 < sum(mirrored) < 140


@pytest.mark.parametrize("side", [28, 32, 9, 8])
@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("build", BUILDERS)
def test_any_square_number_of_channels_and_of_classes(build, channels, side):
    network = build(side, 7, channels=channels)
    rows = torch.rand(4, channels * side**2)
    assert network(rows).shape == (4, 7)
    network.eval()
    images = rows.view(4, channels, side, side)
    torch.testing.assert_close(network(images), network(rows))


@pytest.mark.parametrize("bfloat16", [False, True])
def test_a_residual_network_has_18_layers_and_returns_float32(bfloat16):
    network = networks.resnet18(width=8, bfloat16=bfloat16)
    layers = [m for m in network.modules() if isinstance(m, (torch.nn.Conv2d, torch.nn.Linear))]
    assert len([m for m in layers if getattr(m, "kernel_size", None) != (1, 1)]) == 18
    logits = network(torch.rand(4, 3072))
    assert logits.dtype == torch.float32
    logits.sum().backward()
    assert all(p.grad.dtype == torch.float32 for p in network.parameters())
    n_weights = sum(p.numel() for p in networks.resnet18().parameters())
    assert 11.1e6 < n_weights < 11.2e6  # as published for ResNet-18 with a 3 x 3 stem


@pytest.mark.parametrize("build", BUILDERS)
@pytest.mark.parametrize("shape", [(60, 100), (60, 3, 8, 9), (60, 8, 8, 3), (60, 8, 8)])
def test_images_of_another_shape_are_refused(build, shape):
    network = functools.partial(build, 8, 3, channels=3)
    assert_one_clear_line(
        lambda: net(network=network, max_epochs=1).fit(np.zeros(shape), np.arange(60) % 3),
        ValueError,
        "X",
        "(3, 8, 8)",
        "192",
        str(shape[1:]),
    )


def test_one_line_trains_and_saves_a_network_for_images(strong, tmp_path):
    X, y_comp, X_test, y_test, T = strong
    network = functools.partial(networks.resnet18, 8, channels=1, width=4, shift=1, flip=False)
    clf = net(network=network, transition=T, max_epochs=12, batch_size=64, learning_rate=3e-3)
    clf.fit(X, y_comp)
    assert np.mean(clf.predict(X_test) == y_test) > 0.6
    with pytest.warns(UserWarning, match=r"functools\.partial"):
        ybar.save(clf, tmp_path / "model.ybar")
    loaded = ybar.load(tmp_path / "model.ybar", trusted=["functools.partial"])
    np.testing.assert_array_equal(loaded.predict(X_test), clf.predict(X_test))
