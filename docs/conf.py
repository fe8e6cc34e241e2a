"""Settings of the documentation, and the reference pages that every build generates."""

import importlib
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer
from sphinx import addnodes
from sphinx.pycode import ModuleAnalyzer

import ybar
from ybar.cli import app

HERE = Path(__file__).parent
sys.path.append(str(HERE))  # of gallery_order

project = "ybar"
author = "The ybar developers"
version = release = ybar.__version__
extensions = ["myst_parser", "sphinx.ext.viewcode", "sphinx_gallery.gen_gallery"]
extensions += [f"sphinx.ext.{name}" for name in ("autodoc", "autosummary", "napoleon")]
html_theme = "furo"
html_show_copyright = False
html_static_path = ["_static"]
html_css_files = ["wide.css"]
html_title = f"ybar {release}"
myst_heading_anchors = 3
exclude_patterns = ["_build"]
autodoc_member_order = "bysource"
autodoc_typehints = "none"
autosummary_generate = False
default_role = "py:obj"  # a link where the name has an entry, otherwise code
napoleon_use_param = napoleon_use_rtype = False  # types are prose, not cross-references
napoleon_custom_sections = [("Attributes", "params_style")]  # keeps the underscore of `classes_`
# Examples run if they have changed since the last build.
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": "",  # run all of them
    "within_subsection_order": "gallery_order.ReadingOrder",
    "abort_on_example_error": True,
    "image_srcset": ["2x"],
    "write_computation_times": False,
    "doc_module": ("ybar",),
    "download_all_examples": False,
    "show_signature": False,
}
suppress_warnings = ["autosummary.import_cycle"]  # a page shows the docstring of its module too

# The modules of the API reference, in the order of its index, with a title for each page.
API = {
    "classifiers": ("Classifiers", "ybar.classifiers"),
    "neural": ("Networks", "ybar.neural"),
    "methods": ("Training methods of networks", "ybar.neural.methods"),
    "networks": ("Network architectures", "ybar.neural.networks"),
    "population": ("Populations of networks", "ybar.neural.population"),
    "distributed": ("Data on a Dask cluster", "ybar.distributed"),
    "labels": ("Complementary labels and evidence", "ybar.labels"),
    "transition": ("Transition matrices", "ybar.transition"),
    "estimation": ("Estimating T from probabilities", "ybar.estimation"),
    "decode": ("Decoders", "ybar.decode"),
    "metrics": ("Metrics", "ybar.metrics"),
    "calibration": ("Calibration", "ybar.calibration"),
    "collection": ("Planning a collection", "ybar.collection"),
    "datasets": ("Data sets", "ybar.datasets"),
    "persistence": ("Saving and loading", "ybar.persistence"),
    "displays": ("Plots", "ybar.displays"),
    "report": ("Pages", "ybar.report"),
    "experiments-plan": ("Plans of experiments", "ybar.experiments.plan.reading"),
    "experiments-model": ("Parts of a plan", "ybar.experiments.plan.model"),
    "experiments-jobs": ("Jobs of a plan", "ybar.experiments.plan.jobs"),
    "experiments-ledger": ("The ledger", "ybar.experiments.runs.ledger"),
    "experiments-sweep": ("Sweeps", "ybar.experiments.runs.sweep"),
    "experiments-cluster": ("Clusters", "ybar.experiments.runs.cluster"),
    "experiments-transfer": ("Export and merge", "ybar.experiments.runs.transfer"),
    "experiments-tables": ("Tables of results", "ybar.experiments.results.tables"),
}


def public_names(module: Any) -> list[str]:
    """Return the public names of a module: ``__all__``, or what the module itself defines."""
    defined = (
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == module.__name__
    )
    return list(getattr(module, "__all__", None) or defined)


def attribute_docs(module_name: str, name: str) -> list[str]:
    """Return the comment of a public variable, from the module of the package that defines it."""
    for each in [module_name, *(m for m in sys.modules if m.startswith(f"{module_name}."))]:
        documented = ModuleAnalyzer.for_module(each).find_attr_docs().get(("", name))
        if documented:
            return list(documented)
    return []


