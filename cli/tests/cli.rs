//! Commands as users type them, with what they print: `cmd/*.trycmd`. `TRYCMD=overwrite cargo test` rewrites them.

#[test]
fn commands() {
    trycmd::TestCases::new().case("tests/cmd/*.trycmd").default_bin_name("litmus");
}
