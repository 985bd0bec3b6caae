"""Opens HTML reports in headless Chromium and prints what is wrong with them, one line each.

html_pages.py AXE SHOTS PAGE...  AXE is axe.min.js; screenshots go into the folder SHOTS.

Each page is opened at three widths, light and dark. Speaks WebDriver to chromedriver, which needs no library.
"""
import base64
import json
import os
import re
import shutil
import subprocess
import sys
import urllib.request

WIDTHS = (390, 820, 1440)
SCHEMES = ("light", "dark")
WCAG = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]

# Runs before the scripts of the page: keeps where each canvas wrote which text since it was cleared.
WATCH_CANVAS = """
window.canvasTexts = new Map();
const context = CanvasRenderingContext2D.prototype;
const {fillText, clearRect} = context;
context.clearRect = function (...args) {
  canvasTexts.set(this.canvas, []);
  return clearRect.apply(this, args);
};
context.fillText = function (text, x, y, ...more) {
  const size = this.measureText(text), at = this.getTransform();
  const texts = canvasTexts.get(this.canvas) ?? [];
  texts.push({text, left: at.e + x - size.actualBoundingBoxLeft, right: at.e + x + size.actualBoundingBoxRight,
              top: at.f + y - size.actualBoundingBoxAscent, bottom: at.f + y + size.actualBoundingBoxDescent});
  canvasTexts.set(this.canvas, texts);
  return fillText.call(this, text, x, y, ...more);
};
"""

# What lies where it should not: texts that touch, and a page wider than the screen.
FIND_COLLISIONS = """
const found = [], GAP = 4;  // pixels between two texts of a line, without which they read as one
const wide = document.documentElement.scrollWidth;
if (wide > innerWidth) found.push(`the page is ${wide} wide on a screen of ${innerWidth}`);
const texts = [];
for (const e of document.querySelectorAll(".axis span, .label, h1, h2, h3, h4, .key li, .tile dt, .tile dd, .eyebrow")) {
  if (!e.checkVisibility() || !e.textContent) continue;
  const range = document.createRange();
  range.selectNodeContents(e);
  const text = range.getBoundingClientRect(), box = e.getBoundingClientRect();
  const cut = getComputedStyle(e).overflowX !== "visible";
  texts.push({text: e.textContent, top: text.top, bottom: text.bottom, left: text.left,
              right: cut ? Math.min(text.right, box.right) : text.right});
}
const collide = (list) => list.forEach((a, i) => list.slice(i + 1).forEach((b) => {
  const apart = a.right + GAP <= b.left || b.right + GAP <= a.left || a.bottom <= b.top + 0.5 || b.bottom <= a.top + 0.5;
  if (!apart) found.push(`"${a.text}" touches "${b.text}"`);
}));
collide(texts);
for (const [canvas, drawn] of canvasTexts) {
  if (!canvas.isConnected) continue;
  collide(drawn);
  for (const t of drawn) {
    if (t.left < -0.5 || t.right > canvas.width + 0.5) found.push(`"${t.text}" is cut off by its chart`);
  }
}
return found;
"""

# An audit shows its first screen and folds the rest. A page without folds has nothing to check here.
FIND_UNFOLDED = """
const found = [];
const folds = [...document.querySelectorAll("details")];
if (folds.some((fold) => fold.open)) found.push("a section is open at first");
for (const e of document.querySelectorAll("table, .cards")) {
  if (folds.length && e.closest("#plots") === null && e.checkVisibility({contentVisibilityAuto: true}))
    found.push(`not folded: ${e.closest("section")?.querySelector("h2")?.textContent}`);
}
for (const e of document.querySelectorAll("h1, .tiles, .bar, .panel")) {
  if (!e.checkVisibility()) found.push(`the first screen hides ${e.className || e.tagName}`);
}
const loads = document.querySelector("[src]:not([src^='data:']), link[href]");
if (loads || performance.getEntriesByType("resource").length) found.push("the page loads something");
return found;
"""

