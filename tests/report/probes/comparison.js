// Each step of a reader's, and what then shows.
const plot = (id) => document.getElementById(id), told = {};
const shown = (id) => plot(id).data.filter((trace) => trace.visible !== false).length;
const marks = () => ["radius", "p_a"].map((id) => (plot(id).layout.shapes || []).map((shape) => shape.x0));
const ids = ["radius", "p_a", "difference", "waterfall", "budget"];
told.drawn = ["scatterlayer", "barlayer"].map((what) => document.querySelectorAll(`.plot .${what} .trace`).length);
told.widths = ids.map((id) => plot(id).querySelector("svg").clientWidth);
told.start = [marks(), plot("stop").textContent];
const slider = plot("slider");
// Not the place of the answer, at which the slider starts.
slider.value = 60;
slider.dispatchEvent(new Event("input"));
told.moved = [marks(), plot("stop").textContent, slider.getAttribute("aria-valuetext")];
const area = plot("p_a").querySelector(".nsewdrag"), box = area.getBoundingClientRect();
// Not nearer to the end: several stops share the places there.
const middle = { clientX: box.left + 0.62 * box.width, clientY: box.top + box.height / 2, bubbles: true };
area.dispatchEvent(new MouseEvent("mousemove", middle));
told.hovered = [slider.value, marks(), [...document.querySelectorAll("#radius .hoverlayer .legend")].length];
const button = document.querySelectorAll(".legend button")[1];
button.focus();
told.focused = document.activeElement === button;
button.click();
const pressed = () => [...document.querySelectorAll(".legend button")].map((one) => one.getAttribute("aria-pressed"));
told.hidden = [ids.map(shown), pressed().filter((state) => state === "false").length, plot("stop").textContent];
button.click();
told.back = [ids.map(shown), pressed().filter((state) => state === "false").length];
const pick = document.getElementById("pick");
pick.value = pick.options.length - 1;
pick.dispatchEvent(new Event("change"));
told.at = document.getElementById("at").textContent;
document.body.dataset.probe = JSON.stringify(told);
