const data = JSON.parse(document.getElementById("data").textContent);
const svg = document.getElementById("map");
const NS = "http://www.w3.org/2000/svg";
const [LEFT, RIGHT, TOP, BOTTOM, WIDTH, HEIGHT] = [64, 16, 12, 44, 960, 560];
const FIELDS = [["score, 0 to 1", row => row[2], "linear"], ["score", row => row[3], "linear"],
                ["cost", row => row[4], "log"], ["steps", row => row[5], "log"],
                ...data.names.map((name, k) => [name, row => row[6][k], data.scales[k]])];
const stretch = {linear: v => v, log: v => Math.log10(v), logit: v => Math.log10(v / (1 - v))};
const back = {linear: v => v, log: v => 10 ** v, logit: v => 1 / (1 + 10 ** -v)};
const byId = id => document.getElementById(id);
let view = null;                        // [x low, x high, y low, y high], stretched; null: all
let drawn = [];                         // [row, x, y] in the picture

for (const [id, start] of [["x", 2], ["y", 0]]) {
    FIELDS.forEach(([name, , scale], k) => {
        if (scale !== "points") byId(id).add(new Option(name, k, false, k === start));
    });
    byId(id).onchange = () => { view = null; draw(); };
}
const filters = [...document.querySelectorAll(".field")].map((field, k) => {
    field.add(new Option("all", -1));
    FIELDS.forEach(([name, , scale], n) => { if (scale !== "points") field.add(new Option(name, n)); });
    const [low, high] = [document.querySelectorAll(".low")[k], document.querySelectorAll(".high")[k]];
    for (const each of [field, low, high]) each.oninput = draw;
    return {field, low, high};
});

function passes(row) {
    return filters.every(({field, low, high}) => {
        if (field.value < 0) return true;
        const value = FIELDS[field.value][1](row);
        return value !== null && !(low.value !== "" && value < +low.value)
            && !(high.value !== "" && value > +high.value);
    });
}

function add(kind, attributes, text) {
    const made = document.createElementNS(NS, kind);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    if (text !== undefined) made.textContent = text;
    svg.append(made);
    return made;
}

function ticks(low, high, count) {
    const raw = (high - low) / count, power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 2.5, 5, 10].map(m => m * power).find(each => each >= raw);
    const found = [];
    for (let k = Math.ceil(low / step); k * step <= high + 1e-12; k++) found.push(k * step);
    return found;
}

function powers(low, high) {            // 1, 2 and 5 times powers of ten, as logarithms
    for (const digits of [[1, 2, 5], [1, 3], [1]]) {
        const found = [];
        for (let k = Math.floor(low); k <= high; k++) {
            for (const digit of digits) {
                const at = k + Math.log10(digit);
                if (at >= low && at <= high) found.push(at);
            }
        }
        if (found.length > 1 && found.length < 10) return found;
    }
    return ticks(low, high, 6);
}

function label(value) {
    const size = Math.abs(value);
    if (size >= 1e6) return `${+(value / 1e6).toPrecision(3)}M`;
    if (size >= 1e4) return `${+(value / 1e3).toPrecision(3)}k`;
    return size && size < 1e-3 ? value.toExponential(1) : String(+value.toPrecision(4));
}

const placeX = v => LEFT + (v - view[0]) / (view[1] - view[0]) * (WIDTH - LEFT - RIGHT);
const placeY = v => HEIGHT - BOTTOM - (v - view[2]) / (view[3] - view[2]) * (HEIGHT - TOP - BOTTOM);

