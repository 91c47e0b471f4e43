"""Adds manual pages and docs to the wheel.  click commands -> man1/*.1; docs -> data/docs"""
from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


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
                place = f"puffer_sdk/data/docs/{page.relative_to(docs).as_posix()}"
                build_data["force_include"][str(page)] = place

    def finalize(self, version: str, build_data: dict, artifact_path: str) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
