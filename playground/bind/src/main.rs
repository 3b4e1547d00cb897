//! Makes the JavaScript that loads the engines: `bind ENGINE.wasm FOLDER`. A part of the build.

use std::error::Error;

use wasm_bindgen_cli_support::Bindgen;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (engine, folder) = arguments.next().zip(arguments.next()).ok_or("expected ENGINE.wasm FOLDER")?;
    Bindgen::new()
        .input_path(engine)
        .web(true)?
        .typescript(false)
        .remove_name_section(true)
        .remove_producers_section(true)
        .generate(folder)?;
    Ok(())
}
