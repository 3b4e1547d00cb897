//! Orders of models in words, for readers who know NICs and not models.

/// What an event of a table's row or column is: in one way, by whatever name models call it, so that they can agree.
fn event(name: &str) -> &str {
    match name {
        "lR" | "aCR" => "a CPU read",
        "lW" | "aCW" => "a CPU write",
        "CAS" | "aCAS" => "a CPU read-modify-write",
        "F" | "aMF" => "a CPU fence",
        "P" | "aWT" => "a poll or wait",
        "nlR" | "aNLR" => "the NIC's read of a put's source",
        "nrW" | "aNRW" => "a put's write at its target",
        "narR" | "aNAR" => "the read of a remote RMW",
        "narW" => "the write of a remote RMW",
        "nrR" | "aNRR" => "a get's read at the remote node",
        "nlW" | "aNLW" => "the arrival of a get's or remote RMW's result",
        "nF" | "aRF" => "a remote fence",
        "aGF" => "a global fence",
        other => other,
    }
}

/// What it means that an order is not kept: `oppo[nrW, nrW]`, `nfo`, `part 2 of ob`.
pub fn lost(name: &str) -> String {
    if let Some((_, cell)) = name.split_once('[')
        && let Some((row, column)) = cell.trim_end_matches(']').split_once(", ")
    {
        let (row, column) = (event(row), event(column));
        return if row == column {
            format!("{row} is not kept before a later one, in program order")
        } else {
            format!("{row} is not kept before {column} that follows in program order")
        };
    }
    match name {
        "nfo" => "a NIC's read does not wait for earlier writes of the same queue pair (PCIe flush order)".to_owned(),
        "rao" => "remote RMWs towards one node are not done one at a time".to_owned(),
        "iso" => "the parts of one operation are not in order".to_owned(),
        _ => match name.split_once(" of ") {
            Some((part, whole)) => format!("a part of the model's {whole} ({part}) is not kept"),
            None => format!("the model's {name} is not kept"),
        },
    }
}
