"""`make release-check`: all of a release but its upload.  this checkout -> dist/, and what is wrong

    python tools/release_check.py               everything; exit status 1 if something is wrong
    python tools/release_check.py --notes       print the changelog of this version, for its release

The checkout must be committed: what git does not hold is in no release.
"""
from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from email.parser import HeaderParser
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from helpers.docs_shell import Shell, Step, follow, steps  # noqa: E402

from puffer_sdk import __version__  # noqa: E402

DIST = ROOT / "dist"
LARGEST = 2_000_000         # bytes of the wheel
PAGE = "docs/tutorials/ten-minutes.md"
INSTALLS = "pip install ."
# A word that says whose a file is, where it is not ours
OTHERS = re.compile(rb"^.{0,9}(?:Copyright|SPDX-License-Identifier:)[^\n]*$", re.M | re.I)


def run(*words: object, cwd: Path = ROOT, env: dict[str, str] | None = None) -> str:
    done = subprocess.run([str(word) for word in words], cwd=cwd, text=True, capture_output=True,
                          env={**os.environ, **(env or {})})
    if done.returncode:
        raise SystemExit(f"error: {' '.join(map(str, words))}\n{done.stdout}{done.stderr}")
    return done.stdout


def notes(changelog: str, version: str = __version__) -> str:
    """The changelog's section of a version: of [VERSION], or of [Unreleased] that becomes it."""
    sections = dict(re.findall(r"^## \[([^]]+)\][^\n]*\n(.*?)(?=^## \[|\Z)", changelog,
                               re.M | re.S))
    return sections.get(version, sections.get("Unreleased", "")).strip()


def wrong_with_version(root: Path = ROOT, tags: str | None = None) -> Iterator[str]:
    """The version is one, everywhere, is higher than the last tag's, and its changes are named."""
    if f"version: {__version__}\n" not in (root / "CITATION.cff").read_text():
        yield f"CITATION.cff: its version is not {__version__}"
    if len(notes((root / "CHANGELOG.md").read_text()).splitlines()) < 3:
        yield f"CHANGELOG.md: no changes under [{__version__}] or [Unreleased]"
    for tag in (run("git", "tag", "--merged", cwd=root) if tags is None else tags).split():
        if re.fullmatch(r"v\d+(\.\d+)+", tag) and numbers(tag[1:]) > numbers(__version__):
            yield f"{tag} is a tag already: {__version__} is no later version"


def numbers(version: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", version)]


def export(to: Path) -> Path:
    """What the commit holds, without what lies beside it."""
    archive = to / "source.tar"
    run("git", "archive", "--format=tar", "-o", archive, "HEAD")
    source = to / "source"
    with tarfile.open(archive) as tar:
        tar.extractall(source, filter="data") if hasattr(tarfile, "data_filter") \
            else tar.extractall(source)
    return source


def build(source: Path, out: Path, *what: str) -> list[Path]:
    """The sdist, and the wheel that is made of it; or `what`. Times are the commit's."""
    epoch = run("git", "log", "-1", "--format=%ct").strip()
    run(sys.executable, "-m", "build", *what, "--outdir", out, source,
        env={"SOURCE_DATE_EPOCH": epoch})
    return sorted(out.iterdir())


def digests(files: list[Path]) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def wrong_with_wheel(wheel: Path) -> Iterator[str]:
    """Its size, what it holds, whose that is, and what it says of itself."""
    if wheel.stat().st_size >= LARGEST:
        yield f"{wheel.name}: {wheel.stat().st_size:,} bytes, expected less than {LARGEST:,}"
    archive = zipfile.ZipFile(wheel)
    names = archive.namelist()
    about = next(name for name in names if name.endswith(".dist-info/METADATA"))
    said = HeaderParser().parsestr(archive.read(about).decode())
    for field in ("Name", "Version", "Summary", "License-Expression", "Requires-Python"):
        if not said[field]:
            yield f"{wheel.name}: its metadata has no {field}"
    if not [name for name in names if name.endswith(".dist-info/licenses/LICENSE")]:
        yield f"{wheel.name}: the licence is not in it"
    for name in names:
        if re.search(r"\.(so|o|pyc|dylib|a)$|(^|/)(tests|runs|build)/(?!.*\{\{)", name) \
                and "{{" not in name and "checking/" not in name:
            yield f"{wheel.name}: {name} is no source"
        for line in OTHERS.findall(archive.read(name)) if ".dist-info" not in name else ():
            yield f"{wheel.name}: {name} names an owner or a licence: {line.decode().strip()}"


def wrong_with_page(source: Path, package: str, place: Path) -> list[str]:
    """The ten-minute page, word for word, in an empty environment; `package` is what pip gets."""
    place.mkdir()
    work = shutil.copytree(source, place / "checkout") if package == "." else place / "checkout"
    work.mkdir(exist_ok=True)
    env = {name: os.environ[name] for name in os.environ
           if name.lower().endswith("_proxy") or name.startswith(("PIP_", "SSL_", "LANG"))}
    python = Path(sys.base_prefix) / "bin"
    shell = Shell(work, place, {**env, "PATH": f"{python}:/usr/local/bin:/usr/bin:/bin",
                                "PUFFER_CACHE": str(place / "cache")}, own_python=False)
    page = [Step(step.line, step.command.replace(INSTALLS, f"pip install -q {package}"), step.shown,
                 step.needs) for step in steps(PAGE) if "index-url" not in step.command]
    try:
        if not any(step.command.startswith("pip install -q") for step in page):
            return [f"{PAGE} does not say `{INSTALLS}`"]
        return follow(PAGE, work, shell, given=page)
    finally:
        shell.close()


def main(words: list[str]) -> int:
    if words == ["--notes"]:
        print(notes((ROOT / "CHANGELOG.md").read_text()))
        return 0
    wrong = list(wrong_with_version())
    if run("git", "status", "--porcelain"):
        wrong.append("the checkout holds what is not committed")
    with tempfile.TemporaryDirectory(prefix="puffer-release-") as folder:
        scratch = Path(folder)
        source = export(scratch)
        made = build(source, scratch / "dist")              # the wheel is that of the sdist
        print("built   ", *(f"{path.name} ({path.stat().st_size:,} bytes)" for path in made))
        if digests(made) != digests(build(export(scratch / "again"), scratch / "twice")):
            wrong.append("two builds of one commit differ")
        wheel = next(path for path in made if path.suffix == ".whl")
        sdist = next(path for path in made if path.suffix == ".gz")
        [direct] = build(source, scratch / "direct", "--wheel")
        if digests([direct]) != digests([wheel]):
            wrong.append("the wheel of the sdist is not that of the checkout")
        wrong += wrong_with_wheel(wheel)
        with tarfile.open(sdist) as tar:
            tar.extractall(scratch / "sdist", filter="data") if hasattr(tarfile, "data_filter") \
                else tar.extractall(scratch / "sdist")
        unpacked = next((scratch / "sdist").iterdir())
        for name, package, where in (("wheel", str(wheel), source), ("sdist", ".", unpacked)):
            found = wrong_with_page(where, package, scratch / f"page-{name}")
            print(f"{name:<8} {PAGE}: {'as it says' if not found else 'otherwise'}", flush=True)
            wrong += [f"{name}: {line}" for line in found]
        shutil.rmtree(DIST, ignore_errors=True)
        DIST.mkdir()
        for path in made:
            shutil.copy2(path, DIST)
    for line in wrong:
        print(f"wrong    {line}", file=sys.stderr)
    print(f"release  {__version__}: " + ("ready, in dist/" if not wrong else
                                          f"{len(wrong)} things are wrong"))
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
