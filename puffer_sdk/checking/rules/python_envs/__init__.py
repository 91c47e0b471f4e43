"""Judgements of environments in Python, under the codes of the other families.

    judging         @judgement, and the findings of what is odd
    numbers         constant, large and wrapping observations; rewards; actions
    endings         episodes
    repeating       does the same play give the same game?
"""
