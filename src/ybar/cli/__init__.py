"""The command line: one module per command, with its options, a call to the work, and output."""

from . import data, demo, evaluate, experiments, fit, predict, report, simulate, transition
from .app import app

__all__ = ["app", "main"]

for module in (demo, fit, predict, evaluate, simulate, transition, data, experiments, report):
    module.register(app)


def main() -> None:
    """Run the command line."""
    app()
