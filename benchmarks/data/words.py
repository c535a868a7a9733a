"""Tables of words and numbers, as users have them: read as numbers and codes of categories."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.data.files import DataNotFoundError, data_folder

#: What is learned from each table of the folder ``words``.
TARGETS = {
    "telco_churn": "Churn",
    "german_credit": "class",
    "melbourne_houses": "Price",
    "census_income": "income_status",
    "contraceptive": "y",
    "anneal": "class",
}
#: Tables from which a number is learned.
NUMBERS = ("melbourne_houses",)


def read_words(name: str) -> tuple[NDArray[np.float64], NDArray[Any], tuple[int, ...]]:
    """Read a table as numbers and codes of categories, its labels, and which columns are categorical."""
    import pandas as pd  # where used: it takes long to import

    path = data_folder() / "words" / f"{name}.csv.gz"
    if not path.is_file():
        raise DataNotFoundError(
            f"There is no {path}: set the environment variable MPBOOST_DATA to a folder that has it."
        )
    frame = pd.read_csv(path)
    y = frame.pop(TARGETS[name]).to_numpy()
    if "Date" in frame:
        frame["Date"] = (pd.to_datetime(frame["Date"], dayfirst=True) - pd.Timestamp(2000, 1, 1)).dt.days
    is_text = [not pd.api.types.is_numeric_dtype(dtype) for dtype in frame.dtypes]
    for column in frame.columns[is_text]:
        codes = frame[column].astype("category").cat.codes
        frame[column] = codes.where(codes >= 0)
    return frame.to_numpy(dtype=np.float64), y, tuple(int(j) for j in np.flatnonzero(is_text))
