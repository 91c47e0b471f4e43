"""`check`: run an environment, look at what it does, report what ruins training.

    check       all of this: a folder or a name -> CheckResult
    core/       facts, findings, suppressions, the registry of rules
    play/       the C programs that run an environment and write down facts
    collect/    two collectors, for C and for Python environments -> facts
    rules/      facts -> findings, a folder for each family
    prove/      a C program that shows a finding
    fix/        edits that --fix makes
    report/     a CheckResult as text or SARIF
"""
