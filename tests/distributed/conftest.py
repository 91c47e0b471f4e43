"""Two machines are tested in the long form only; nothing is skipped in the short one."""
from helpers.short_or_long import LONG

collect_ignore = [] if LONG else ["test_machines.py"]
