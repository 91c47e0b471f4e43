"""The rules: small functions, Facts in, Findings out. A rule's docstring is its page.

Read registry first: @rule tells everything else about a rule. Then, in order of the codes:

    registry        @rule, NotTested, need; finds the rules in this package
    contract        PUF101-106, 112: what header.py and the ini already say
    code            PUF107-111: what the source shows without being run
    settings        PUF113, 114: other values of [env]
    memory          PUF201-204: sanitizers, and rows between guard pages
    allocations     PUF205-207: actions, leaks, buffers of the trainer
    survival        PUF208, 405: processes that ended, calls that did not return
    observations    PUF301-304: not written, old, not finite, far from zero
    values          PUF305-307: constant, outside their bounds, wrapped around
    rewards         PUF311-322: rewards and terminals
    episodes        PUF401-406: endings and resets
    agents          PUF407: as many agents as rows
    actions         PUF411: does an action change anything?
    logs            PUF421-423: does the log tell what happened?
    determinism     PUF501-505: the same bytes from the same seed
    secrets         PUF506: what an agent must not see
    speed           PUF601: slow steps
    learning        PUF701, 702: training, with --learn
"""
