"""The page in a real browser: no error, tables that sort, notes that show, nothing that slipped in."""

import json
import re
import shutil
import subprocess
from html import escape
from urllib.parse import unquote

import pytest

import mpboost

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(BROWSER is None, reason="needs Chromium (apt-get install chromium)"),
]

#: Collects what goes wrong from the start.
WATCH = """<script>
window.faults = [];
window.addEventListener("error", (event) => faults.push(String(event.message)));
const complain = console.error;
console.error = (...words) => { faults.push(words.join(" ")); complain(...words); };
</script>"""

#: Sorts each table by each of its columns, both ways; points at something; writes down what it saw.
PROBE = """<script>
window.addEventListener("load", () => {
  const seen = { sorts: [], faults, title: document.title };
  for (const table of document.querySelectorAll("table.sortable")) {
    for (const header of table.tHead.rows[0].cells) {
      const button = header.querySelector("button");
      if (!button) continue;
      const column = header.cellIndex;
      const read = () => Array.from(table.tBodies[0].rows, (row) => {
        const cell = row.cells[column];
        return cell.dataset.value === undefined ? cell.textContent.trim() : cell.dataset.value;
      });
      button.click();
      const up = [header.getAttribute("aria-sort"), read()];
      button.click();
      seen.sorts.push([header.textContent.trim(), up, [header.getAttribute("aria-sort"), read()]]);
    }
  }
  const dot = document.querySelector('.chart circle[data-note^="row "]');
  dot.dispatchEvent(new PointerEvent("pointermove", { bubbles: true, clientX: 50, clientY: 50 }));
  const tip = document.getElementById("tip");
  seen.tip = tip.hidden ? null : tip.textContent;
  seen.titles = document.querySelectorAll("svg title").length;
  const out = document.createElement("pre");
  out.id = "seen";
  out.textContent = encodeURIComponent(JSON.stringify(seen));
  document.body.append(out);
});
</script>"""


#: Tells the frame around the page what does not fit, how small the texts of charts are, and what is shown.
MEASURE = """<script>
window.addEventListener("load", () => {
  const isShown = (each) => each.getBoundingClientRect().width > 0;
  const shown = Array.from(document.querySelectorAll("header *, main *, footer *")).filter(isShown);
  const isPaper = getComputedStyle(document.querySelector("nav")).display === "none";  // which nobody can scroll
  const loose = shown.filter((each) => isPaper || !each.parentNode.closest(".scroll"));
  const fits = (each) => each.getBoundingClientRect().right <= window.innerWidth + 1;
  const marks = loose.filter((each) => !each.ownerSVGElement || each.tagName === "text");
  const charts = Array.from(document.querySelectorAll("svg.chart")).filter(isShown);
  const texts = Array.from(document.querySelectorAll("svg.chart text")).filter(isShown);
  parent.postMessage(JSON.stringify({
    faults,
    width: window.innerWidth,
    tooWide: marks.filter((each) => !fits(each)).map((each) => `${each.tagName} ${each.textContent.slice(0, 40)}`),
    smallestText: Math.min(...texts.map((each) => each.getBoundingClientRect().height)),
    scoreCharts: charts.filter((each) => each.closest("#score")).map((each) => each.getBoundingClientRect().width),
    nCharts: charts.length,
    hasNavigation: isShown(document.querySelector("nav")),
    about: document.querySelector(".about").textContent,
    ink: getComputedStyle(document.body).color,
    page: getComputedStyle(document.body).backgroundColor,
  }), "*");
});
</script>"""

#: Width of the page, and options of the browser.
VIEWS = {
    "light": (1100, []),
    "dark": (1100, ["--blink-settings=preferredColorScheme=0"]),
    "narrow": (500, []),
    "phone": (390, []),
    "print": (688, []),  # A4 without its margins
}


