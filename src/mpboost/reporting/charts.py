"""The charts of a report, drawn from its summary."""

from typing import Any

from mpboost.reporting.canvas import Canvas, choose_log_ticks, choose_sqrt_ticks, choose_ticks, format_number

#: Width and height of a chart: full page width, half of it, or square.
WIDE, HALF, SQUARE = (1024, 300), (520, 300), (440, 400)
#: Width and height of a chart for narrow screens.
NARROW = (480, 300)
#: Number of hover areas along a curve.
N_STRIPS = 80
#: Share of the iterations that may fall outside the chart: scores of the first few learners say little.
BEGINNING = 0.03


def draw_scores(score: dict[str, Any], *, is_narrow: bool = False) -> str:
    """Draw the scores over the iterations, and mark the best and the last iteration."""
    curves = score["curves"]
    t, known = curves["iterations"], curves["scores"]
    settled = [
        value
        for scores in known.values()
        for iteration, value in zip(t, scores, strict=True)
        if value is not None and (iteration > BEGINNING * t[-1] or iteration == t[-1])
    ]
    low, high = min(settled), max(settled)
    room = 0.06 * (high - low) or 0.01
    size, n_ticks = (NARROW, 4) if is_narrow else (WIDE, 8)
    canvas = Canvas(size, (t[0], max(t[-1], t[0] + 1)), (low - room, high + room), f"{score['name']} over iterations")
    canvas.add_axes(
        "iteration", score["name"], choose_ticks(t[0], t[-1], n_ticks), choose_ticks(low - room, high + room)
    )
    for iteration, name in ((curves["best"], "kept"), (curves["last"], "stopped")):
        x = canvas.x(iteration)
        canvas.line([(x, canvas.top), (x, canvas.bottom)], f"mark {name}")
    best, last = curves["best"], curves["last"]
    # The two labels must not cover each other or the name of the axis.
    place = min(canvas.x(best) + 40, canvas.right - (110 if last != best else 0))
    canvas.text(max(place, canvas.left + 150), 16, f"best: {best:,}", "end", "note")
    if last != best:
        canvas.text(canvas.right, 16, f"stopped: {last:,}", "end", "note")
    for name, scores in known.items():
        canvas.curve(t, scores, name)
    step = max(1, len(t) // N_STRIPS)
    width = (canvas.right - canvas.left) / max(1, len(t[::step]))
    for k in range(0, len(t), step):
        values = "\n".join(f"{name}: {format_number(scores[k], 4)}" for name, scores in known.items())
        corner = canvas.x(t[k]) - width / 2, canvas.top
        canvas.box(corner, (width, canvas.bottom - canvas.top), "strip", f"iteration {t[k]:,}\n{values}")
    return canvas.svg()


def draw_history(history: dict[str, Any], what: str, n_all: int) -> str:
    """Draw an effective number over the iterations."""
    t, values = history["moments"], history[what]
    noun = "features" if what == "features" else "rows"
    canvas = Canvas(
        HALF, (t[0], max(t[-1], t[0] + 1)), (0, n_all), f"effective number of {noun}", x_scale="log", left=64
    )
    canvas.add_axes("iteration", f"effective {noun}", choose_log_ticks(t[0], max(t[-1], 2)), choose_ticks(0, n_all))
    canvas.curve(t, values, "out-of-patch")
    for x, y in zip(t, values, strict=True):
        canvas.dot(x, y, 3, "dot", f"iteration {x:,}\n{format_number(y)} of {n_all:,} {noun}")
    return canvas.svg()


def draw_sparkline(path: list[float] | None) -> str:
    """Draw a small line without axes."""
    if not path or len(path) < 2:
        return ""
    high = max(path) or 1.0
    points = " ".join(f"{2 + 76 * k / (len(path) - 1):.1f},{18 - 15 * y / high:.1f}" for k, y in enumerate(path))
    return f'<svg class="spark" viewBox="0 0 80 20" aria-hidden="true"><polyline points="{points}"/></svg>'


def draw_difficulties(histogram: dict[str, Any]) -> str:
    """Draw a histogram of difficulties, with suspect rows in another colour."""
    counts, suspects = histogram["counts"], histogram["suspects"]
    canvas = Canvas(HALF, (0, 1), (0, max(*counts, 1)), "histogram of difficulties", y_scale="sqrt", left=64)
    ticks = choose_sqrt_ticks(max(*counts, 1))
    canvas.add_axes("difficulty", "rows", choose_ticks(0, 1), ticks)
    width = (canvas.right - canvas.left) / len(counts)
    for k, (n_all, n_suspect) in enumerate(zip(counts, suspects, strict=True)):
        note = f"difficulty {k / len(counts):.2f} to {(k + 1) / len(counts):.2f}\n{n_all:,} rows, {n_suspect:,} suspect"
        for count, kind in ((n_all, "bar"), (n_suspect, "bar suspect")):
            if count:
                top = canvas.y(count)
                canvas.box((canvas.left + k * width + 1, top), (width - 2, canvas.bottom - top), kind, note)
    return canvas.svg()


def draw_observations(points: dict[str, Any]) -> str:
    """Draw a scatter plot of difficulty and probability of rows."""
    ratios = sorted(ratio for ratio in points["ratio"] if ratio > 0)
    # The few rows that are hardly ever drawn would stretch the axis: they are put on its lower edge.
    low, high = min(ratios[len(ratios) // 50], 0.8) / 1.3, max(ratios[-1], 1.2) * 1.3
    canvas = Canvas(HALF, (0, 1), (low, high), "difficulty and probability of rows", y_scale="log", left=64)
    canvas.add_axes("difficulty", "drawn (1 = average row)", choose_ticks(0, 1), choose_log_ticks(low, high))
    canvas.line([(canvas.left, canvas.y(1)), (canvas.right, canvas.y(1))], "mark")
    names = ("difficulty", "ratio", "is_suspect", "row", "given", "suggested")
    for x, y, is_suspect, row, given, suggested in zip(*(points[name] for name in names), strict=True):
        kind, tail = ("dot suspect", "\nsuspect") if is_suspect else ("dot faint", "")
        note = f"row {row}\ngiven {format_number(given, 4)}, predicted {format_number(suggested, 4)}{tail}"
        canvas.dot(x, max(y, low), 3.2 if is_suspect else 2.4, kind, note)
    return canvas.svg()


def draw_calibration(calibration: dict[str, Any], beside: dict[str, Any] | None = None) -> str:
    """Draw observed shares over predicted probabilities, of some rows and of others beside them."""
    canvas = Canvas(SQUARE, (0, 1), (0, 1), "predicted probabilities and observed shares")
    canvas.add_axes("predicted probability", "observed share", choose_ticks(0, 1), choose_ticks(0, 1))
    canvas.line([(canvas.x(0), canvas.y(0)), (canvas.x(1), canvas.y(1))], "mark")
    if beside is not None:
        bins = beside["bins"]
        canvas.curve([each["stated"] for each in bins], [each["seen"] for each in bins], "beside")
    bins = calibration["bins"]
    canvas.curve([each["stated"] for each in bins], [each["seen"] for each in bins], "out-of-patch")
    most = max(each["count"] for each in bins)
    for each in bins:
        x = canvas.x(each["stated"])
        canvas.line([(x, canvas.y(each["low"])), (x, canvas.y(each["high"]))], "whisker")
        note = f"predicted {each['stated']:.1%}, observed {each['seen']:.1%}\n{each['count']:,} rows"
        canvas.dot(each["stated"], each["seen"], 3.5 + 4 * (each["count"] / most) ** 0.5, "dot", note)
    return canvas.svg()


def draw_roc(ranking: dict[str, Any]) -> str:
    """Draw ROC curves."""
    canvas = Canvas(SQUARE, (0, 1), (0, 1), "ROC curves")
    ticks = choose_ticks(0, 1)
    canvas.add_axes("share of other rows called", "share of the class found", ticks, ticks)
    canvas.line([(canvas.x(0), canvas.y(0)), (canvas.x(1), canvas.y(1))], "mark")
    _draw_ranking(canvas, ranking, "roc", "roc_auc")
    return canvas.svg()


def draw_precision_recall(ranking: dict[str, Any]) -> str:
    """Draw precision-recall curves."""
    canvas = Canvas(SQUARE, (0, 1), (0, 1), "precision-recall curves")
    ticks = choose_ticks(0, 1)
    canvas.add_axes("share of the class found (recall)", "share of those called that are right", ticks, ticks)
    if len(ranking["curves"]) == 1:
        height = canvas.y(ranking["curves"][0]["share"])
        canvas.line([(canvas.left, height), (canvas.right, height)], "mark")
    _draw_ranking(canvas, ranking, "precision_recall", "average_precision")
    return canvas.svg()


def _draw_ranking(canvas: Canvas, ranking: dict[str, Any], kind: str, summary: str) -> None:
    curves = [(f"class-{k}", each) for k, each in enumerate(ranking["curves"])]
    if ranking["oop_curve"] is not None:
        curves.insert(0, ("beside", ranking["oop_curve"]))
    for style, each in curves:
        xs, ys = each[kind]
        if kind == "precision_recall":  # between two points the precision is that of the next one
            xs, ys = [x for x in xs for _ in (0, 1)][:-1], [ys[0], *(y for y in ys[1:] for _ in (0, 1))]
        canvas.curve(xs, ys, style, f"{each['name']}\n{summary.replace('_', ' ')} {each[summary]:.3f}")


def draw_confusion(confusion: dict[str, Any]) -> str:
    """Draw the confusion matrix."""
    names, matrix = confusion["names"], confusion["matrix"]
    n_classes, longest = len(names), max(map(len, names))
    left = 30 + 7 * min(longest, 16)
    side = min(110.0, (640 - left) / n_classes)
    size = int(left + n_classes * side + 4), int(n_classes * side + 66)
    canvas = Canvas(size, (0, 1), (0, 1), "given and predicted classes", left=left)
    label = f"predicted ({confusion['source']})"
    canvas.text(left + n_classes * side / 2, size[1] - 4, label, "middle", "label")
    canvas.text(4, 13, "given", "start", "label")
    has_numbers = side >= 34
    # Mistakes are shaded relative to the most frequent one, but at least to 5 %; by square roots, so that rare
    # mistakes are visible.
    most = max(
        [0.05, *(count / max(1, sum(row)) for i, row in enumerate(matrix) for j, count in enumerate(row) if i != j)]
    )
    for i, row in enumerate(matrix):
        total, y = max(1, sum(row)), 22 + i * side
        canvas.text(left - 8, y + side / 2 + 4, _shorten(names[i], 16), "end")
        canvas.text(left + (i + 0.5) * side, 22 + n_classes * side + 16, _shorten(names[i], int(side / 7)), "middle")
        for j, count in enumerate(row):
            note = f"given {names[i]}, predicted {names[j]}\n{count:,} rows, {count / total:.1%} of {names[i]}"
            share = count / total
            shade = 0.04 + 0.8 * (share if i == j else 0.85 * (share / most) ** 0.5)
            x = left + j * side
            canvas.box((x + 1, y + 1), (side - 2, side - 2), "cell right" if i == j else "cell wrong", note, shade)
            if has_numbers:
                kind = "count strong" if shade > 0.5 else "count"
                canvas.text(x + side / 2, y + side / 2 + 4, f"{count:,}", "middle", kind)
    return canvas.svg()


def _shorten(name: str, length: int) -> str:
    return name if len(name) <= max(length, 1) else name[: max(length - 1, 1)] + ("…" if length > 2 else "")


def draw_predictions(residuals: dict[str, Any]) -> str:
    """Draw given over predicted numbers, and the means of groups."""
    points, groups = residuals["points"], residuals["groups"]
    values = [*points["given"], *points["predicted"]]
    low, high = min(values), max(values)
    room = 0.03 * (high - low) or 0.5
    bounds = low - room, high + room
    canvas = Canvas(SQUARE, bounds, bounds, "given and predicted numbers", left=64)
    canvas.add_axes(f"predicted ({residuals['source']})", "given", choose_ticks(*bounds), choose_ticks(*bounds))
    canvas.line([(canvas.x(low), canvas.y(low)), (canvas.x(high), canvas.y(high))], "mark")
    for given, predicted, row in zip(points["given"], points["predicted"], points["row"], strict=True):
        note = f"row {row}\ngiven {format_number(given, 4)}, predicted {format_number(predicted, 4)}"
        canvas.dot(predicted, given, 2.4, "dot faint", note)
    for each in groups:
        x, mean = canvas.x(each["predicted"]), each["given"]
        canvas.line([(x, canvas.y(mean - each["half"])), (x, canvas.y(mean + each["half"]))], "whisker")
        means = f"predicted {format_number(each['predicted'])}, given {format_number(mean)}"
        note = f"{each['count']:,} rows, on average\n{means}"
        canvas.dot(each["predicted"], mean, 5, "dot mean", note)
    return canvas.svg()


def draw_residuals(residuals: dict[str, Any]) -> str:
    """Draw a histogram of the residuals."""
    counts, edges = residuals["histogram"]["counts"], residuals["histogram"]["edges"]
    canvas = Canvas(SQUARE, (edges[0], edges[-1]), (0, max(counts)), "residuals", left=64)
    x_ticks = choose_ticks(edges[0], edges[-1])
    canvas.add_axes("given minus predicted", "rows", x_ticks, choose_ticks(0, max(counts)))
    for count, start, end in zip(counts, edges, edges[1:], strict=False):
        top = canvas.y(count)
        note = f"{format_number(start)} to {format_number(end)}\n{count:,} rows"
        canvas.box(
            (canvas.x(start) + 0.5, top), (canvas.x(end) - canvas.x(start) - 1, canvas.bottom - top), "bar", note
        )
    if edges[0] < 0 < edges[-1]:
        canvas.line([(canvas.x(0), canvas.top), (canvas.x(0), canvas.bottom)], "mark")
    return canvas.svg()
