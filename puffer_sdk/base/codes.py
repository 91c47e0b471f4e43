"""What the code of a rule looks like, in text that others wrote."""
from __future__ import annotations

CODE = r"PUF\d{3}"          # a regular expression, without groups
