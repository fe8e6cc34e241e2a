"""Plans of experiments that ask for too much, or name what is no plan."""

import child

GOOD = """
name = "Small"
trials = 1
datasets = ["digits"]
settings = ["mine"]

[[setting]]
name = "mine"
transition = "uniform"

[[base]]
name = "linear"
kind = "network"
methods = ["cpe-f"]
learning_rates = [0.01]
epochs = 1
"""

# A line of the plan, and what replaces it; the first replaces nothing.
CHANGES = (
    (GOOD, GOOD),
    ("trials = 1", "trials = 1000000000"),
    ("trials = 1", "trials = -1"),
    ("trials = 1", "trials = 1e400"),
    ("epochs = 1", "epochs = 1000000000000"),
    ('transition = "uniform"', 'transition = "/dev/zero"'),
    ('transition = "uniform"', 'transition = "/proc/self/mem"'),
    ('transition = "uniform"', 'transition = "../../../../etc/passwd"'),
    ('datasets = ["digits"]', 'datasets = ["/dev/zero"]'),
    ('datasets = ["digits"]', 'datasets = ["/dev/stdin"]'),
    ("learning_rates = [0.01]", f"learning_rates = {[0.1] * 10**5}"),
    ("learning_rates = [0.01]", "learning_rates = [nan, inf, -1]"),
    ('methods = ["cpe-f"]', 'methods = ["os:system"]'),
    ("[[setting]]", '[[method]]\nname = "evil"\nloss = "evil:method"\n\n[[setting]]'),
    ('name = "Small"', f'name = "{"x" * 10**6}"'),
    ('name = "Small"', "name = " + "[" * 5000 + "]" * 5000),
    ('name = "Small"', "name = \x00"),
    ('name = "mine"', 'name = "../../x"'),
    ("[[setting]]", "[[setting]]\n" * 1000),
    ("trials = 1", "trials = true"),
    (GOOD, ""),
)


def prepare(folder):
    (folder / "evil.py").write_text("import os\nos.system('true')\nraise SystemExit(0)\n")


def hostile(folder, number):
    """Ask for a dry run, which must not import, run or expand anything."""
    old, new = CHANGES[number % len(CHANGES)]
    text = GOOD.replace(old, new)
    keep = len(text) if number < len(CHANGES) else (number * 37) % max(len(text), 1)
    plan = folder / "plan.toml"
    plan.write_text(text[:keep])
    child.watch()
    code, _, errors = child.command(
        folder, "reproduce", plan, "--dry-run", "--ledger", folder / "p.sqlite",
        "--output", folder / "out",
    )  # fmt: skip
    return child.judged(code, errors)
