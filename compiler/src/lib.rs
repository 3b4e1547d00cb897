//! Checked programs made ready for engines and backends.

pub mod code;
