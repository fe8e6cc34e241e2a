"""The command line: one module per command, with its options, a call to the work, and output."""

# Each of these modules adds its commands to the app.
from . import data, demo, evaluate, fit, predict, report, reproduce, simulate, transition  # noqa: F401
from .app import app

__all__ = ["app", "main"]


def main() -> None:
    """Run the command line."""
    app()
