from __future__ import annotations

import pytest
from distributed import Client


@pytest.fixture(scope="session")
def _client():
    """Two workers as threads of this process: LightGBM's network connects threads, too."""
    with Client(
        processes=False,
        n_workers=2,
        threads_per_worker=1,
        dashboard_address=None,
        set_as_default=False,
    ) as client:
        yield client


@pytest.fixture
def client(_client):
    with _client.as_current():
        yield _client
