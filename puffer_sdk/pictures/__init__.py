"""Pictures: an environment at play -> GIF, mp4, PNG frames.

In reading order:

    record        the parent: what to record, and into which files
    film          the child: plays as evaluate does, draws each tick
    screen/       raylib under our control: c_render -> a frame, or a window with a panel
    montage       tiles, panes and labels -> one picture
    writers       mp4 and PNG files
    gif           GIF files
    palette       the 256 colours of a GIF
"""