def undocumented_fields(value: Any) -> list[str]:
    """Return the fields of a named tuple that have no docstring."""
    documented = ModuleAnalyzer.for_module(value.__module__).find_attr_docs()
    return [f for f in getattr(value, "_fields", ()) if (value.__name__, f) not in documented]


def api_entry(module_name: str, name: str, value: Any) -> list[str]:
    """Return the directive that documents one public name."""
    if inspect.isclass(value):
        hidden = ["get_metadata_routing", *(f"set_{m}_request" for m in ("fit", "score"))]
        hidden += ["set_partial_fit_request", *undocumented_fields(value)]
        directive = [f".. autoclass:: {module_name}.{name}", "   :members:"]
        directive += [f"   :exclude-members: {', '.join(hidden)}"]
        if hasattr(value, "fit"):
            directive += ["   :inherited-members: BaseEstimator, ClassifierMixin"]
        return [*directive, ""]
    if callable(value):
        return [f".. autofunction:: {module_name}.{name}", ""]
    documented = attribute_docs(module_name, name)
    return [f".. py:data:: {name}", "", *(f"   {line}" for line in documented), ""]


def point_to_source(_app: Any, page: Any) -> None:
    """Name the module and the class that define each entry, which viewcode links to.

    Without this, inherited members and properties would have no link.
    """
    for entry in page.findall(addnodes.desc_signature):
        module_name, name = entry.get("module"), entry.get("fullname")
        if not module_name or not name:
            continue
        owner, _, attribute = name.rpartition(".")
        value = getattr(importlib.import_module(module_name), owner or name, None)
        defined = value if hasattr(value, "__name__") else type(value)  # of scel_scorer, its class
        if not owner and defined.__module__.startswith("ybar."):
            entry["module"], entry["fullname"] = defined.__module__, defined.__name__
        for base in getattr(value, "__mro__", ()):
            if attribute in vars(base):
                entry["module"], entry["fullname"] = base.__module__, f"{base.__name__}.{attribute}"
                break


def keep_colon(_app: Any, what: str, *others: Any) -> None:
    """Keep napoleon from taking the words before a colon for the type of an attribute."""
    if what in ("attribute", "property"):
        others[-1][:0] = ["..", ""]  # its docstring then begins with a comment


def setup(app: Any) -> None:
    """Let every entry of the reference link to its source, and keep its text as it is."""
    app.connect("autodoc-process-docstring", keep_colon, priority=400)  # napoleon has 500
    app.connect("doctree-read", point_to_source, priority=400)  # before viewcode, which has 500
    app.connect("viewcode-follow-imported", lambda _app, module_name, _attribute: module_name)


def api_page(title: str, module_name: str) -> str:
    """Return the reference page of a module: a table of its names, then each in full."""
    module = importlib.import_module(module_name)
    objects = {name: getattr(module, name) for name in public_names(module)}
    documented = [name for name, value in objects.items() if callable(value)]
    full = [f".. automodule:: {module_name}", "", ".. autosummary::", ""]
    full += [f"   ~{module_name}.{name}" for name in documented] + [""]
    for name, value in objects.items():
        full += api_entry(module_name, name, value)
    return "\n".join([f"# {title}: `{module_name}`\n", "```{eval-rst}", *full, "```", ""])


def command_help(command: Any, name: str, parent: Any = None) -> Iterator[str]:
    """Yield a section with the help of each command below this one."""
    context = type(command).context_class(command, info_name=name, parent=parent)
    context.terminal_width = 98
    subcommands = getattr(command, "commands", {})
    if not subcommands:
        text = command.get_help(context).strip()
        yield f"## `{context.command_path}`\n\n```text\n{text}\n```\n"
    for each, child in subcommands.items():
        yield from command_help(child, each, context)


def write(path: Path, text: str) -> None:
    """Write a generated page, unless it already has this text: Sphinx rebuilds what changed."""
    path.parent.mkdir(exist_ok=True)
    if not path.exists() or path.read_text("utf-8") != text:
        path.write_text(text, "utf-8")


commands = command_help(typer.main.get_command(app), "ybar")
write(HERE / "commands.md", "\n".join(["# All commands\n", *commands]))
for page, (title, module_name) in API.items():
    write(HERE / "api" / f"{page}.md", api_page(title, module_name))
