//! Tests of the command line, in one binary, so that they link once and run beside each other. Those of the
//! documents' commands are in `cli.rs`: they need a working directory of their own.

mod diagnostics;
mod help;
mod lsp;
mod measure;
mod names;
mod own_models;
mod process;
mod reports;
mod robust;
mod scratch;
mod shards;
mod tidy;
mod verbs_c;
