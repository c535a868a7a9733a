"""A small table with columns of all kinds, in files of all kinds."""

import datetime

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet

N_ROWS = 200


def make_customers(n_rows=N_ROWS, seed=0):
    """Make customers who leave, mostly, if they call often and are on the basic plan."""
    rng = np.random.default_rng(seed)
    day = datetime.date(2023, 1, 1)
    calls, age = rng.integers(0, 9, n_rows), rng.normal(45, 12, n_rows).round(1)
    plan = rng.choice(["basic", "plus"], n_rows)
    holes = rng.random((2, n_rows)) < 0.1
    return pa.table(
        {
            "customer": [f"C{i:04}" for i in rng.permutation(n_rows)],
            "number": np.arange(n_rows),
            "currency": ["EUR"] * n_rows,
            "plan": pa.array(plan, mask=holes[0]),
            "active": rng.random(n_rows) < 0.5,
            "signup": [day + datetime.timedelta(days=int(days)) for days in rng.integers(0, 700, n_rows)],
            "seen": [
                datetime.datetime(2024, 12, 24, 6) + datetime.timedelta(hours=int(hours))
                for hours in rng.integers(0, 90, n_rows)
            ],
            "age": pa.array(age, mask=holes[1]),
            "calls": calls,
            "spend": (10 * calls + age).round(2),
            "churned": np.where(calls + 3 * (plan == "basic") > 5, "yes", "no"),
        }
    )


#: Columns that the command line leaves out: they number the rows, or never change.
LEFT_OUT = ("customer", "number", "currency")


def make_plain_customers(n_rows=N_ROWS, seed=0):
    """Make customers without the columns that the command line leaves out."""
    return make_customers(n_rows, seed).drop_columns(list(LEFT_OUT))


def write_text(table, path, separator=","):
    pa.csv.write_csv(table, path, pa.csv.WriteOptions(delimiter=separator))


WRITERS = {
    "customers.csv": write_text,
    "customers.tsv": lambda table, path: write_text(table, path, "\t"),
    "customers.parquet": pa.parquet.write_table,
    "customers.arrow": pa.feather.write_feather,
}
