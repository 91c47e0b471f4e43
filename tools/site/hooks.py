"""What mkdocs does not do by itself.  mkdocs.yml names this file; docs/ + the code -> build/site/

    on_files            pages made from the code, files of the repository that pages show, and the
                        games, pictures and outputs of the tutorial
    on_page_markdown    `<!-- fill: WHAT -->` is replaced; links to files of the repository lead to
                        their pages
    on_page_content     formulas become pictures: no script, nothing fetched
    on_post_build       the check that no page asks another machine for anything
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
import reference  # noqa: E402
import tutorial_games  # noqa: E402

EM = 20                 # units of a formula's picture in the height of a letter
LINK = re.compile(r"\]\(([^)\s#]+)(#[^)\s]*)?\)")
FILL = re.compile(r"^( *)<!-- fill: (\S+)((?: \S+)*) -->$", re.M)
LANGUAGES = {".h": "c", ".c": "c", ".cu": "cuda", ".py": "python", ".md": "markdown",
             ".ini": "ini", ".cuh": "cuda", ".json": "json", "Makefile": "makefile"}


def on_files(files, config):
    made = {**reference.pages(), **source_pages(Path(config.docs_dir))}
    for name, text in made.items():
        known = files.get_file_from_path(name)
        if known:
            files.remove(known)             # the committed copy, for readers of the repository
        files.append(File.generated(config, name, content=text))
    for name, path in tutorial_games.products().items():
        files.append(File.generated(config, name, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown, page, config, files):
    def fill(match):
        try:
            text = getattr(fills, match[2].replace("-", "_"))(*match[3].split(), page=page)
            return "\n".join(match[1] + line if line else "" for line in text.split("\n"))
        except (AttributeError, TypeError) as error:
            raise PluginError(f"{page.file.src_uri}: {match[0]}: {error}") from error
    markdown = FILL.sub(fill, markdown)
    return LINK.sub(lambda match: redirected(match, page.file.src_uri), markdown)


def on_page_content(content, page, config, files):
    return re.sub(r'<(span|div) class="arithmatex">(.*?)</\1>', formula, content, flags=re.S)


def on_post_build(config):
    """A site that works without a network, and without telling others who reads it."""
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
    """A link out of docs/ leads to the page that shows the file."""
    target, anchor = match[1], match[2] or ""
    path = posixpath.normpath(posixpath.join("docs", posixpath.dirname(src_uri), target))
    if "://" in target or path.startswith(("docs/", "..")) or not (ROOT / path).is_file():
        return match[0]
    page = posixpath.relpath(f"source/{path}.md", posixpath.dirname(src_uri) or ".")
    return f"]({page}{anchor})"


# ---- formulas ------------------------------------------------------------------------------------

@cache
def drawn(formula: str, block: bool) -> str:
    """A formula as SVG in the color of the text around it, as large as that text."""
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
