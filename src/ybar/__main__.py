"""``ybar`` and ``python -m ybar``: the command line, or the pip line that installs it."""

import sys


def main() -> None:
    """Run the command line."""
    try:
        from .cli import main as run  # only now: its extra may be missing

        run()
    except ImportError as error:
        sys.exit(f"ybar: {error}")
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
