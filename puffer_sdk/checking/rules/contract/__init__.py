"""What the header, the ini and the source say without being run.

    contract_rules  PUF101-106, 112, 116, 117: functions, fields, keys, sizes, compiler warnings
    code            PUF107-111: what the source shows
    outside         PUF115: files, addresses and programs
"""
