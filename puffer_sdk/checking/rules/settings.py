"""PUF113, 114: what happens under other values of [env]."""
from __future__ import annotations
