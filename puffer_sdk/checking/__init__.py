"""`check`: run an environment, look at what it does, report what ruins training.

In the order in which data passes:

    source/         the author's C, read with libclang
    harness/        the C program that runs an environment and writes down facts
    experiments/    which experiments are run, and what follows from them
    facts           Facts: everything that rules may look at
    finding         Finding: one fault
    rules/          Facts -> Findings
    allowing        findings that the author allows
    claims          what a repro program looks for
    repro/          a C program that shows a finding
    fixes/          edits that --fix makes
    result          CheckResult
    python/         the same for environments in Python
    check           all of this: a folder or a name -> CheckResult
    report/         a CheckResult as text or SARIF
    mutants/        faults planted on purpose, to measure the rules
"""
