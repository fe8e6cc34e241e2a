"""Users' tables: files, kinds of columns, labels, candidates, and the model of a table."""
