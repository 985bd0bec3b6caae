// The charts of the audit page: a plot per GPU, with a cursor shared by all plots and the ribbons above them.
// Everything else on the page works without this script.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("chart-data").textContent);
  const section = document.getElementById("charts");
  if (!section || !data.gpus.length) return;

  const SHOWN_AT_FIRST = 2;
  const HEIGHT = 170;
  const controls = document.getElementById("controls");
  const plots = document.getElementById("plots");
  const ribbons = document.getElementById("ribbons");
  const sync = uPlot.sync("audit");
  const shown = new Set(data.gpus.slice(0, SHOWN_AT_FIRST).keys());
  const series = new Set(["util", "power"]);
  let live = [];

  const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

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
    cursor.hidden = left === undefined || left < 0;
    if (cursor.hidden) return;
    const share = (plot.posToVal(left, "x") - data.from) / (data.to - data.from);
    const ribbon = ribbons.querySelector(".ribbon").getBoundingClientRect();
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

  const draw = (gpu) => {
    const box = element("div", plots);
    box.className = "plot";
    element("h3", box, gpu.label);
    const times = gpu.util.map((_, i) => gpu.start + i * gpu.step);
    const line = (label, scale, stroke, unit) => ({
      label, scale, stroke, width: 1.5, points: { show: false },
      value: (plot, v) => (v === null || v === undefined ? "–" : v + unit),
    });
    const options = {
      width: plots.clientWidth,
      height: HEIGHT,
      tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1e3), "Etc/UTC"),
      cursor: { sync: { key: sync.key }, drag: { x: true, y: false } },
      scales: {
        x: { time: true, range: (plot, min, max) => [min ?? data.from, max ?? data.to] },
        "%": { range: [0, 100] },
        W: { range: (plot, min, max) => [0, Math.max(1, max || 0) * 1.05] },
      },
      axes: [axis("x", clock, { size: 30 })],
      series: [{ label: "UTC", value: (plot, v) => (v === null ? "–" : clock(v)) }],
      hooks: { setCursor: [moveCursor] },
    };
    const columns = [times];
    if (series.has("util")) {
      options.series.push(line("utilization", "%", color("--accent"), " %"));
      options.axes.push(axis("%", (v) => v + " %"));
      columns.push(gpu.util);
    }
    if (series.has("power")) {
      options.series.push({ ...line("power", "W", color("--held"), " W"), dash: [6, 3] });
      options.axes.push(axis("W", (v) => v + " W", { side: 1, grid: { show: !series.has("util"), stroke: color("--line") } }));
      columns.push(gpu.power);
    }
    live.push(new uPlot(options, columns, box));
  };

  const drawAll = () => {
    live.forEach((plot) => plot.destroy());
    live = [];
    plots.replaceChildren();
    data.gpus.forEach((gpu, i) => shown.has(i) && draw(gpu));
  };

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
  toggles("Show", [["util", "utilization"], ["power", "power"]], series);
  if (data.gpus.length > 1) toggles("GPUs", data.gpus.map((gpu, i) => [i, gpu.label]), shown);
  drawAll();

  let waiting = 0;
  window.addEventListener("resize", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => live.forEach((plot) => plot.setSize({ width: plots.clientWidth, height: HEIGHT })), 100);
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
})();
