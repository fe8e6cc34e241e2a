"""The command line: thin. What it does is done elsewhere; here are options, errors and manners."""

from . import data, demo, models, reports, reproduce, transitions
from .manners import app

__all__ = ["app", "main"]

for module in (demo, models, transitions, data, reproduce, reports):
    module.register(app)


def main() -> None:
    """Run the command line."""
    app()
