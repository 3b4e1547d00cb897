//! Tests of the models and engines, in one binary, so that they link once and run beside each other. Those
//! with a case for each file are in `cases.rs`.

mod changes;
mod corerma;
mod explain;
mod files;
mod generate;
mod libraries;
mod networks;
mod objects;
mod pictures;
mod programs;
mod random;
mod refine;
mod sequential;
mod shapes;
mod suite_table;
mod twins;
