"""Experiments: a plan, its runs on processes or a cluster, their ledger, tables and figures."""
