"""Settings of the documentation."""

import ybar

project = "ybar"
author = "The ybar developers"
version = release = ybar.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
html_theme = "furo"
html_show_copyright = False
html_title = f"ybar {release}"
myst_heading_anchors = 3
exclude_patterns = ["_build"]
autodoc_member_order = "bysource"
autodoc_typehints = "none"
default_role = "code"
napoleon_use_ivar = True  # attributes are described, not targets: several classes have a name
