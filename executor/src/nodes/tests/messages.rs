//! Messages and receives: instances share a queue pair, and each uses up the receives that it posts.

use super::*;
use crate::rdma::{DeviceInfo, Settings};
use evidence::observation::Observations;
use lang::program::BOTTOM;

/// Runs a program on one machine and on two, with lists of requests and without, and with as few receives as
/// it posts.
fn everywhere(text: &str, receives: u32) -> Vec<Observations> {
    let limits = Limits { bytes: 64 << 20, queue_pairs: 64 };
    let mut all = Vec::new();
    for (machines, post_list, depth) in
        [(1, 1, 1024), (2, 1, 1024), (2, 4, 1024), (2, 1, receives.max(2))]
    {
        let device = DeviceInfo { queue_depth: depth, ..MemoryDevice::default().0 };
        let nodes: Vec<SocketAddr> =
            (0..machines).map(|_| agent_on(device.clone(), limits, Log::default())).collect();
        let parameters = Parameters {
            instances: 8,
            rounds: 8,
            patience: 20,
            post_list,
            settings: Settings { depth: 16, ..Settings::default() },
            ..Parameters::default()
        };
        let verbs = Verbs::new(cluster(&nodes, secret()).unwrap(), parameters);
        all.push(run(&verbs, text, 200).unwrap());
    }
    all
}

fn only(seen: &Observations, expected: &[u64]) {
    let expected: Vec<Value> = expected.iter().copied().map(Value::of_word).collect();
    let found: Vec<&[Value]> = seen.outcomes.keys().map(|outcome| &*outcome.0).collect();
    assert_eq!((seen.finished(), found), (200, vec![expected.as_slice()]), "{seen:?}");
}

#[test]
fn messages_bring_their_data_and_their_immediates() {
    let text = "\
litmus T
model rdma-verbs
  y = 7                  ||  x = 0, m = 0, k = 0
  ----------------------------------------------
  Send(2, y)             ||  Recv(1, m)
  SendImm(2, 2, 4294967301) ||  Recv(1, k)
  PutImm(x^2, y, 6)      ||  Recv(1, _)
                         ||  a := PollRecv(1)
                         ||  b := PollRecv(1)
                         ||  c := PollRecv(1)
                         ||  d := x
  observe a, b, c, d, m, k
";
    for seen in everywhere(text, 3) {
        only(&seen, &[BOTTOM, 5, 6, 7, 7, 2]);
    }
}

/// In one of two instances, the sender sends nothing for one receive, or for both.
#[test]
fn receives_that_nobody_fills_are_used_up() {
    let text = "\
litmus T
model rdma-verbs
  y = 0, z = 0                               ||  m = 0, k = 0
  -------------------------------------------------------------
  Send(2, 1)                                 ||  Recv(1, m)
  if y = 1 { Send(2, 2) }                    ||  Recv(1, k)
  y^1 := 1                                   ||  PollRecv(1)
  observe m, k
";
    for seen in everywhere(text, 2) {
        only(&seen, &[1, 0]);
    }
    // Who has nothing to run fills the receives of others, too.
    let text = "\
litmus T
model rdma-verbs
      ||  m = 3
  ------------------
      ||  Recv(1, m)

thread 1 @ 1 {
}
thread 2 @ 2 {
  Recv(1, m)
}
  observe m
";
    let text = text.replace("      ||  Recv(1, m)\n\n", "\n");
    for seen in everywhere(&text, 1) {
        only(&seen, &[3]);
    }
}

#[test]
fn what_never_comes_ends_an_instance_and_no_other() {
    let blocked = |text: &str, receives| {
        for seen in everywhere(text, receives) {
            assert_eq!((seen.blocked, seen.iterations()), (200, 200), "{seen:?}");
        }
    };
    let head = "litmus T\nmodel rdma-verbs\n  y = 0 || m = 0\n  ---\n";
    // A message without a receive, a receive without a message, and a poll without a receive.
    blocked(&format!("{head}  Send(2, 1) || Recv(1, m)\n  Send(2, 2) ||\n"), 1);
    blocked(&format!("{head}  y := 1 || Recv(1, m)\n  || PollRecv(1)\n"), 1);
    blocked(&format!("{head}  Send(2, 1) || PollRecv(1)\n  || Recv(1, m)\n"), 1);
    // Each waits for a completion that the other's receive would bring.
    let text = format!(
        "{head}  Send(2, 1) || Send(1, 1)\n  Poll(2) || Poll(1)\n  Recv(2, y) || Recv(1, m)\n"
    );
    for seen in everywhere(&text, 1) {
        assert_eq!((seen.unfinished, seen.iterations()), (200, 200), "{seen:?}");
    }
    // The sender waits in vain, and so the receiver does.
    let text = format!(
        "{head}  loop {{ a := y; if a = 1 {{ break }} }} || Recv(1, m)\n  Send(2, 1) || PollRecv(1)\n"
    );
    for seen in everywhere(&text, 1) {
        assert_eq!((seen.unfinished, seen.iterations()), (200, 200), "{seen:?}");
    }
}

/// Whose `assume` fails leaves its receives and messages in order for the next instance.
#[test]
fn an_instance_that_does_not_count_keeps_its_place() {
    let text = "\
litmus T
model rdma-verbs
  y = 0, r = 0    ||  m = 0, x = 0
  ----------------------------------
  Recv(2, r)      ||  a := FAA(x, 1)
  Send(2, 5)      ||  assume(a = 0)
  x^2 := 1        ||  Recv(1, m)
  PollRecv(2)     ||  PollRecv(1)
                  ||  Send(1, m)
  observe m, r
";
    let seen = everywhere(text, 1);
    for seen in &seen {
        assert_eq!(seen.outcomes.len(), 1, "{seen:?}");
        assert_eq!(seen.iterations(), 200, "{seen:?}");
        assert!(seen.outcomes.keys().all(|outcome| *outcome.0 == [Value::Int(5), Value::Int(5)]));
    }
}
