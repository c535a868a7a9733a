"""Serve a model without mpboost: ``python examples/export.py``.

Trains on made-up customers, exports the model to ONNX and to C, and runs both: by onnxruntime in a fresh environment,
which pip fills, and by the system's C compiler. ``--page docs/export.md`` puts what was typed and said into that page.
"""

import argparse
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from first_steps import HEADER, N_CUSTOMERS, write_customers, write_transcript

SERVE = """\
import csv
import numpy as np
import onnxruntime

session = onnxruntime.InferenceSession("model.onnx")
rows = list(csv.DictReader(open("rows.csv")))
feed = {}
for given in session.get_inputs():
    cells = [row[given.name] for row in rows]
    if given.type == "tensor(string)":  # empty text is missing
        feed[given.name] = np.array(cells, dtype=object)[:, None]
    else:
        feed[given.name] = np.array([float(cell or "nan") for cell in cells])[:, None]
labels, probabilities = session.run(None, feed)
for label, shares in zip(labels, probabilities):
    print(label, shares.round(6))
"""

MAIN = """\
#include <stdio.h>
#include "model.c"

int main(void) {
  /* In the order of model_features: plan, region, age, visits, spend, calls. */
  const double row[MODEL_N_FEATURES] = {model_category(0, "basic"), model_category(1, "north"), 51, 2, NAN, 5};
  double shares[MODEL_N_CLASSES];
  const int code = model_predict(row, shares);
  printf("%s %.6f %.6f\\n", model_classes[code], shares[0], shares[1]);
  return 0;
}
"""

ROWS = "plan,region,age,visits,spend,calls\nbasic,north,51,2,,5\nfamily,,34,9,80.5,0\nunheard-of,west,,4,12,2\n"

#: What is typed in each story; "python" has mpboost, "fresh/bin/python" does not.
STORIES = {
    "onnx": (
        "mpboost fit customers.csv --target churned --drop signup --quiet",
        "mpboost export model.mpb model.onnx",
        "python -m venv fresh",
        "fresh/bin/pip --quiet install onnxruntime",
        "cat rows.csv",
        "cat serve.py",
        "fresh/bin/python -c 'import mpboost'",
        "fresh/bin/python serve.py",
        "mpboost predict model.mpb rows.csv -o - --quiet",
    ),
    "c": (
        "mpboost fit customers.csv --target churned --drop signup --quiet",
        "mpboost export model.mpb model.c",
        "cat main.c",
        "cc -std=c99 -O2 main.c -lm -o predict",
        "./predict",
    ),
}
#: The command that is to fail: there is no mpboost.
FAILS = "fresh/bin/python -c 'import mpboost'"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--page", type=Path, help="page to put the transcripts into")
    arguments = parser.parse_args()
    for story in STORIES:
        with tempfile.TemporaryDirectory() as temporary:
            transcript = tell(story, Path(temporary))
        if arguments.page:
            write_transcript(arguments.page, story, transcript)


def tell(story, folder):
    """Write the files, run the commands, print and return what a user would see."""
    write_customers(folder / "customers.csv", N_CUSTOMERS, np.random.default_rng(0), HEADER)
    for name, text in {"serve.py": SERVE, "main.c": MAIN, "rows.csv": ROWS}.items():
        (folder / name).write_text(text, encoding="utf-8")
    said = [f"$ {command}\n{run_command(command, folder)}" for command in STORIES[story]]
    text = "\n".join(line.rstrip() for line in "\n".join(said).replace(str(folder), "/home/you").splitlines()) + "\n"
    print(text)
    return text


def run_command(command, folder):
    """Run a command in a folder; give what it says."""
    words = shlex.split(command)
    if words[0] in ("mpboost", "python"):
        words = [sys.executable, *(["-m"] if words[0] == "mpboost" else []), *words[words[0] == "python" :]]
    environment = {**os.environ, "COLUMNS": "100", "PYTHONUTF8": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    finished = subprocess.run(
        words, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8"
    )
    if bool(finished.returncode) != (command == FAILS):
        sys.exit(f"{command} ended with {finished.returncode}:\n{finished.stdout}")
    lines = [line for line in finished.stdout.splitlines() if not line.startswith("WARNING: Location")]
    return "".join(f"{line}\n" for line in (lines[-1:] if command == FAILS else lines))


if __name__ == "__main__":
    main()