def measure(page, view, tmp_path):
    """Load a page in a frame of the width of a view, and give what it measured."""
    width, options = VIEWS[view]
    page = re.sub(r'<meta http-equiv="Content-Security-Policy".*?>', WATCH, page)
    page = page.replace("</body>", MEASURE + "</body>")
    if view == "print":
        page = page.replace("@media print", "@media all")
    frame = f'<iframe style="border:0;width:{width}px;height:4000px" srcdoc="{escape(page)}"></iframe>'
    listen = """<script>window.addEventListener("message", (event) => {
      const out = document.createElement("pre");
      out.id = "seen";
      out.textContent = encodeURIComponent(event.data);
      document.body.append(out);
    });</script>"""
    path = tmp_path / "frame.html"
    path.write_text(f'<meta name="color-scheme" content="light dark"><body>{listen}{frame}', encoding="utf-8")
    return json.loads(unquote(re.search(r'<pre id="seen">(.*?)</pre>', dump(path, tmp_path, *options))[1]))


def browse(page, tmp_path):
    """Load a page, with a probe in it that the page's own policy would not let in; give what the probe saw."""
    page, n_policies = re.subn(r'<meta http-equiv="Content-Security-Policy".*?>', WATCH, page)
    assert n_policies == 1
    path = tmp_path / "page.html"
    path.write_text(page.replace("</body>", PROBE + "</body>"), encoding="utf-8")
    dom = dump(path, tmp_path)
    return json.loads(unquote(re.search(r'<pre id="seen">(.*?)</pre>', dom)[1]))


def dump(path, tmp_path, *more):
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--virtual-time-budget=5000"]
    options += ["--no-first-run", "--disable-extensions", "--disable-background-networking", "--disable-sync"]
    command = [BROWSER, *options, *more, f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", path.as_uri()]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout


def as_number(text):
    return float(text) if re.fullmatch(r"-?[\d.]+(e-?\d+)?", text) else text


def test_page_sorts_its_tables_without_a_fault(nasty, tmp_path):
    seen = browse(mpboost.report(*nasty).html(), tmp_path)
    assert seen["faults"] == []
    assert seen["title"] == "MPBoostClassifier"
    assert seen["tip"].startswith("row ")
    assert seen["titles"] == 0
    names = [name for name, _, _ in seen["sorts"]]
    assert {"rank", "q", "difficulty", "drawn", "suspect", "share of class", "precision"} <= set(names)
    for name, (up, rising), (down, falling) in seen["sorts"]:
        assert (up, down) == ("ascending", "descending")
        if name in ("rank", "q", "importance", "difficulty", "drawn", "row", "rows", "recall"):
            numbers = [as_number(text) for text in rising]
            assert numbers == sorted(numbers)
            assert [as_number(text) for text in falling] == sorted(numbers, reverse=True)
    ranks = next(rising for name, (_, rising), _ in seen["sorts"] if name == "rank")
    assert len(ranks) == 3


def test_page_with_its_policy_runs_its_script(reports, tmp_path):
    path = tmp_path / "page.html"
    reports["many classes"].save(path)
    dom = dump(path, tmp_path)
    assert '<th class="n"><button type="button">rank</button></th>' in dom
    assert dom.count("data-note=") > 500


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("task", ["two classes", "many classes", "gradients of numbers"])
def test_page_on_new_data_fits_any_view(models, data, tmp_path, task, view):
    _, X, y = data[task]
    n_new = len(y) // 3
    seen = measure(mpboost.report(models[task], X[:n_new], y[:n_new]).html(), view, tmp_path)
    assert seen["faults"] == []
    assert seen["width"] == VIEWS[view][0]
    assert seen["tooWide"] == []
    assert seen["smallestText"] >= 8
    assert len(seen["scoreCharts"]) == 1  # the wide or the narrow one
    assert 0.8 * seen["width"] < seen["scoreCharts"][0] <= seen["width"]
    assert seen["nCharts"] >= (6 if "numbers" in task else 7)
    assert seen["hasNavigation"] == (view != "print")
    assert f"These {n_new} rows are not the table" in seen["about"]
    brightness = [sum(map(int, re.findall(r"\d+", seen[part])[:3])) for part in ("ink", "page")]
    assert (brightness[0] > brightness[1]) == (view == "dark")


@pytest.mark.parametrize("view", ["light", "phone"])
def test_page_on_the_training_table_fits_any_view(reports, tmp_path, view):
    seen = measure(reports["two classes"].html(), view, tmp_path)
    assert (seen["faults"], seen["tooWide"], len(seen["scoreCharts"])) == ([], [], 1)
    assert "rows that the model was trained on" in seen["about"]
