"""PUF423: values of the log outside their range.

    not_finite          any of them
    perf_range          perf below 0 or above 1
    divided_perf        perf, divided as integers
    unwritten_column    a field that no line of code stores to
    never_counted       a field that adds what is always 0
    set_to_zero         a field that adds what was just set to 0
    same_value          a perf or score that is the same in every entry
"""
