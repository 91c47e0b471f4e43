// The bug switch: one panel at a time, and the game of that fault in the frame above it
for (const box of document.querySelectorAll(".switch")) {
    const frame = box.querySelector("iframe");
    const show = (fault) => {
        for (const section of box.querySelectorAll("section"))
            section.classList.toggle("on", section.dataset.fault === fault);
        const wanted = `${frame.dataset.root}/${fault}/index.html`;
        if (frame.getAttribute("src") !== wanted) frame.setAttribute("src", wanted);
    };
    box.classList.add("scripted");
    for (const input of box.querySelectorAll("input"))
        input.addEventListener("change", () => show(input.value));
    const checked = box.querySelector("input:checked");
    show(checked ? checked.value : "sound");
}
