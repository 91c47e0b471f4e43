"""Hooks of mkdocs, named in mkdocs.yml.  docs/ + the code -> build/site/

Pages are complete without it, as `make docs-tables` has filled them. The site adds

    on_files            files of the repository that pages link to, and the games of the tutorial
    on_page_markdown    the bug switch, new lines in colour, folds, drawings in the page; links to
                        files of the repository become links to their pages
    on_page_content     formulas as pictures, without scripts or fetched files
    on_post_build       a check that no page loads anything from another machine
"""
from __future__ import annotations

import html
import posixpath
import re
import sys
import warnings
from functools import cache
from pathlib import Path

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[2]
for folder in (str(ROOT), str(Path(__file__).parent)):
    if folder not in sys.path:
        sys.path.insert(0, folder)

import fills  # noqa: E402
import tutorial_games  # noqa: E402
from switch import switch  # noqa: E402

EM = 20                 # units of a formula's picture in the height of a letter
LINK = re.compile(r"\]\(([^)\s#]+)(#[^)\s]*)?\)")
NEW = re.compile(r"(<!-- fill: new (\w+) -->\n.*?^```c)$", re.M | re.S)
DRAWING = re.compile(r"^!\[[^\]]*\]\(\S*?assets/(\w+)\.svg\)$", re.M)
SWITCH = "<!-- site: bug-switch -->"
WITHOUT_COLUMNS = ("index.md", "tutorials/first.md")
LANGUAGES = {".h": "c", ".c": "c", ".cu": "cuda", ".py": "python", ".md": "markdown",
             ".ini": "ini", ".cuh": "cuda", ".json": "json", "Makefile": "makefile"}
BESIDE = """<div class="beside" markdown>
<div class="intro" markdown>

The game on this page is played by a policy that was trained when this page was built. Its **bug
switch** turns on a classic fault. It shows the change in the code, what `check` reports, the
learning curve, and a policy that was trained with the fault. Come back to it at the end.

</div>
<div class="aside" markdown>
{switch}
</div>
<div class="text" markdown>
{text}
</div>
</div>
"""


def on_files(files, config):
    for name, text in source_pages(Path(config.docs_dir)).items():
        files.append(File.generated(config, name, content=text))
    for name, path in tutorial_games.products().items():
        files.append(File.generated(config, name, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown, page, config, files):
    place = page.file.src_uri
    if place in WITHOUT_COLUMNS:
        page.meta["hide"] = ["navigation", "toc"]
    markdown = NEW.sub(coloured, markdown)
    markdown = DRAWING.sub(drawing, markdown)
    markdown = re.sub(r"^<details>$", "<details markdown>", markdown, flags=re.M)
    markdown = LINK.sub(lambda match: redirected(match, place), markdown)
    if SWITCH in markdown:
        before, _, text = markdown.partition(SWITCH)
        games = posixpath.relpath("tutorials/games", posixpath.dirname(place))
        markdown = before + BESIDE.format(switch=switch(games), text=text)
    return markdown


def coloured(found) -> str:
    """A listing of a step's changed parts, with the new lines marked."""
    _, marked = fills.new_parts(found[2])
    lines = " ".join(str(at + 1) for at in sorted(marked))
    return f'{found[1]} hl_lines="{lines}"'


def drawing(found) -> str:
    """A drawing inlined into the page, without its own colours, so that it follows the palette."""
    text = (ROOT / "docs" / "assets" / f"{found[1]}.svg").read_text()
    text = re.sub(r"<style>.*?</style>\n", "", text[text.index("<svg"):], flags=re.S)
    return f'<figure class="drawing" markdown="0">{text}</figure>'


def on_page_content(content, page, config, files):
    return re.sub(r'<(span|div) class="arithmatex">(.*?)</\1>', formula, content, flags=re.S)


def on_post_build(config):
    """Check that the site works without a network."""
    asks = re.compile(r'<(?:script|img|iframe|source)[^>]*\ssrc="(?:https?:)?//|'
                      r'<link[^>]*rel="(?:stylesheet|preconnect|icon)"[^>]*href="(?:https?:)?//')
    for page in Path(config.site_dir).rglob("*.html"):
        found = asks.search(page.read_text())
        if found:
            raise PluginError(f"{page}: asks another machine: {found[0]}")


# ---- files of the repository ---------------------------------------------------------------------

def repository_files(docs: Path) -> dict[str, Path]:
    """The files outside docs/ that pages link to: {"examples/pong/pong.h": path}."""
    found = {}
    for page in docs.rglob("*.md"):
        for target, _ in LINK.findall(page.read_text()):
            path = (page.parent / target).resolve()
            if "://" not in target and path.is_file() and path.is_relative_to(ROOT) \
                    and not path.is_relative_to(docs):
                found[path.relative_to(ROOT).as_posix()] = path
    return found


def source_pages(docs: Path) -> dict[str, str]:
    """A page with its text for each of them."""
    made = {}
    for name, path in repository_files(docs).items():
        language = LANGUAGES.get(path.suffix or path.name, "text")
        title = path.name.replace("_", "\\_")
        made[f"source/{name}.md"] = ("---\nsearch: {exclude: true}\n---\n"
                                     f"# {title}\n\n`{name}`\n\n"
                                     f"````{language}\n{path.read_text()}````\n")
    return made


def redirected(match, src_uri: str) -> str:
    """Point a link out of docs/ to the page that shows the file."""
    target, anchor = match[1], match[2] or ""
    path = posixpath.normpath(posixpath.join("docs", posixpath.dirname(src_uri), target))
    if "://" in target or path.startswith(("docs/", "..")) or not (ROOT / path).is_file():
        return match[0]
    page = posixpath.relpath(f"source/{path}.md", posixpath.dirname(src_uri) or ".")
    return f"]({page}{anchor})"


# ---- formulas ------------------------------------------------------------------------------------

@cache
def drawn(formula: str, block: bool) -> str:
    """A formula as SVG in the colour and size of the text around it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)     # of its way to read its fonts
        import ziamath

    ziamath.config.svg2 = False             # paths, no symbols: their names would meet on a page
    math = ziamath.Latex(formula, size=EM, inline=not block, color="currentColor")
    picture = math.svg()
    width, height, attributes = re.match(
        r'<svg [^>]*?width="([\d.]+)" height="([\d.]+)"([^>]*)>', picture).groups()
    sunk = math.getyofst() / EM
    label = html.escape(formula, quote=True)
    return (f'<svg role="img" aria-label="{label}" style="width:{float(width) / EM:.3f}em;'
            f'height:{float(height) / EM:.3f}em;vertical-align:{sunk:.3f}em"{attributes}>'
            f'{picture[picture.index(">") + 1:]}')


def formula(match) -> str:
    text = html.unescape(match[2]).strip()
    block = text.startswith("\\[")
    return f'<{match[1]} class="math">{drawn(text[2:-2].strip(), block)}</{match[1]}>'
