"""``ybar`` and ``python -m ybar``: the command line, or which pip line brings it."""

import sys

from .utils.extras import MissingExtraError


def main() -> None:
    """Run the command line."""
    try:
        from .cli import main as run  # needs typer, which is an optional extra

        run()
    except MissingExtraError as error:
        sys.exit(f"ybar: {error}")
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
