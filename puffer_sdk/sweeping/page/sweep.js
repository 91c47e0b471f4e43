const data = JSON.parse(document.getElementById("data").textContent);
const [NUMBER, STATE, SCORE, COST, SEED, REASON, VALUES, OTHERS] = [0, 1, 2, 3, 4, 5, 6, 7];
const trials = new Map(data.trials.map(each => [each[NUMBER], each]));

// ---- the card of a trial ----------------------------------------------------------------------

function open(number) {
    const trial = trials.get(number);
    if (!trial) return;
    const score = trial[SCORE] === null ? trial[STATE] : trial[SCORE].toPrecision(5);
    const cost = trial[COST] === null ? "" : `, cost ${trial[COST].toPrecision(4)}`;
    const rows = data.names.map((name, k) => [name, trial[VALUES][k]]);
    showCard(`trial ${number}`, `${score}${cost}, seed ${trial[SEED]}`, trial[REASON],
             [...rows, ...Object.entries(trial[OTHERS])]);
}

function nearest(svg, event) {
    const point = placeIn(svg, event);
    let found = null, least = 12 * 12;
    for (const path of svg.querySelectorAll(".dots")) {
        for (const [number, x, y] of dotsOf(path)) {
            const far = (x - point.x) ** 2 + (y - point.y) ** 2;
            if (far < least && isKept(number)) [found, least] = [number, far];
        }
    }
    return found;
}

document.addEventListener("click", event => {
    const svg = event.target.closest("svg.chart");
    const row = event.target.closest("tr[data-n]");
    const way = event.target.closest(".way");
    const number = row ? +row.dataset.n : way ? +way.dataset.n : svg ? nearest(svg, event) : null;
    if (number !== null) open(number);
});
document.addEventListener("keydown", event => {
    if (event.key === "Enter" && event.target.matches("tr[data-n]")) open(+event.target.dataset.n);
});

// ---- brushing ---------------------------------------------------------------------------------

const brushes = new Map();              // axis -> [top, bottom] in the picture
const parallel = document.getElementById("parallel");
const ways = parallel ? [...parallel.querySelectorAll(".way")].map(line => ({
    line, number: +line.dataset.n,
    heights: line.getAttribute("points").split(" ").map(each => +each.split(",")[1])})) : [];
let kept = null;                        // the numbers that pass all brushes; null: all

function isKept(number) { return kept === null || kept.has(number); }

function dotsOf(path) {
    if (!path.all) {
        const numbers = path.dataset.trials.split(" ").map(Number);
        const places = path.getAttribute("d").split("h0").slice(0, -1);
        path.all = places.map((text, k) => [numbers[k], ...text.slice(1).split(" ").map(Number)]);
    }
    return path.all;
}

function filter() {
    kept = brushes.size ? new Set() : null;
    for (const {line, number, heights} of ways) {
        const inside = [...brushes].every(([axis, [a, b]]) => heights[axis] >= a && heights[axis] <= b);
        line.classList.toggle("out", !inside);
        if (kept && inside) kept.add(number);
    }
    for (const path of document.querySelectorAll(".dots")) {
        path.setAttribute("d", dotsOf(path).filter(([number]) => isKept(number))
            .map(([, x, y]) => `M${x} ${y}h0`).join(""));
    }
    for (const row of document.querySelectorAll("tr[data-n]")) {
        row.classList.toggle("out", !isKept(+row.dataset.n));
    }
    document.getElementById("clear").hidden = !brushes.size;
    document.getElementById("kept").textContent = kept ? `${kept.size} of ${ways.length} trials` : "";
}

function mark(group, span) {
    group.querySelector(".brush")?.remove();
    if (!span) return;
    const x = group.querySelector("line").getAttribute("x1");
    const rect = document.createElementNS("http://www.w3.org/2000/svg", "rect");
    for (const [name, value] of Object.entries({class: "brush", x: x - 10, width: 20, y: span[0],
                                               height: Math.max(1, span[1] - span[0])})) {
        rect.setAttribute(name, value);
    }
    group.append(rect);
}

function set(group, span) {
    const axis = +group.dataset.axis;
    if (span && span[1] - span[0] > 3) brushes.set(axis, span); else brushes.delete(axis);
    mark(group, brushes.get(axis));
    filter();
}

if (parallel) {
    const [top, floor] = [+parallel.dataset.top - 8, +parallel.dataset.floor + 8];
    for (const group of parallel.querySelectorAll(".axis")) {
        const grip = group.querySelector(".grip");
        let start = null;
        const height = event => placeIn(parallel, event).y;
        grip.addEventListener("pointerdown", event => {
            start = height(event);
            grip.setPointerCapture(event.pointerId);
            event.preventDefault();
        });
        grip.addEventListener("pointermove", event => {
            if (start === null) return;
            const now = Math.min(floor, Math.max(top, height(event)));
            set(group, [Math.min(start, now), Math.max(start, now)]);
        });
        grip.addEventListener("pointerup", event => {
            if (start !== null && Math.abs(height(event) - start) < 3) set(group, null);
            start = null;
        });
        grip.addEventListener("keydown", event => {     // the upper or the lower half; Delete: all
            const middle = (top + floor) / 2;
            const spans = {ArrowUp: [top, middle], ArrowDown: [middle, floor], Delete: null};
            if (event.key in spans) { set(group, spans[event.key]); event.preventDefault(); }
        });
    }
    document.getElementById("clear").onclick = () => {
        for (const group of parallel.querySelectorAll(".axis")) mark(group, null);
        brushes.clear();
        filter();
    };
}

// ---- the table --------------------------------------------------------------------------------

document.querySelectorAll("#trials th button").forEach((button, column) => {
    let rising = false;
    button.onclick = () => {
        rising = !rising;
        const body = document.querySelector("#trials tbody");
        const value = row => row.cells[column].textContent.replace(/[,_]/g, "");
        const rows = [...body.rows].sort((a, b) => {
            const [x, y] = [value(a), value(b)];
            const order = isNaN(x) || isNaN(y) ? x.localeCompare(y) : x - y;
            return rising ? order : -order;
        });
        body.append(...rows);
    };
});
