"""The rules: small functions, Facts in, Findings out. A rule's docstring is its page.

A folder for each family: its rules, and the C of the experiments that only they need. Read
core/registry.py first: @rule tells everything else about a rule.

    contract/       PUF101-112, 115, 116
    settings/       PUF113, 114
    memory/         PUF201-208, 405
    observations/   PUF301-308
    rewards/        PUF311-322
    episodes/       PUF323, 401-407
    masks/          PUF411-413
    logs/           PUF421-423
    determinism/    PUF501-506
    training/       PUF601, 701, 702
    python_envs/    the same codes, for environments in Python
"""
