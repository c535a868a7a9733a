"""How ``make docs`` builds the site. Nothing is loaded from elsewhere, neither to build nor to read."""

import re
from pathlib import Path

from docutils import nodes
from sphinx.errors import ExtensionError

import mpboost

HERE = Path(__file__).parent
GALLERY = HERE.parent / "examples" / "gallery"

project = "mpboost"
author = "The mpboost developers"
copyright = "the mpboost developers"
version = release = mpboost.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
]
exclude_patterns = ["gallery/*.ipynb", "gallery/*.py", "**/sg_execution_times.rst"]
highlight_language = "python"
smartquotes = False  # "auto" is what one types
toc_object_entries_show_parents = "hide"
copybutton_exclude = ".linenos, .gp, .go"  # prompts and outputs

# Pages are Markdown. Headings have the anchors that code hosts give them, so that links work in both places.
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence", "deflist"]

# The reference: types as the docstrings say them, in words.
autodoc_typehints = "none"
autodoc_preserve_defaults = True
autodoc_default_options = {"member-order": "bysource"}
autosummary_generate = True
numpydoc_show_class_members = False  # templates/autosummary/class.rst lists them
numpydoc_use_plots = False
templates_path = ["_templates"]

if any(GALLERY.rglob("plot_*.py")):
    extensions.append("sphinx_gallery.gen_gallery")
    sphinx_gallery_conf = {
        "examples_dirs": "../examples/gallery",
        "gallery_dirs": "gallery",
        "abort_on_example_error": True,
        "doc_module": ("mpboost",),
        "download_all_examples": False,
        "min_reported_time": 1,
        "show_memory": False,
        "show_signature": False,
        "write_computation_times": False,  # pages that would load scripts from elsewhere
        "within_subsection_order": "FileNameSortKey",
    }

html_theme = "pydata_sphinx_theme"
html_title = "mpboost"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_logo = "_static/logo.svg"
html_favicon = "_static/logo.svg"
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "mpboost"},
    "header_links_before_dropdown": 7,
    "navbar_persistent": ["search-button"],  # a field would take the room of two links
    "navbar_end": ["theme-switcher"],
    "secondary_sidebar_items": {"**": ["page-toc"], "benchmarks": []},  # wide tables
    "show_prev_next": True,
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "tango",
    "pygments_dark_style": "github-dark",
}
html_sidebars = {"index": [], "changelog": []}

#: Files at the top of the repository that are pages of the site.
INCLUDED = {
    "ARCHITECTURE.md": "development/architecture.md",
    "CONTRIBUTING.md": "development/contributing.md",
    "CHANGELOG.md": "changelog.md",
}

#: Entries of tables of contents whose pages may not be there: a gallery without examples has none.
OPTIONAL = ("gallery/index",)
#: Where the reference has public names.
LINKED = {
    name: f"reference/generated/mpboost.{name}" for name in mpboost.__all__ if name not in ("PAPER", "__version__")
}


def redirect_links(text: str) -> str:
    """Let links between pages and files at the top of the repository lead to pages of the site."""
    text = text.replace("](docs/", "](/").replace("](../examples/gallery)", "](/gallery/index.rst)")
    for file, page in INCLUDED.items():
        text = re.sub(rf"\]\((?:\.\./)*{re.escape(file)}", f"](/{page}", text)
    return text


def join_intervals(text: str) -> str:
    """Let a cell of a table break before an interval such as (2.01 to 3.05) or ± 0.52, not within it."""
    rows = re.compile(r"^\|.*\|$", re.MULTILINE)
    interval = re.compile(r"(?<=\d) to (?=-?\d[\d.,]*\))|(?<=±) ")
    return rows.sub(lambda row: interval.sub(lambda space: space[0].replace(" ", "\u00a0"), row[0]), text)


def read_page(app, name, source):
    """Redirect the links of a page, and leave pages that are not there out of its table of contents."""
    source[0] = join_intervals(redirect_links(source[0]))
    for entry in OPTIONAL:
        page = (HERE / name).parent / entry
        if not any(page.with_suffix(suffix).exists() for suffix in (".md", ".rst")):
            source[0] = source[0].replace(f"\n{entry}\n", "\n")


def read_included(app, path, name, source):
    """Redirect the links of a file that a page includes."""
    source[0] = redirect_links(source[0])


def edit_docstring(app, what, name, obj, options, lines):
    """Let pages be links, and shapes such as (n_iter_,) none: a word that ends in an underscore would be one."""
    for i, line in enumerate(lines):
        line = re.sub(r"\bdocs/([\w-]+)\.md", r":doc:`/\1`", line)
        lines[i] = re.sub(r"(?<![`\w])(\w+)_(?=,\))", r"\1\\_", line)


def edit_signature(app, what, name, obj, options, signature, returns):
    """Show no constructor of a class that users do not make: its docstring has no parameters."""
    if what == "class" and "Parameters\n" not in (obj.__doc__ or ""):
        return "", None
    return None


def link_names(app, doctree, name):
    """Let public names in the text lead to the reference, apart from those that are common words."""
    for literal in list(doctree.findall(nodes.literal)):
        named = literal.astext()
        if named not in LINKED or (named.islower() and "_" not in named) or isinstance(literal.parent, nodes.reference):
            continue
        link = nodes.reference("", "", internal=True, refuri=app.builder.get_relative_uri(name, LINKED[named]))
        literal.replace_self(link)
        link += literal


def skip_routing(app, what, name, obj, skip, options):
    """Leave out the methods for metadata routing, which scikit-learn adds and documents."""
    return True if name == "get_metadata_routing" or re.fullmatch(r"set_\w+_request", name) else None


def check_offline(app, exception):
    """Fail if a page would load something from elsewhere."""
    loaded = re.compile(r'<(?:script|link|img|iframe|source)\b[^>]*\b(?:src|href)="((?:https?:)?//[^"]+)')
    for name in [] if exception else app.env.found_docs:
        page = Path(app.outdir, app.builder.get_target_uri(name))
        if found := loaded.search(page.read_text(encoding="utf-8")):
            raise ExtensionError(f"{page} loads {found[1]}: the site must be readable without a network")


def setup(app):
    """Register what is done to pages and docstrings before they are parsed."""
    app.connect("source-read", read_page)
    app.connect("include-read", read_included)
    app.connect("doctree-resolved", link_names)
    app.connect("autodoc-skip-member", skip_routing)
    app.connect("autodoc-process-docstring", edit_docstring, priority=900)  # after numpydoc
    app.connect("autodoc-process-signature", edit_signature, priority=100)  # before numpydoc
    app.connect("build-finished", check_offline)
