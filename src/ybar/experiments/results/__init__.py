"""From the ledger to results: choices, tables, plots, the page, beside the paper's accuracies."""
