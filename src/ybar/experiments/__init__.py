"""Experiments: a plan, its runs on Dask workers, their ledger, tables and figures."""