# Every series of the data of the charts has its plot: of the first two GPUs, and of the host.
FIND_UNDRAWN = """
const data = JSON.parse(document.getElementById("chart-data")?.textContent ?? "null");
if (!data) return [];
const want = data.gpus.slice(0, 2).flatMap((gpu) => (gpu.memory ? [gpu.label, "Memory used"] : [gpu.label]));
for (const [scope, name] of [["machine", "machine"], ["workload", "this job"]]) {
  const host = data.host[scope] ?? {};
  if (host.cpus) want.push(`Busy CPUs, ${name}`);
  if (host.read || host.write) want.push(`Disk in MB/s, ${name}`);
  if (host.received || host.sent) want.push(`Network in MB/s, ${name}`);
}
const titles = [...document.querySelectorAll("#plots h3, #plots h4")].map((e) => e.textContent);
const found = want.filter((title, i) => !titles[i]?.startsWith(title)).map((title) => `not drawn: ${title}`);
if (document.querySelectorAll("#plots canvas").length < want.length) found.push("a plot is missing");
return found;
"""

# With the media type "print", whatever the script of the page does.
FIND_UNPRINTED = """
const found = [];
for (const e of document.querySelectorAll("details > :not(summary)")) {
  if (!e.checkVisibility()) found.push(`not printed: ${e.parentElement.firstElementChild.innerText}`);
}
const [r, g, b] = getComputedStyle(document.body).color.match(/\\d+/g).map(Number);
if (r + g + b > 3 * 128) found.push("the text on paper is light");
return found;
"""

WATCH_PRINT = """
window.printed = [];
addEventListener("beforeprint", () => {
  if (document.querySelector("details:not([open])")) printed.push("a section is closed on paper");
  for (const canvas of document.querySelectorAll("#plots canvas")) {
    if (canvas.getBoundingClientRect().width > 660) printed.push("a chart is wider than the paper");
  }
  printed.push("asked");
});
"""

FIND_AFTER_PRINT = """
if (document.querySelector("details[open]")) printed.push("a section stays open after printing");
return printed;
"""

RUN_AXE = """
const done = arguments[arguments.length - 1];
axe.run(document, {runOnly: %s, resultTypes: ["violations"]}).then((result) => done(result.violations.map(
  (v) => `${v.id}: ${v.help}: ${v.nodes.length} of them, the first is ${v.nodes[0].html.slice(0, 160)}`)));
""" % json.dumps(WCAG)

# The timeline of a trace: drawn for every GPU, quickly, and what is pointed at is named; a gap leads to its evidence.
FIND_TIMELINE = """
const found = [];
const source = document.getElementById("timeline-data");
if (!source) return found;
const data = JSON.parse(source.textContent);
const section = document.getElementById("timeline");
if (section.hidden) return ["the timeline is hidden"];
const canvases = [...document.querySelectorAll(".timeline-row canvas")];
if (canvases.length !== data.gpus.length) found.push("a GPU has no timeline");
for (const canvas of canvases) {
  const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
  if (!pixels.some((value) => value > 0)) found.push("a timeline is blank");
}
const started = performance.now();
for (let i = 0; i < 4; ++i) timelineDraw();
const each = (performance.now() - started) / 4;
if (each > 250) found.push(`drawing the timeline takes ${each.toFixed(0)} ms`);
const gpu = data.gpus[0];
let longest = -1;
for (let i = 0; i < gpu.gap.length; i += 4) if (longest < 0 || gpu.gap[i + 1] > gpu.gap[longest + 1]) longest = i;
if (longest < 0) return found;
const box = canvases[0].getBoundingClientRect();
const whole = Math.max(...data.gpus.map((g) => g.offset + g.window));
const middle = gpu.offset + gpu.gap[longest] + gpu.gap[longest + 1] / 2;
const at = { clientX: box.left + middle / whole * box.width, clientY: box.top + 52, bubbles: true };
canvases[0].dispatchEvent(new MouseEvent("mousemove", at));
const told = document.getElementById("timeline-tip").textContent;
if (!told.includes("idle")) found.push(`a gap is not named: ${told}`);
const cause = data.causes[gpu.gap[longest + 2]];
canvases[0].dispatchEvent(new MouseEvent("click", at));
const card = document.getElementById("cause-" + cause);
if (cause && told.includes(cause) && !(card && card.closest("details").open)) found.push("a gap does not open its evidence");
return found;
"""

