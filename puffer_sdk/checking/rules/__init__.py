"""The rules: small functions, Facts in, Findings out. A rule's docstring is its page.

A folder for each family, with its rules and the C of the experiments that only they need; in it a
folder for each rule that has several detectors, a detector a file. Read core/registry.py first:
@rule tells everything else about a rule. rates.json has what each detector found in games that it
had not been shown.

    contract/       PUF101-112, 115, 116
    settings/       PUF113, 114: no_effect/ 113
    memory/         PUF201-208, 405
    observations/   PUF301-308: stale/ 302, constant/ 305, wrap/ 307, twice/ 308
    rewards/        PUF311-322: lost/ 315
    episodes/       PUF323, 401-407: finals/ 323, no_reset/ 401
    masks/          PUF411-413: ignored/ 411, mismatch/ 413
    logs/           PUF421-423: mismatch/ 422, range/ 423
    determinism/    PUF501-506: seeds/ 502
    training/       PUF601, 701, 702
    python_envs/    the same codes, for environments in Python
"""
