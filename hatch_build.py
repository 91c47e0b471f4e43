"""Adds manual pages and docs to the wheel.  commands -> man1/*.1; docs -> data/docs"""
from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# What is measured; and what `explain`, --help and docstrings say, from which it is made
LEFT_OUT = ("why/", "reference/rules.md", "reference/cli.md", "reference/python.md")


class Pages(BuildHookInterface):
    """pyproject.toml names what this needs beside hatchling: click."""

    def initialize(self, version: str, build_data: dict) -> None:
        sys.path.insert(0, str(Path(self.root) / "tools"))
        import manpages

        self.folder = Path(tempfile.mkdtemp(prefix="puffer-sdk-man-"))
        manpages.write(self.folder)
        build_data["shared_data"][str(self.folder)] = "share/man/man1"
        docs = Path(self.root) / "docs"
        if version != "editable":
            for page in docs.rglob("*.md"):
                name = page.relative_to(docs).as_posix()
                if not name.startswith(LEFT_OUT):
                    build_data["force_include"][str(page)] = f"puffer_sdk/data/docs/{name}"

    def finalize(self, version: str, build_data: dict, artifact_path: str) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
