"""One tick: its mark, its report, its trace, why it did what it did."""