function draw() {
    const [xf, yf] = [FIELDS[byId("x").value], FIELDS[byId("y").value]];
    const rows = data.rows.filter(row => xf[1](row) !== null && yf[1](row) !== null && passes(row));
    const points = rows.map(row => [row, stretch[xf[2]](xf[1](row)), stretch[yf[2]](yf[1](row))]);
    if (!view) {
        view = [1, 2].flatMap(k => {
            const values = points.map(each => each[k]);
            const [low, high] = [Math.min(...values, Infinity), Math.max(...values, -Infinity)];
            if (!isFinite(low)) return [0, 1];
            const room = (high - low) * 0.05 || 0.5;
            return [low - room, high + room];
        });
    }
    svg.replaceChildren();
    const along = (scale, low, high) => scale === "log" ? powers(low, high) : ticks(low, high, 6);
    for (const v of along(xf[2], view[0], view[1])) {
        add("line", {class: "grid", x1: placeX(v), x2: placeX(v), y1: TOP, y2: HEIGHT - BOTTOM});
        add("text", {x: placeX(v), y: HEIGHT - BOTTOM + 17, "text-anchor": "middle"}, label(back[xf[2]](v)));
    }
    for (const v of along(yf[2], view[2], view[3])) {
        add("line", {class: "grid", x1: LEFT, x2: WIDTH - RIGHT, y1: placeY(v), y2: placeY(v)});
        add("text", {x: LEFT - 7, y: placeY(v) + 4, "text-anchor": "end"}, label(back[yf[2]](v)));
    }
    add("text", {x: (LEFT + WIDTH) / 2, y: HEIGHT - 6, "text-anchor": "middle"}, xf[0]);
    add("text", {transform: `translate(13 ${HEIGHT / 2}) rotate(-90)`, "text-anchor": "middle"}, yf[0]);
    drawn = points.map(([row, x, y]) => [row, placeX(x), placeY(y)]).filter(([, x, y]) =>
        x >= LEFT && x <= WIDTH - RIGHT && y >= TOP && y <= HEIGHT - BOTTOM);
    data.groups.forEach((_, group) => {
        const path = drawn.filter(([row]) => row[0] === group)
            .map(([, x, y]) => `M${x.toFixed(1)} ${y.toFixed(1)}h0`).join("");
        if (path) add("path", {class: `hit c${group % 8}`, d: path});
    });
    byId("kept").textContent = `${drawn.length} of ${data.rows.length} trials`;
}

function valuesAt(point) {
    return [view[0] + (point.x - LEFT) / (WIDTH - LEFT - RIGHT) * (view[1] - view[0]),
            view[2] + (HEIGHT - BOTTOM - point.y) / (HEIGHT - TOP - BOTTOM) * (view[3] - view[2])];
}

svg.addEventListener("wheel", event => {
    event.preventDefault();
    const [x, y] = valuesAt(placeIn(svg, event)), by = event.deltaY < 0 ? 0.8 : 1.25;
    view = [x + (view[0] - x) * by, x + (view[1] - x) * by, y + (view[2] - y) * by, y + (view[3] - y) * by];
    draw();
}, {passive: false});
svg.addEventListener("dblclick", () => { view = null; draw(); });

let start = null, box = null;
svg.addEventListener("pointerdown", event => {
    start = placeIn(svg, event);
    box = add("rect", {class: "box", x: start.x, y: start.y, width: 0, height: 0});
    svg.setPointerCapture(event.pointerId);
});
svg.addEventListener("pointermove", event => {
    if (!start) return;
    const now = placeIn(svg, event);
    box.setAttribute("x", Math.min(start.x, now.x));
    box.setAttribute("y", Math.min(start.y, now.y));
    box.setAttribute("width", Math.abs(now.x - start.x));
    box.setAttribute("height", Math.abs(now.y - start.y));
});
svg.addEventListener("pointerup", event => {
    if (!start) return;
    const [from, to] = [start, placeIn(svg, event)];
    start = null;
    box.remove();
    if (Math.abs(to.x - from.x) > 6 && Math.abs(to.y - from.y) > 6) {
        const [a, b] = [valuesAt(from), valuesAt(to)];
        view = [Math.min(a[0], b[0]), Math.max(a[0], b[0]), Math.min(a[1], b[1]), Math.max(a[1], b[1])];
        draw();
        return;
    }
    let found = null, least = 144;
    for (const [row, x, y] of drawn) {
        const far = (x - to.x) ** 2 + (y - to.y) ** 2;
        if (far < least) [found, least] = [row, far];
    }
    if (found) open(found);
});

function open(row) {
    const group = data.groups[row[0]];
    showCard(`${group.label}, trial ${row[1]}`,
             `score ${row[3].toPrecision(5)}, cost ${row[4].toPrecision(4)} ${group.unit}`, "",
             data.names.map((name, k) => [name, row[6][k]]));
}

draw();
