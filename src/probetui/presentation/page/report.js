"use strict";
(() => {
  const figure = document.querySelector("figure.lanes");
  if (!figure) return;
  const start = Number(figure.dataset.start), end = Number(figure.dataset.end);
  const offset = Number(figure.dataset.offset);
  const lanes = [...figure.querySelectorAll("svg.lane")];
  const labels = [...figure.querySelectorAll("svg.axis text")];
  const status = figure.querySelector(".cursor");
  let left = start, right = end, at = null;

  const clock = (seconds) =>
    new Date((seconds + offset) * 1000).toISOString().slice(11, 19);
  const uprights = lanes.map((lane) => {
    const line = document.createElementNS("http://www.w3.org/2000/svg", "line");
    line.setAttribute("class", "at");
    line.setAttribute("y1", "0");
    line.setAttribute("y2", "24");
    line.setAttribute("visibility", "hidden");
    lane.append(line);
    return line;
  });
  const shown = (lane, share) => {
    let found = "";
    for (const mark of lane.querySelectorAll(".time > rect:not(.tick), .time > line")) {
      const from = parseFloat(mark.getAttribute(mark.tagName === "line" ? "x1" : "x"));
      const size = mark.getAttribute("width") || "";
      const width = size.endsWith("%") ? parseFloat(size) : 0;
      if (from <= share && share < from + Math.max(width, 0.2)) {
        found = mark.querySelector("title").textContent;
      }
    }
    return found;
  };
  const draw = () => {
    const scale = (end - start) / (right - left);
    const shift = (-100 * (left - start)) / (right - left);
    for (const time of figure.querySelectorAll("svg.time")) {
      time.setAttribute("x", `${shift}%`);
      time.setAttribute("width", `${100 * scale}%`);
    }
    labels.forEach((label, index) => {
      label.textContent = clock(left + ((right - left) * index) / (labels.length - 1));
    });
    const place = at === null ? -1 : (at - left) / (right - left);
    for (const line of uprights) {
      const isSeen = place >= 0 && place <= 1;
      line.setAttribute("visibility", isSeen ? "visible" : "hidden");
      line.setAttribute("x1", `${100 * place}%`);
      line.setAttribute("x2", `${100 * place}%`);
    }
    if (at === null) return;
    const share = Math.min((100 * (at - start)) / (end - start), 99.99);
    const told = lanes
      .map((lane) => [lane.querySelector("title").textContent, shown(lane, share)])
      .filter(([, text]) => text)
      .map(([name, text]) => `${name}: ${text}`);
    status.textContent = [clock(at), ...told.slice(0, 12)].join("\n");
  };
  const zoom = (factor, around) => {
    const span = Math.min(Math.max((right - left) * factor, 1), end - start);
    const share = (around - left) / (right - left);
    left = Math.min(Math.max(around - share * span, start), end - span);
    right = left + span;
    draw();
  };
  const middle = () =>
    at !== null && at >= left && at <= right ? at : (left + right) / 2;
  const move = (to) => {
    at = Math.min(Math.max(to, start), end);
    const span = right - left;
    if (at < left) [left, right] = [at, at + span];
    if (at > right) [left, right] = [at - span, at];
    draw();
  };
  const acts = {
    in: () => zoom(0.5, middle()),
    out: () => zoom(2, middle()),
    all: () => { [left, right] = [start, end]; draw(); },
  };
  const keys = {
    "+": acts.in, "=": acts.in, "-": acts.out, "0": acts.all,
    ArrowLeft: () => move((at === null ? right : at) - (right - left) / 100),
    ArrowRight: () => move((at === null ? left : at) + (right - left) / 100),
    Home: () => move(start), End: () => move(end),
    Escape: () => { at = null; status.textContent = ""; draw(); },
  };
  figure.tabIndex = 0;
  figure.setAttribute("role", "group");
  figure.addEventListener("keydown", (event) => {
    const act = keys[event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    act();
  });
  const instantOf = (event) => {
    const box = lanes[0].getBoundingClientRect();
    return left + ((event.clientX - box.left) / box.width) * (right - left);
  };
  figure.addEventListener("pointerdown", (event) => {
    if (event.target.closest("svg.lane")) move(instantOf(event));
  });
  figure.addEventListener("wheel", (event) => {
    if (!event.ctrlKey || !event.target.closest("svg.lane")) return;
    event.preventDefault();
    zoom(event.deltaY < 0 ? 0.8 : 1.25, instantOf(event));
  }, { passive: false });
  const controls = document.querySelector(".controls");
  controls.addEventListener("click", (event) => {
    const act = acts[event.target.dataset.zoom];
    if (act) act();
  });
  controls.hidden = status.hidden = false;
  addEventListener("beforeprint", () => {
    for (const details of document.querySelectorAll("details")) details.open = true;
  });
})();
