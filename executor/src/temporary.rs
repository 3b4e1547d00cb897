//! Folders for what is made on the way.

use std::fs::DirBuilder;
use std::io;
use std::path::Path;

/// Makes a folder that nobody else can read, where the system has users. One that is there already is an
/// error: somebody else may have made it.
///
/// # Errors
/// If it cannot be made.
pub fn private_folder(path: &Path) -> io::Result<()> {
    let builder = DirBuilder::new();
    #[cfg(unix)]
    let builder = {
        let mut builder = builder;
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder
    };
    builder.create(path)
}
