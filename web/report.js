// The charts of the audit page: plots of each GPU and of the host, with a cursor shared by all plots and the ribbons
// above them. Everything else on the page works without this script.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("chart-data").textContent);
  const section = document.getElementById("charts");
  let redraw = () => {};

  // On paper every section is open and the charts are light and as wide as the page. Afterwards all is as it was.
  const PAPER_WIDTH = 640;
  let opened = [];
  let paper = false;
  const toPaper = (on) => {
    if (paper === on) return;
    paper = on;
    document.documentElement.classList.toggle("printing", on);
    if (on) opened = [...document.querySelectorAll("details:not([open])")];
    opened.forEach((fold) => (fold.open = on));
    redraw();
  };
  window.addEventListener("beforeprint", () => toPaper(true));
  window.addEventListener("afterprint", () => toPaper(false));

  const host = Object.entries(data.host);
  if (!section || !(data.gpus.length || host.length)) return;

  const SHOWN_AT_FIRST = 2;
  const HEIGHT = 170;
  const LOW = 120;
  const TIME_SPACE = 84;  // pixels between two times of an axis: a time of day is about 56 wide
  const VALUE_SPACE = 24;
  const controls = document.getElementById("controls");
  const plots = document.getElementById("plots");
  const ribbons = document.getElementById("ribbons");
  const sync = uPlot.sync("audit");
  const shown = new Set(data.gpus.slice(0, SHOWN_AT_FIRST).keys());
  const isRead = (values) => values.some((value) => value !== null);
  const KINDS = [["util", "utilization"]];
  if (data.gpus.some((gpu) => isRead(gpu.power))) KINDS.push(["power", "power"]);
  if (data.gpus.some((gpu) => gpu.memory)) KINDS.push(["memory", "memory"]);
  if (host.length) KINDS.push(["host", "host"]);
  const series = new Set(KINDS.map(([key]) => key));
  let live = [];

  const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const width = () => (paper ? PAPER_WIDTH : plots.clientWidth);

  const element = (tag, parent, text) => {
    const e = document.createElement(tag);
    if (text !== undefined) e.textContent = text;
    parent.append(e);
    return e;
  };

  // The line across the ribbons, under the cursor of the plots.
  const cursor = element("div", ribbons);
  cursor.className = "cursor";
  cursor.hidden = true;
  const moveCursor = (plot) => {
    const left = plot.cursor.left;
    const first = ribbons.querySelector(".ribbon");
    cursor.hidden = left === undefined || left < 0 || !first;
    if (cursor.hidden) return;
    const share = (plot.posToVal(left, "x") - data.from) / (data.to - data.from);
    const ribbon = first.getBoundingClientRect();
    cursor.hidden = share < 0 || share > 1;
    cursor.style.left = ribbon.left - ribbons.getBoundingClientRect().left + share * ribbon.width + "px";
  };

  const axis = (scale, format, more) => ({
    scale,
    stroke: color("--soft"),
    grid: { stroke: color("--line"), width: 1 },
    ticks: { stroke: color("--line"), width: 1 },
    size: 62,
    values: (plot, splits) => splits.map(format),
    ...more,
  });

  const clock = (seconds) => new Date(seconds * 1e3).toISOString().slice(11, 19);
  const upTo = (most) => ({ range: (plot, min, max) => [0, most || Math.max(1, max || 0) * 1.05] });

  // One plot. A line is {label, values, unit, stroke, dash, most}; its unit is its scale, the second scale stands at
  // the right. `most` is the end of the scale, if it has one. `bare` leaves the unit to the heading, as long ones do
  // not fit beside the plot.
  const plot = (box, height, times, lines, bare) => {
    const units = [...new Set(lines.map((line) => line.unit))];
    const options = {
      width: width(),
      height,
      padding: [null, units.length > 1 ? null : 62, null, null],
      tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1e3), "Etc/UTC"),
      cursor: { sync: { key: sync.key }, drag: { x: true, y: false } },
      scales: { x: { time: true, range: (p, min, max) => [min ?? data.from, max ?? data.to] } },
      axes: [axis("x", clock, { size: 30, space: TIME_SPACE })],
      series: [{ label: "UTC", value: (p, v) => (v === null ? "–" : clock(v)) }],
      hooks: { setCursor: [moveCursor] },
    };
    units.forEach((unit, i) => {
      options.scales[unit] = upTo(lines.find((line) => line.unit === unit).most);
      const more = i > 0 ? { side: 1, grid: { show: false } } : { space: VALUE_SPACE };
      options.axes.push(axis(unit, (v) => (bare ? v : v + " " + unit), more));
    });
    for (const line of lines) {
      options.series.push({
        label: line.label, scale: line.unit, stroke: color(line.stroke), dash: line.dash, width: 1.5,
        points: { show: false },
        value: (p, v) => (v === null || v === undefined ? "–" : v + " " + line.unit),
      });
    }
    live.push(new uPlot(options, [times, ...lines.map((line) => line.values)], box));
    live.at(-1).wantedHeight = height;
  };

  const newBox = (title) => {
    const box = element("div", plots);
    box.className = "plot";
    element("h3", box, title);
    return box;
  };
  const timesOf = (of, values) => values.map((_, i) => of.start + i * of.step);
  const DASH = [6, 3];

  const drawGpu = (gpu) => {
    const lines = [];
    if (series.has("util")) lines.push({ label: "utilization", values: gpu.util, unit: "%", stroke: "--accent", most: 100 });
    if (series.has("power") && isRead(gpu.power)) lines.push({ label: "power", values: gpu.power, unit: "W", stroke: "--held", dash: DASH });
    const memory = series.has("memory") && gpu.memory;
    if (!lines.length && !memory) return;
    const box = newBox(gpu.label);
    const times = timesOf(gpu, gpu.util);
    if (lines.length) plot(box, HEIGHT, times, lines);
    if (!memory) return;
    element("h4", box, "Memory used, " + (gpu.memory_total ? "of " + gpu.memory_total + " GiB" : "GiB"));
    const line = { label: "memory", values: memory, unit: "GiB", stroke: "--spin", most: gpu.memory_total };
    plot(box, LOW, times, [line], true);
  };

  // What is drawn of a host: a title, and the series of each scope with their unit.
  const HOST_PLOTS = [
    ["Busy CPUs", "CPUs", [["cpus", "busy"]]],
    ["Disk in MB/s", "MB/s", [["read", "read"], ["write", "written"]]],
    ["Network in MB/s", "MB/s", [["received", "received"], ["sent", "sent"]]],
  ];
  const SCOPES = { machine: "machine", workload: "this job" };
  const drawHost = () => {
    for (const [scope, values] of host) {
      for (const [title, unit, keys] of HOST_PLOTS) {
        const lines = keys.filter(([key]) => values[key]).map(([key, label], i) => ({
          label, values: values[key], unit, stroke: i ? "--held" : "--accent", dash: i ? DASH : undefined,
        }));
        if (!lines.length) continue;
        plot(newBox(`${title}, ${SCOPES[scope]}`), LOW, timesOf(values, lines[0].values), lines, true);
      }
    }
  };

  const drawAll = () => {
    live.forEach((p) => p.destroy());
    live = [];
    plots.replaceChildren();
    data.gpus.forEach((gpu, i) => shown.has(i) && drawGpu(gpu));
    if (series.has("host")) drawHost();
  };
  redraw = drawAll;

  const toggles = (title, entries, chosen) => {
    const set = element("fieldset", controls);
    element("legend", set, title);
    for (const [key, text] of entries) {
      const label = element("label", set);
      const box = element("input", label);
      box.type = "checkbox";
      box.checked = chosen.has(key);
      label.append(" " + text);
      box.addEventListener("change", () => {
        if (box.checked) chosen.add(key);
        else chosen.delete(key);
        drawAll();
      });
    }
  };

  section.hidden = false;
  toggles("Show", KINDS, series);
  if (data.gpus.length > 1) toggles("GPUs", data.gpus.map((gpu, i) => [i, gpu.label]), shown);
  drawAll();

  let waiting = 0;
  window.addEventListener("resize", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => live.forEach((p) => p.setSize({ width: width(), height: p.wantedHeight })), 100);
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
})();
