use std::collections::BTreeSet;
use std::time::Instant;
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let mut bad = 0;
    let mut n = 0;
    let mut times: Vec<(f64, String)> = vec![];
    let mut stats = (0, 0);
    let mut paths: Vec<_> = std::fs::read_dir(&args[2])
        .unwrap()
        .map(|e| e.unwrap().path())
        .filter(|p| p.extension().is_some_and(|e| e == "litmus"))
        .collect();
    paths.sort();
    for path in paths {
        let text = std::fs::read_to_string(&path).unwrap();
        let source = lang::source::Source::new(path.display().to_string(), text);
        let (test, d) = lang::litmus::load(&source);
        let Some(test) = test else {
            for d in d {
                println!("{}", d.render(&source, false));
            }
            bad += 1;
            continue;
        };
        let m = model::models::load_shipped(&test.models[0]).unwrap().unwrap().model;
        let t = Instant::now();
        let got: BTreeSet<Vec<String>> = match &args[1][..] {
            "explore" => {
                let e = model::machine::explore(
                    &test,
                    model::machine::Variant::from_name(m.machine.as_deref().unwrap()).unwrap(),
                    Default::default(),
                )
                .unwrap();
                stats.0 += e.states;
                e.outcomes
                    .iter()
                    .map(|o| o.0[..test.shown].iter().map(|v| v.to_string()).collect())
                    .collect()
            }
            s => {
                let q = model::allowed::Question::new(&test, &m, None).unwrap();
                let o = model::allowed::Options {
                    solver: if s == "z3" {
                        model::smt::solver::SolverKind::Z3
                    } else {
                        Default::default()
                    },
                    ..Default::default()
                };
                let a = match q.allowed(&o) {
                    Ok(a) => a,
                    Err(d) => {
                        println!("ERR {} {}", path.display(), d[0].code);
                        bad += 1;
                        continue;
                    }
                };
                stats.0 += a.statistics.solves;
                stats.1 += a.statistics.lemmas;
                if s == "check" {
                    for w in a.outcomes.values().flatten() {
                        model::check::well_formed(&q.skeleton, &test.observables, w).unwrap();
                        assert!(model::check::broken_axioms(&q.skeleton, &m, w).is_empty());
                    }
                }
                a.shown(&test).iter().map(|o| o.iter().map(|v| v.to_string()).collect()).collect()
            }
        };
        times.push((t.elapsed().as_secs_f64() * 1e3, path.display().to_string()));
        let j: serde_json::Value =
            serde_json::from_str(&std::fs::read_to_string(path.with_extension("json")).unwrap())
                .unwrap();
        let want: BTreeSet<Vec<String>> = j["outcomes"]
            .as_array()
            .unwrap()
            .iter()
            .map(|o| o.as_array().unwrap().iter().map(|v| v.to_string()).collect())
            .collect();
        n += 1;
        if got != want {
            bad += 1;
            println!(
                "DIFF {} got-want {:?} want-got {:?}",
                path.display(),
                got.difference(&want).take(3).collect::<Vec<_>>(),
                want.difference(&got).take(3).collect::<Vec<_>>()
            );
        }
    }
    times.sort_by(|a, b| a.0.total_cmp(&b.0));
    let total: f64 = times.iter().map(|t| t.0).sum();
    println!(
        "{n} tests {bad} bad; total {total:.0} ms median {:.2} p99 {:.1} max {:?} stats {stats:?}",
        times[times.len() / 2].0,
        times[times.len() * 99 / 100].0,
        times.last()
    );
}
