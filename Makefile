# make demo | test | test-slow | test-oldest | torture | bench | lint | docs | results | tables |
#      sweep
PYTHON ?= python3
BIN := .venv/bin
SOURCES := $(shell find src -type f -not -name '*.pyc')

.PHONY: demo test test-slow test-oldest torture bench lint docs results tables sweep clean

demo: .venv/.package
	$(BIN)/ybar demo --output demo

# Two workers, so one thread each: more would only wait for one another. Each begins with a half of
# the tests, so that what a file sets up is set up once, and takes of the other's when it is done.
test: .venv/.package
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist worksteal -m "not slow" tests

test-slow: .venv/.package
	$(BIN)/python -m pytest -n 0 -m slow --timeout 3600 tests

# The oldest versions that pyproject.toml allows, in an environment of their own. Their warnings do
# not count, nor the two tests that count them: old versions warn about new ones of what they need.
test-oldest:
	test -x .venv-oldest/bin/python || $(PYTHON) -m venv .venv-oldest
	.venv-oldest/bin/python studies/oldest.py > .venv-oldest/oldest.txt
	.venv-oldest/bin/python -m pip install --quiet -c .venv-oldest/oldest.txt '.[all]' \
	  hypothesis polars==1.0.0 pytest pytest-randomly pytest-timeout pytest-xdist skorch xgboost-cpu
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 .venv-oldest/bin/python -m pytest -n 2 -W default \
	  -m "not slow" --ignore tests/project --ignore tests/report tests \
	  --deselect tests/persistence/test_save_and_load.py::test_probabilities_are_the_same_to_the_bit_in_a_new_process \
	  --deselect tests/displays/test_confusion.py::test_a_singular_matrix_is_warned_of_once_where_it_was_called

# Hostile and damaged files, kills, failing disks: exits with 1 if one attack succeeds.
torture: .venv/.package
	$(BIN)/python tests/torture

# The same versions as constraints.txt, with hashes; needs uv.
requirements.lock: pyproject.toml constraints.txt
	echo 'hatchling==1.33.0' | uv pip compile pyproject.toml - --all-extras -c constraints.txt \
	  --generate-hashes --python-version 3.11.9 --no-header --no-annotate -o $@

bench: .venv/.package
	$(BIN)/python benchmarks/run.py
	$(BIN)/python studies/fill_tables.py

lint: .venv/.package
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	PYTHONPATH=src $(BIN)/lint-imports

docs: .venv/.package
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html

# Goes on with the experiments from what is in results/; the paper's take two weeks.
# results/choosing_neighbors.csv is written by studies/choosing_neighbors.py.
results: .venv/.package
	$(BIN)/ybar reproduce paper --ledger results/paper.sqlite --merge results/paper/runs.csv \
	  --output results/paper
	$(BIN)/ybar reproduce leaderboard --ledger results/leaderboard.sqlite \
	  --merge results/leaderboard/runs.csv --output results/leaderboard-page
	$(BIN)/ybar reproduce studies/choices/choices.toml --ledger results/choices.sqlite \
	  --merge results/choices/runs.csv --output results/choices-page
	$(BIN)/ybar reproduce studies/choices/transition_layer.toml --ledger results/transition_layer.sqlite \
	  --merge results/choices/transition_layer.csv --output results/transition_layer-page
	$(BIN)/ybar reproduce field --ledger results/field.sqlite --merge results/paper/runs.csv \
	  --merge results/choices/transition_layer.csv --output results/field-page
	$(BIN)/python studies/estimating.py
	$(BIN)/python studies/trust.py
	$(BIN)/python studies/calibration.py
	$(BIN)/python studies/error_bars.py
	$(MAKE) tables

# Runs nothing: exports the runs of the ledgers in results/, and builds all tables anew, in results/,
# README and docs. Runs of other ledgers are added:  make tables MERGE="--merge other.sqlite --merge another.sqlite"
tables: .venv/.package
	$(BIN)/python studies/tables.py $(MERGE)

# Starts or resumes the first trial of the paper's networks beside other work, on one core, linear
# models first. Safe to kill: the ledger keeps every run that has ended. `make tables` then exports
# them and builds the tables.
sweep: .venv/.package
	nice -n 19 $(BIN)/ybar reproduce paper --base linear --base mlp --trial 0 --jobs 1 \
	  --ledger results/paper.sqlite --merge results/paper/runs.csv --output results/sweep

# What we depend on changes seldom; the package itself is installed again when its source changes,
# so that tests run against the built wheel.
.venv/.dependencies: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet -c constraints.txt '.[all,dev]'
	touch $@

.venv/.package: .venv/.dependencies README.md LICENSE $(SOURCES)
	$(BIN)/python -m pip install --quiet --no-deps --force-reinstall .
	touch $@

clean:
	rm -rf .venv .venv-oldest build dist demo docs/_build docs/gallery
