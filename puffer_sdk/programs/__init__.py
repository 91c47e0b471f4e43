"""Programs: NAME.c -> a desktop program, a debug build with sanitizers, or a web page.

In reading order:

    targets       what to compile and link for each target
    webpage       the page around the program: title, help, buttons for phones
    runtime/      C that is linked into a program, and the template of the page
"""
