"""sweep.html: a sweep as one static file, and several sweeps on one map.

importance    trials -> slices, importance: what the Gaussian processes say
sweep_charts  the charts of one sweep, as SVG
sweep_page    all of it -> HTML: render() one sweep, render_map() several
"""