OPEN_ALL = "document.querySelectorAll('details').forEach((fold) => (fold.open = true))"
TWO_FRAMES = """
const done = arguments[arguments.length - 1];
requestAnimationFrame(() => requestAnimationFrame(() => done(true)));
"""


class Browser:
    def __init__(self):
        self.driver = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE, text=True)
        for line in self.driver.stdout:
            if started := re.search(r"successfully on port (\d+)", line):
                break
        self.address = f"http://127.0.0.1:{started[1]}/session"
        options = {"binary": shutil.which("chromium"),
                   "args": ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                            "--hide-scrollbars", "--disable-background-networking"]}
        capabilities = {"capabilities": {"alwaysMatch": {"browserName": "chrome", "goog:chromeOptions": options}}}
        self.address += "/" + self.ask("", capabilities)["sessionId"]

    def ask(self, path, body, method="POST"):
        data = json.dumps(body).encode() if method == "POST" else None
        request = urllib.request.Request(self.address + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            sys.exit(f"chromedriver: {path}: {error.read().decode()[:400]}")

    def run(self, script, wait=False):
        return self.ask("/execute/" + ("async" if wait else "sync"), {"script": script, "args": []})

    def devtools(self, command, **params):
        return self.ask("/goog/cdp/execute", {"cmd": command, "params": params})

    def media(self, scheme, media=""):
        self.devtools("Emulation.setEmulatedMedia", media=media,
                      features=[{"name": "prefers-color-scheme", "value": scheme}])

    def shoot(self, width, path):
        height = min(self.run("return document.documentElement.scrollHeight"), 6000)
        clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
        shot = self.devtools("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)
        with open(path, "wb") as file:
            file.write(base64.b64decode(shot["data"]))

    def close(self):
        self.ask("", None, "DELETE")
        self.driver.terminate()
        self.driver.wait()


def look(browser, page, width, scheme, axe, shots):
    """What is wrong with one page on one screen."""
    browser.devtools("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
    browser.media(scheme)
    browser.ask("/url", {"url": "file://" + os.path.abspath(page)})
    browser.run(TWO_FRAMES, wait=True)
    found = browser.run(FIND_UNFOLDED) + browser.run(FIND_UNDRAWN) + browser.run(FIND_COLLISIONS)
    name = os.path.splitext(os.path.basename(page))[0]
    browser.shoot(width, f"{shots}/{name}_{width}_{scheme}.png")
    found += browser.run(FIND_TIMELINE)
    browser.run(OPEN_ALL)
    browser.run(TWO_FRAMES, wait=True)
    found += browser.run(FIND_COLLISIONS)
    browser.run(axe)
    return found + browser.run(RUN_AXE, wait=True)


def look_at_print(browser, page):
    """What is wrong with a page on paper, asked for on a dark screen."""
    browser.media("dark")
    browser.ask("/url", {"url": "file://" + os.path.abspath(page)})
    browser.media("dark", "print")
    found = browser.run(FIND_UNPRINTED)
    browser.media("dark")
    browser.run(WATCH_PRINT)
    browser.ask("/print", {})
    told = browser.run(FIND_AFTER_PRINT)
    return found + [line for line in told if line != "asked"] + ([] if told else ["it was not printed"])


def main():
    axe_path, shots, *pages = sys.argv[1:]
    with open(axe_path, encoding="utf-8") as file:
        axe = file.read()
    browser = Browser()
    browser.devtools("Page.enable")
    browser.devtools("Page.addScriptToEvaluateOnNewDocument", source=WATCH_CANVAS)
    screens = 0
    for page in pages:
        for width in WIDTHS:
            for scheme in SCHEMES:
                for line in look(browser, page, width, scheme, axe, shots):
                    print(f"{os.path.basename(page)} at {width}, {scheme}: {line}")
                screens += 1
        for line in look_at_print(browser, page):
            print(f"{os.path.basename(page)} on paper: {line}")
    browser.close()
    print(f"{screens} screens")


main()
