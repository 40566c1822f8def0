"""Plots as inline SVG that follow the page's colours: a curve of losses, bars of throughput. Pure text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

_WIDTH, _HEIGHT = 640, 220
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 16, 14, 34


def curve(values: Sequence[float], title: str, across: str, *, log: bool = False) -> str:
    """A line over steps; values that are no numbers are left out. Empty for fewer than two points."""
    points = [(i, v) for i, v in enumerate(values, 1) if math.isfinite(v) and (v > 0 or not log)]
    if len(points) < 2:
        return ""
    scale = math.log10 if log else float
    ticks = _powers([v for _, v in points]) if log else _ticks(max(v for _, v in points))
    low = min([scale(v) for _, v in points] + [scale(t) for t in ticks])
    high = max([scale(v) for _, v in points] + [scale(t) for t in ticks])
    last = points[-1][0]
    spots = [(_x((i - 1) / max(last - 1, 1)), _y((scale(v) - low) / ((high - low) or 1))) for i, v in points]
    path = "M" + " L".join(f"{x:.1f},{y:.1f}" for x, y in spots)
    marks = [f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="2.5"/>' for x, y in (spots[0], spots[-1])]
    rows = [_grid(_y((scale(t) - low) / ((high - low) or 1)), _number(t)) for t in ticks]
    feet = _foot("1", _x(0)) + _foot(str(last), _x(1)) + _foot(across, _x(0.5))
    return _svg(title, "".join(rows) + f'<path class="line" d="{path}"/>' + "".join(marks) + feet)


def bars(rows: Sequence[tuple[str, float]], title: str, across: str) -> str:
    """One bar a row, the value above it. Empty without rows."""
    rows = [(label, value) for label, value in rows if math.isfinite(value) and value >= 0]
    if not rows:
        return ""
    ticks = _ticks(max(value for _, value in rows) * 1.12)
    high = max(ticks[-1], max(value for _, value in rows) * 1.12) or 1
    step = (_WIDTH - _LEFT - _RIGHT) / len(rows)
    wide = min(54.0, step * 0.6)
    out = [_grid(_y(t / high), _number(t)) for t in ticks]
    for number, (label, value) in enumerate(rows):
        middle, top = _LEFT + step * (number + 0.5), _y(value / high)
        out.append(
            f'<rect class="bar" x="{middle - wide / 2:.1f}" y="{top:.1f}" '
            f'width="{wide:.1f}" height="{_y(0) - top:.1f}" rx="2"/>'
            f'<text class="value" x="{middle:.1f}" y="{top - 5:.1f}">{_number(value)}</text>'
            f'<text class="foot" x="{middle:.1f}" y="{_HEIGHT - 18}">{escape(label)}</text>'
        )
    return _svg(title, "".join(out) + _foot(across, _x(0.5), _HEIGHT - 3))


def _svg(title: str, body: str) -> str:
    name = escape(title, quote=True)
    return f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{name}"><title>{escape(title)}</title>{body}</svg>'


def _grid(y: float, text: str) -> str:
    return (
        f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
        f'<text class="tick" x="{_LEFT - 8}" y="{y + 4:.1f}">{text}</text>'
    )


def _foot(text: str, x: float, y: int = _HEIGHT - 12) -> str:
    return f'<text class="foot" x="{x:.1f}" y="{y}">{escape(text)}</text>'


def _x(share: float) -> float:
    return _LEFT + share * (_WIDTH - _LEFT - _RIGHT)


def _y(share: float) -> float:
    return _HEIGHT - _BOTTOM - share * (_HEIGHT - _TOP - _BOTTOM)


def _ticks(high: float) -> list[float]:
    """Round values from 0 up to `high`, four or five of them."""
    if high <= 0:
        return [0.0]
    unit = 10 ** math.floor(math.log10(high))
    step = next((unit * f for f in (0.1, 0.2, 0.25, 0.5, 1, 2, 2.5, 5) if high / (unit * f) <= 5), unit)
    return [step * i for i in range(int(high / step + 1e-9) + 1)]


def _powers(values: Sequence[float]) -> list[float]:
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return [10.0**p for p in range(low, high + 1)]


def _number(value: float) -> str:
    if value and (abs(value) >= 100000 or abs(value) < 0.001):
        return f"{value:.0e}".replace("e-0", "e-").replace("e+0", "e")
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.4g}"
