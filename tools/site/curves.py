"""Learning curves as SVG that follows the page's palette.  {name: {"steps", "perf"}} -> text"""
from __future__ import annotations

import html
import statistics

WIDTH, HEIGHT = 440, 240
LEFT, RIGHT, TOP, BOTTOM = 40, 14, 12, 56
POINTS = 60


def chart(curves: dict[str, dict], title: str) -> str:
    """The median of the seeds as a line, least to most as a band; the first one in grey."""
    most = max(curve["steps"][-1] for curve in curves.values())
    out = [f'<svg class="curves" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
           f'aria-label="{html.escape(title)}">', *_axes(most)]
    for number, (name, curve) in enumerate(curves.items()):
        kind = f"c{number}" if len(curves) > 1 else "c1"
        out += _band(curve, most, kind)
        x = LEFT + 4 + number * 130
        out.append(f'<path class="{kind} line" d="M{x} {HEIGHT - 10}h18"/>'
                   f'<text x="{x + 24}" y="{HEIGHT - 6}">{html.escape(name)}</text>')
    return "\n".join((*out, "</svg>"))


def _x(step: float, most: float) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * step / most


def _y(perf: float) -> float:
    return TOP + (HEIGHT - TOP - BOTTOM) * (1 - perf)


def _axes(most: float) -> list[str]:
    out = []
    for perf in (0, 0.5, 1):
        y = _y(perf)
        out.append(f'<path class="grid" d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}"/>'
                   f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{perf:g}</text>')
    for million in range(0, int(most / 1e6) + 1):
        out.append(f'<text x="{_x(million * 1e6, most):.1f}" y="{HEIGHT - BOTTOM + 18}" '
                   f'text-anchor="middle">{million}{" M" if million else ""}</text>')
    return out


def _band(curve: dict, most: float, kind: str) -> list[str]:
    stride = max(1, len(curve["steps"]) // POINTS)
    picked = list(range(0, len(curve["steps"]), stride))
    at = [_x(curve["steps"][i], most) for i in picked]
    columns = [[seed[i] for seed in curve["perf"]] for i in picked]

    def path(pick, order=1) -> str:
        return "L".join(f"{x:.1f} {_y(pick(column)):.1f}"
                        for x, column in list(zip(at, columns))[::order])
    return [f'<path class="{kind} band" d="M{path(max)}L{path(min, -1)}Z"/>',
            f'<path class="{kind} line" d="M{path(statistics.median)}"/>']
