"""The event recorder's correlator: counting, aggregation and the spam filter."""
