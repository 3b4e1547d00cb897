//! The soname of libibverbs, and the version nodes that its programs ask for (`versions.map`).

fn main() {
    let folder = std::env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
    println!("cargo::rerun-if-changed=versions.map");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libibverbs.so.1");
    println!("cargo::rustc-cdylib-link-arg=-Wl,--version-script={folder}/versions.map");
}
