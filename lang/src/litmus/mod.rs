//! Litmus programs.
