//! `litmus models`.

use clap::Args;
use model::models::shipped;
use serde_json::json;

use crate::exit::Exit;
use crate::models::{Models, names, unknown_model};
use crate::options::{Format, FormatOption};
use crate::table;
use crate::terminal::Terminal;

/// List the models, or print the text of one
#[derive(Args)]
pub struct Arguments {
    /// The model to print
    name: Option<String>,
    #[command(flatten)]
    format: FormatOption,
}

/// Lists or prints.
pub fn run(arguments: &Arguments, terminal: &mut Terminal) -> Exit {
    match &arguments.name {
        None => list(arguments.format.format, terminal),
        Some(name) => print(name, arguments.format.format, terminal),
    }
}

fn print(name: &str, format: Format, terminal: &mut Terminal) -> Exit {
    let Some(source) = shipped(name) else {
        if name.ends_with(".cat") || name.contains('/') {
            return terminal.usage_error(&format!(
                "expected the name of a shipped model, found the file `{name}`; `litmus check {name}` checks it, and other \
                 commands take it by `--model {name}`"
            ));
        }
        return terminal.usage_error(&unknown_model(name));
    };
    match format {
        Format::Table => terminal.out(&source.text),
        Format::Json => {
            let json = json!({ "schema": "litmus-model/1", "name": name, "text": source.text });
            terminal.out(&format!("{json}\n"));
        }
    }
    Exit::Fine
}

fn list(format: Format, terminal: &mut Terminal) -> Exit {
    let models = Models::default();
    let loaded: Vec<_> = names().filter_map(|name| models.shipped(name)).collect();
    match format {
        Format::Json => {
            let list: Vec<_> = loaded
                .iter()
                .map(|entry| {
                    let model = entry.model();
                    let axioms: Vec<&str> =
                        model.axioms.iter().map(|axiom| axiom.name.as_str()).collect();
                    json!({
                        "name": model.name,
                        "title": model.title,
                        "machine": model.machine,
                        "calls": model.calls,
                        "axioms": axioms,
                        "hash": entry.identity.hash,
                    })
                })
                .collect();
            terminal.out(&format!("{}\n", json!({ "schema": "litmus-models/1", "models": list })));
        }
        Format::Table => {
            let row = |entry: &std::sync::Arc<crate::models::LoadedModel>| {
                let model = entry.model();
                let or_dash =
                    |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
                vec![model.name.clone(), or_dash(&model.machine), or_dash(&model.title)]
            };
            let rows: Vec<_> = loaded.iter().map(row).collect();
            let text = table::draw(terminal.look, &["model", "machine", "title"], rows, true);
            terminal.out(&text);
        }
    }
    Exit::Fine
}
