"""What a rule is written with, for one import: facts, findings, what registers, what asks."""
# ruff: noqa: F403, F401
from collections.abc import Iterator

from .fact_kinds import *
from .facts import *
from .finding import *
from .finding import Finding
from .often import *
from .registry import *
from .repro_spec import *
from .statistics import Statistics as Statistics

Findings = Iterator[Finding]        # what a rule yields
