"""A class for each kind of fact: HeadFact, RunFact, ...  kinds.py -> names to import

fact_kinds.pyi tells editors and mypy their fields; `make docs-tables` makes it from facts.def.
"""
from .kinds import classes

globals().update(classes())
