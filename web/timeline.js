// The timeline of traced GPUs: one canvas a GPU, steps above, events in the middle, gaps below. The data are made by
// src/report/trace_timeline.cc. Drawing touches what is visible only: columns while events are narrower than a pixel,
// single events and gaps from there on. So a trace of a million events draws in milliseconds.
"use strict";
(() => {
  const source = document.getElementById("timeline-data");
  const section = document.getElementById("timeline");
  if (!source || !section) return;
  const data = JSON.parse(source.textContent);
  const EVENT = 4, GAP = 4, STEP = 3;                 // numbers of each entry
  const KINDS = ["compute", "communication", "copies"];
  const KIND_COLORS = ["--productive", "--under", "--bound"];
  const HEIGHT = 64, STEP_TOP = 2, EVENT_TOP = 12, GAP_TOP = 44, LANE = 16;
  const rows = document.getElementById("timeline-rows");
  const tip = document.getElementById("timeline-tip");
  const longest = Math.max(...data.gpus.map(g => g.offset + g.window), 1);
  const view = { from: 0, to: longest };
  const color = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim() || "gray";

  const time = ns => ns >= 1e9 ? (ns / 1e9).toPrecision(3) + " s" : ns >= 1e6 ? (ns / 1e6).toPrecision(3) + " ms"
    : ns >= 1e3 ? (ns / 1e3).toPrecision(3) + " us" : ns + " ns";
  // The first entry that can reach t: entries are sorted by start, and none is longer than the longest.
  const longestOf = (list, size) => {
    let most = 0;
    for (let i = 0; i < list.length; i += size) most = Math.max(most, list[i + 1]);
    return most;
  };
  const lengths = new Map();
  const firstFrom = (list, size, time) => {
    if (!lengths.has(list)) lengths.set(list, longestOf(list, size));
    const t = time - lengths.get(list);
    let low = 0, high = list.length / size;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (list[middle * size] < t) low = middle + 1; else high = middle;
    }
    return low;
  };
  const drawn = gpu => gpu.event.length / EVENT === gpu.events && gpu.gap.length / GAP === gpu.gaps;

  // The visible part on the clock of one GPU: windows of ranks begin at different times.
  const seen = gpu => ({ from: view.from - gpu.offset, to: view.to - gpu.offset });

  function drawColumns(context, gpu, scale) {
    const { from, to } = seen(gpu);
    const perPixel = 1 / scale;
    const level = gpu.columns.find(c => c.width <= 2 * perPixel) || gpu.columns[gpu.columns.length - 1];
    const first = Math.max(Math.floor(from / level.width), 0);
    const last = Math.min(Math.ceil(to / level.width), level.rows.length / 2);
    for (let i = first; i < last; ++i) {
      const x = (i * level.width - from) * scale;
      const w = Math.max(level.width * scale, 1);
      const idle = Math.min(level.rows[2 * i] / level.width, 1);
      const kind = level.rows[2 * i + 1];
      if (kind >= 0 && idle < 1) {
        context.fillStyle = color(KIND_COLORS[kind]);
        const h = (1 - idle) * LANE * 1.5;
        context.fillRect(x, EVENT_TOP + LANE * 1.5 - h, w, h);
      }
      if (idle > 0) {
        context.fillStyle = color("--idle");
        context.fillRect(x, GAP_TOP, w, idle * LANE);
      }
    }
  }

  function drawEntries(context, gpu, list, size, scale, top, height, paint) {
    const { from, to } = seen(gpu);
    let painted = -1;
    for (let i = firstFrom(list, size, from); i < list.length / size; ++i) {
      const start = list[i * size];
      if (start > to) break;
      const x = (start - from) * scale;
      const w = list[i * size + 1] * scale;
      if (x + w < 0 || x + w < painted) continue;     // out of sight, or inside the last pixel
      context.fillStyle = paint(i);
      context.fillRect(x, top, Math.max(w, 1), height);
      painted = Math.floor(x + Math.max(w, 1));
    }
  }

  function draw(gpu) {
    const canvas = gpu.canvas;
    const ratio = window.devicePixelRatio || 1;
    const width = canvas.clientWidth;
    if (width === 0) return;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(HEIGHT * ratio);
    const context = canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, HEIGHT);
    const scale = width / (view.to - view.from);
    const median = gpu.window / Math.max(gpu.events, 1);
    if (!drawn(gpu) || median * scale < 0.5) {
      drawColumns(context, gpu, scale);
    }
    if (drawn(gpu) && median * scale >= 0.5 || !drawn(gpu) && scale * (gpu.columns[gpu.columns.length - 1].width) > 2) {
      const colors = KIND_COLORS.map(color);
      const claimed = color("--spin"), other = color("--idle");
      drawEntries(context, gpu, gpu.event, EVENT, scale, EVENT_TOP, LANE * 1.5, i => colors[gpu.event[i * EVENT + 2]]);
      drawEntries(context, gpu, gpu.gap, GAP, scale, GAP_TOP, LANE,
        i => data.causes[gpu.gap[i * GAP + 2]] ? claimed : other);
    }
    context.fillStyle = color("--soft");
    for (let i = 0; i < gpu.step.length / STEP; ++i) {
      const x = (gpu.step[i * STEP] - seen(gpu).from) * scale;
      const w = gpu.step[i * STEP + 1] * scale;
      if (x + w < 0 || x > width) continue;
      context.fillRect(x, STEP_TOP, Math.max(w - 1, 1), 6);
    }
  }
  const drawAll = () => data.gpus.forEach(draw);

  // What lies under the pointer: the shortest entry that covers it, or the nearest within two pixels.
  function under(gpu, list, size, t, slack) {
    let best = -1;
    for (let i = firstFrom(list, size, t - slack); i < list.length / size && list[i * size] <= t + slack; ++i) {
      const end = list[i * size] + list[i * size + 1];
      if (end + slack < t) continue;
      if (best < 0 || list[i * size + 1] < list[best * size + 1]) best = i;
    }
    return best;
  }
  function find(gpu, event) {
    const box = gpu.canvas.getBoundingClientRect();
    const perPixel = (view.to - view.from) / box.width;
    const t = seen(gpu).from + (event.clientX - box.left) * perPixel;
    const y = event.clientY - box.top;
    if (y >= GAP_TOP) {
      const i = under(gpu, gpu.gap, GAP, t, 2 * perPixel);
      return i < 0 ? null : { gap: i };
    }
    if (y < EVENT_TOP - 1) {
      const i = under(gpu, gpu.step, STEP, t, 0);
      return i < 0 ? null : { step: i };
    }
    const i = under(gpu, gpu.event, EVENT, t, 2 * perPixel);
    return i < 0 ? null : { event: i };
  }
  function say(gpu, found) {
    if (!found) return "";
    if ("gap" in found) {
      const g = gpu.gap.slice(found.gap * GAP, found.gap * GAP + GAP);
      const cause = data.causes[g[2]];
      return `${gpu.label}: idle ${time(g[1])} at ${time(g[0])}, before its next event: ${data.texts[g[3]]}; ` +
        (cause ? `cause: ${cause} (select for the evidence)` : "no cause claims it");
    }
    if ("step" in found) {
      const s = gpu.step.slice(found.step * STEP, found.step * STEP + STEP);
      return `${gpu.label}: step ${s[2]}, ${time(s[1])}`;
    }
    const e = gpu.event.slice(found.event * EVENT, found.event * EVENT + EVENT);
    return `${gpu.label}: ${data.texts[e[3]] || "without a name"} (${KINDS[e[2]]}), ${time(e[1])} at ${time(e[0])}`;
  }
  function open(cause) {
    const card = document.getElementById("cause-" + cause);
    if (!card) return;
    const fold = card.closest("details");
    if (fold) fold.open = true;
    card.scrollIntoView({ block: "center" });
  }

  function zoom(factor, at) {
    const span = Math.min(Math.max((view.to - view.from) * factor, 100), longest);
    const left = at - (at - view.from) * span / (view.to - view.from);
    view.from = Math.min(Math.max(left, 0), longest - span);
    view.to = view.from + span;
    drawAll();
  }
  function move(share) {
    const span = view.to - view.from;
    view.from = Math.min(Math.max(view.from + share * span, 0), longest - span);
    view.to = view.from + span;
    drawAll();
  }

  for (const gpu of data.gpus) {
    const row = document.createElement("div");
    row.className = "timeline-row";
    const label = document.createElement("span");
    label.textContent = gpu.label;
    gpu.canvas = document.createElement("canvas");
    gpu.canvas.setAttribute("role", "img");
    gpu.canvas.setAttribute("aria-label", `${gpu.label}: ${gpu.events} events and ${gpu.gaps} parts of gaps in ` +
      time(gpu.window));
    gpu.canvas.addEventListener("mousemove", event => { tip.textContent = say(gpu, find(gpu, event)) || "\u00a0"; });
    gpu.canvas.addEventListener("click", event => {
      const found = find(gpu, event);
      if (found && "gap" in found) open(data.causes[gpu.gap[found.gap * GAP + 2]]);
    });
    gpu.canvas.addEventListener("wheel", event => {
      if (!event.ctrlKey && !event.shiftKey) return;  // the page scrolls
      event.preventDefault();
      const box = gpu.canvas.getBoundingClientRect();
      zoom(event.deltaY > 0 ? 1.25 : 0.8, view.from + (event.clientX - box.left) / box.width * (view.to - view.from));
    }, { passive: false });
    row.append(label, gpu.canvas);
    rows.append(row);
  }
  const controls = document.getElementById("timeline-controls");
  const middle = () => (view.from + view.to) / 2;
  for (const [text, act] of [["Zoom in", () => zoom(0.5, middle())], ["Zoom out", () => zoom(2, middle())],
    ["Earlier", () => move(-0.5)], ["Later", () => move(0.5)], ["All", () => zoom(longest, 0)]]) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = text;
    button.addEventListener("click", act);
    controls.append(button);
  }
  const key = document.getElementById("timeline-key");
  for (const [text, name] of [...KINDS.map((k, i) => [k, KIND_COLORS[i]]), ["idle, with a cause", "--spin"],
    ["idle, no cause claims it", "--idle"], ["profiled steps", "--soft"]]) {
    const item = document.createElement("li");
    const swatch = document.createElement("span");
    swatch.className = "timeline-swatch";
    swatch.style.background = `var(${name})`;
    item.append(swatch, text);
    key.append(item);
  }
  const kept = data.gpus.filter(g => !drawn(g)).length;
  const notes = [];
  if (kept) notes.push("the longest events and gaps can be pointed at; columns show the sum of all");
  if (data.left_out) notes.push(`${data.left_out} more GPUs are not drawn`);
  notes.push("Ctrl or Shift and the wheel zoom");
  const note = document.createElement("li");
  note.textContent = notes.join("; ");
  key.append(note);
  section.hidden = false;
  window.timelineDraw = drawAll;                       // for tests: draws everything anew
  window.timelineView = view;
  window.addEventListener("resize", drawAll);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
  drawAll();
})();
