"""``ybar`` and ``python -m ybar``: the command line, or which pip line brings it."""

import sys


def main() -> None:
    """Run the command line."""
    try:
        from .cli import main as run

        run()
    except ImportError as error:
        sys.exit(f"ybar: {error}")
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
