"""Matrix products: the same numbers from both libraries."""

from __future__ import annotations

import itertools

import pytest

torch = pytest.importorskip("torch")

from ybar.neural.networks import products  # noqa: E402

SIZES = {"small": (7, 5, 3), "large": (500, 784, 256)}
ORDERS = list(itertools.product((False, True), repeat=2))


def matrix(rows, columns, transposed):
    generator = torch.Generator().manual_seed(rows)
    if transposed:
        return torch.randn(columns, rows, generator=generator).t()
    return torch.randn(rows, columns, generator=generator)


@pytest.mark.parametrize("with_column", [False, True])
@pytest.mark.parametrize("orders", ORDERS, ids=str)
@pytest.mark.parametrize("size", SIZES)
def test_products_are_exact_to_rounding(size, orders, with_column):
    m, k, n = SIZES[size]
    a, b = matrix(m, k, orders[0]), matrix(k, n, orders[1])
    column = matrix(m, 1, False) if with_column else None
    out = torch.full((m, n), float("nan"))
    products.multiply(a, b, out, column)
    exact = a.double() @ b.double() + (column.double() if with_column else 0.0)
    torch.testing.assert_close(out.double(), exact, rtol=0, atol=2e-4)


def test_only_large_products_call_the_private_operator_of_torch(monkeypatch):
    calls = []

    def record(a, b, *_):
        calls.append(tuple(a.shape))
        return a @ b.t()

    monkeypatch.setattr(products, "_onednn", record)
    for m, k, n in SIZES.values():
        products.multiply(torch.rand(m, k), torch.rand(k, n), torch.empty(m, n))
    assert calls == [SIZES["large"][:2]]


def test_without_the_private_operator_torch_multiplies(monkeypatch):
    monkeypatch.setattr(products, "_onednn", None)
    a, b = matrix(500, 784, False), matrix(784, 256, False)
    out = torch.empty(500, 256)
    products.multiply(a, b, out)
    assert torch.equal(out, torch.mm(a, b))
