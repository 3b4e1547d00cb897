//! Commands as users type them, with what they print: `cmd/*.trycmd`, and the examples in the README and
//! docs. `TRYCMD=overwrite cargo test` rewrites them.

use std::path::Path;

/// Examples in documents are typed in the root of a checkout.
fn from_the_root() -> &'static Path {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a crate of a workspace");
    std::env::set_current_dir(root).expect("the root is there");
    root
}

#[test]
fn commands_and_documents() {
    let root = from_the_root();
    trycmd::TestCases::new()
        .case(root.join("cli/tests/cmd/*.trycmd"))
        .case(root.join("README.md"))
        .case(root.join("docs/*.md"))
        .case(root.join("litmus-suite/README.md"))
        .default_bin_name("litmus");
}
