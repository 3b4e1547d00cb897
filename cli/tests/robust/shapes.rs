//! Models with tables of different shapes, through all commands that look at tables.

use super::common::suite;
use crate::scratch::Scratch;

/// rdma-tso, whose `oppo` is in two tables of different shapes.
fn model() -> String {
    let text = std::fs::read_to_string(
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../model/models/rdma-tso.cat"),
    );
    let text = text.unwrap();
    let (head, table) = text.split_once("table oppo").unwrap();
    let (table, tail) = table.split_once("\nend\n").unwrap();
    let rows: Vec<&str> = table.lines().collect();
    let (cpu, nic) = (rows[2..7].join("\n"), rows[7..].join("\n"));
    let table = |name: &str, rows: &str| {
        format!("table {name} on po where Q = same-qp\n{}\n{rows}\nend\n", rows_head(table))
    };
    let tail = tail.replace("(oppo |", "(cpu | nic |");
    format!("{head}{}\n{}\n{tail}", table("cpu", &cpu), table("nic", &nic))
}

fn rows_head(table: &str) -> &str {
    table.lines().nth(1).unwrap()
}

#[test]
fn every_command_takes_tables_of_any_shape() {
    let scratch = Scratch::new();
    scratch.write("own.cat", model());
    let suite = suite("rmw-paper");
    let (code, text, error) =
        scratch.run(&format!("coverage {suite} --model own.cat --format json"));
    assert!(code == 1 && error.is_empty(), "{code}: {error}");
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    let shapes: Vec<(usize, usize)> = json["tables"]
        .as_array()
        .unwrap()
        .iter()
        .map(|table| {
            let count = |name: &str| table[name].as_array().unwrap().len();
            (count("rows"), count("columns"))
        })
        .collect();
    assert!(shapes.contains(&(5, 10)) && shapes.contains(&(10, 10)), "{shapes:?}");
    assert_eq!(
        json["changes"].as_array().unwrap().len(),
        0x1000.min(json["changes"].as_array().unwrap().len())
    );

    let (code, text, error) =
        scratch.run("gen pivot --model own.cat --size 3 --cell [nlR,nrW] -o pivot");
    assert!(code == 0 && text.contains("test"), "{code}: {text}{error}");
    assert!(scratch.names("pivot").len() > 1, "{:?}", scratch.names("pivot"));

    let (code, text, _) = scratch.run("compare own.cat own.cat");
    assert!(code == 0 && text.contains("say the same"), "{code}: {text}");
    let changed =
        model().replace("table nic on po where Q = same-qp", "table nic on po where Q = same-node");
    scratch.write("changed.cat", changed);
    let (code, text, _) = scratch.run("compare own.cat changed.cat --size 2");
    assert!(code != 0 && text.contains("Q stands for another relation in nic"), "{code}: {text}");

    let run = format!("run {suite} -n 20 --seed 1 --model own.cat --record r.jsonl --format json");
    let (code, text, error) = scratch.run(&run);
    assert!(code == 0, "{code}: {text}{error}");
    let (code, _, error) = scratch.run("report r.jsonl --model own.cat --mutants 0 -o report");
    assert!(code == 0, "{code}: {error}");
    let report: serde_json::Value =
        serde_json::from_str(&scratch.read("report/report.json")).unwrap();
    let tables = report["tables"].as_array().unwrap();
    assert_eq!(tables.len(), 3, "one for each shape: {tables:?}");
}
