"""The page in a real browser: no error, tables that sort, notes that show, nothing that slipped in."""

import json
import re
import shutil
import subprocess
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


def browse(page, tmp_path):
    """Load a page, with a probe in it that the page's own policy would not let in; give what the probe saw."""
    page, n_policies = re.subn(r'<meta http-equiv="Content-Security-Policy".*?>', WATCH, page)
    assert n_policies == 1
    path = tmp_path / "page.html"
    path.write_text(page.replace("</body>", PROBE + "</body>"), encoding="utf-8")
    dom = dump(path, tmp_path)
    return json.loads(unquote(re.search(r'<pre id="seen">(.*?)</pre>', dom)[1]))


def dump(path, tmp_path):
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--virtual-time-budget=5000"]
    options += ["--no-first-run", "--disable-extensions", "--disable-background-networking", "--disable-sync"]
    command = [BROWSER, *options, f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", path.as_uri()]
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
