"use strict";
// The card of a trial: its result, its settings as an ini, and a button that copies them. And where
// the pointer is in a chart.
const card = document.getElementById("card");

function iniOf(settings) {
    const sections = new Map();
    for (const [name, value] of settings) {
        if (value === null) continue;
        const dot = name.indexOf(".");
        const section = dot < 0 ? "settings" : name.slice(0, dot);
        if (!sections.has(section)) sections.set(section, []);
        sections.get(section).push(`${name.slice(dot + 1)} = ${value}`);
    }
    return [...sections].map(([name, lines]) => `[${name}]\n${lines.join("\n")}\n`).join("\n");
}

function placeIn(svg, event) {
    return new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
}

async function copyText(text) {
    try {
        await navigator.clipboard.writeText(text);
    } catch {                           // a page opened from a file may not write there
        const area = document.createElement("textarea");
        area.value = text;
        document.body.append(area);
        area.select();
        document.execCommand("copy");
        area.remove();
    }
}

function showCard(title, result, reason, settings) {
    const element = (kind, text, more = {}) =>
        Object.assign(document.createElement(kind), {textContent: text}, more);
    const ini = iniOf(settings);
    const head = element("div", "", {className: "row"});
    const copy = element("button", "Copy ini", {className: "act", id: "copy"});
    const close = element("button", "Close", {className: "act"});
    copy.onclick = async () => {
        await copyText(ini);
        copy.textContent = "Copied";
    };
    close.onclick = () => { card.hidden = true; };
    head.append(element("strong", title), copy, close);
    card.replaceChildren(head, element("div", result), element("div", reason, {className: "dim"}),
                         element("pre", ini));
    card.hidden = false;
}

document.addEventListener("keydown", event => {
    if (event.key === "Escape") card.hidden = true;
});
