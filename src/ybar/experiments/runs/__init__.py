"""Running a plan: one job, a sweep over jobs, the ledger of outcomes and its exports."""
