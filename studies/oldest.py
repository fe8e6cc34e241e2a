"""Print the oldest version that pyproject.toml allows of each dependency, as constraints for pip.

``make test-oldest`` installs them in an environment of their own and runs the tests.
"""

import re
import tomllib
from itertools import chain
from pathlib import Path

FLOOR = re.compile(r"([A-Za-z0-9_.-]+)>=([0-9.]+)")


def floors(project):
    """Return the highest floor of each package; the tools of developers may be of any version."""
    optional = project["optional-dependencies"]
    found = {}
    lines = [lines for name, lines in optional.items() if name != "dev"]
    for line in chain(project["dependencies"], *lines):
        if match := FLOOR.match(line):
            name, version = match.groups()
            found[name] = max(found.get(name, ""), version, key=numbers)
    return found


def numbers(version):
    return [int(part) for part in version.split(".") if part]


if __name__ == "__main__":
    toml = Path(__file__).parents[1] / "pyproject.toml"
    for name, version in sorted(floors(tomllib.loads(toml.read_text())["project"]).items()):
        print(f"{name}=={version}")
