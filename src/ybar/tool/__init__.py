"""The command line's work: files in, a model, predictions and accounts of them out."""
