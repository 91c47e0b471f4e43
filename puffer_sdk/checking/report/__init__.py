"""A CheckResult as text, as SARIF, or again after each change.

    terminal    for people
    sarif       for code scanning
    watching    check --watch
"""
