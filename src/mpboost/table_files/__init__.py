"""Files with tables: find out how they are written, read them, and choose features; needs pyarrow."""
