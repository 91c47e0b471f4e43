"""The bug switch of the site: the running game, and the effect of each fault."""
from __future__ import annotations

import html

import measure
from curves import chart
from fills import findings, outputs, sentence
from measure import NAME, SOUND


def switch(root: str) -> str:
    """Game, switch and panels; ROOT is the folder of the games. Without scripts all panels show."""
    choices, panels = [], []
    for number, (variant, fault) in enumerate({SOUND: None, **measure.faults()}.items()):
        label = fault["name"] if fault else "No fault"
        choices.append(f'<label><input type="radio" name="fault" value="{variant}"'
                       f'{"" if number else " checked"}> {html.escape(label)}</label>')
        panels.append(panel(variant, fault, label))
    return "\n".join((
        '<div class="switch" id="bug-switch">',
        f'<iframe src="{root}/{SOUND}/index.html" data-root="{root}" loading="lazy" '
        f'title="{NAME}, played by a policy that was trained on it"></iframe>',
        '<fieldset><legend>Bug switch</legend>', *choices, "</fieldset>", *panels, "</div>"))


def panel(variant: str, fault: dict | None, label: str) -> str:
    found = outputs()["variants"]
    told = findings(found[variant]["check"])
    drawing = chart({"as it is": found[SOUND], **({label: found[variant]} if fault else {})},
                    f"perf over agent steps; {sentence(variant)}")
    parts = [f'<section class="fault" data-fault="{variant}">',
             f"<h4>{html.escape(label)}</h4>"]
    if fault:
        parts += [f"<p>{code(' '.join(fault['story'].split()))}</p>",
                  coloured(measure.diff(variant))]
    else:
        parts.append("<p>The game as it should be, played by a policy that was trained on it. "
                     "Hold <kbd>SHIFT</kbd> and play yourself; on a phone, touch.</p>")
    parts += [f"<p><code>puffer-sdk check {NAME}</code> says:</p>",
              f"<pre class=\"told\">{html.escape(chr(10).join(told))}</pre>",
              f"<p>{html.escape(sentence(variant))}</p>", drawing, "</section>"]
    return "\n".join(parts)


def coloured(diff: str) -> str:
    """A unified diff with a class for each kind of line."""
    kinds = {"+": "ins", "-": "del"}
    lines = (f"<{kinds[line[0]]}>{html.escape(line)}</{kinds[line[0]]}>"
             if line[:1] in kinds else html.escape(line)
             for line in diff.splitlines() if not line.startswith("@@"))
    return f'<pre class="diff">{chr(10).join(lines)}</pre>'


def code(text: str) -> str:
    """Turn `x` in a sentence into code."""
    parts = html.escape(text).split("`")
    return "".join(f"<code>{part}</code>" if at % 2 else part for at, part in enumerate(parts))
