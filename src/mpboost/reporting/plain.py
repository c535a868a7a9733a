"""Convert values to types that JSON has, and images to text."""

import base64
import math
import struct
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Longer texts are cut to this length.
MAX_LENGTH = 60
#: From dark to bright, readable for any colour vision: a few colours of matplotlib's cividis.
PALETTE = np.array([(0, 34, 78), (53, 69, 108), (102, 105, 112), (148, 142, 119), (200, 184, 102), (254, 232, 56)])


def simplify(value: Any) -> Any:
    """Convert a value to a number, a bool, a short text, or None if it is missing.

    Examples
    --------
    >>> import numpy as np
    >>> [simplify(value) for value in (np.float64(0.5), np.nan, np.int8(3), "ä" * 100, -np.inf, None)]
    [0.5, None, 3, 'äääääääääääääääääääääääääääääääääääääääääääääääääääääääääää…', '-inf', None]
    """
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(value, bool | int):
        return value if abs(value) < 1 << 53 else str(value)  # readers of JSON round larger numbers
    if isinstance(value, float):
        return value if math.isfinite(value) else None if math.isnan(value) else str(value)
    # A text may contain half a character (a lone surrogate), which cannot be written to a file.
    text = str(value).encode("utf-8", "replace").decode()
    return text if len(text) <= MAX_LENGTH else text[: MAX_LENGTH - 1] + "…"


def simplify_all(values: Any, digits: int | None = None) -> list[Any]:
    """Simplify each value, and round floats to so many significant digits.

    Examples
    --------
    >>> import numpy as np
    >>> simplify_all(np.array([1 / 3, np.nan]), digits=2)
    [0.33, None]
    """
    simple = [simplify(value) for value in values]
    if digits is None:
        return simple
    return [float(f"{value:.{digits}g}") if isinstance(value, float) else value for value in simple]


def draw_image(values: NDArray[np.float64], *, coloured: bool = False) -> str:
    """Draw numbers between 0 and 1 as the pixels of an image; return a PNG as a data URL.

    Examples
    --------
    >>> import numpy as np
    >>> draw_image(np.eye(2))[:30]
    'data:image/png;base64,iVBORw0K'
    """
    values = np.clip(np.nan_to_num(values), 0.0, 1.0)
    if coloured:
        places = np.linspace(0.0, 1.0, len(PALETTE))
        pixels = np.stack([np.interp(values, places, channel) for channel in PALETTE.T], axis=-1)
    else:
        pixels = 255.0 * values[:, :, None]
    height, width, n_channels = pixels.shape
    lines = np.pad(
        np.rint(pixels).astype(np.uint8).reshape(height, -1), ((0, 0), (1, 0))
    )  # the first byte of a line is its filter: none
    header = struct.pack(">IIBBBBB", width, height, 8, 2 if n_channels == 3 else 0, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(lines.tobytes(), 9)), (b"IEND", b""))
    data = b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body)) for kind, body in chunks
    )
    return "data:image/png;base64," + base64.b64encode(data).decode()
