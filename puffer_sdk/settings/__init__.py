"""Every setting: declared once, read strictly, resolved with a reason for each value.

    texts      numbers and actions as text
    encoder    the parts of an observation that a network sees, as text
    factors    the factors of observations as text
    table      the one table of settings
    key_hints  the key that an unknown name most likely stands for
    inifile    an ini's entries, with line numbers
    goal       what counts as solved
    automatic  values that are chosen automatically
    values     Config: resolved settings
    conflicts  values that cannot be together
    upstream   what an ini of PufferLib's tree means without saying it
    config     resolve: defaults < the environment's ini < the command line
"""
