//! The words that are statements: their spellings, arguments and results, as a table.

use crate::Dialect;

/// What a call calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the table says it")]
pub enum Method {
    Cas,
    Faa,
    Xchg,
    Mfence,
    Rcas,
    Rfaa,
    Send,
    SendImm,
    PutImm,
    AtomicWrite,
    Flush,
    Persist,
    Recv,
    PollRecv,
    Poll,
    Wait,
    Rfence,
    Gfence,
    /// A method of a library.
    Library,
    RmaGet,
    RmaPut,
    RmaRga,
    RmaCas,
    RmaFlush,
}

/// Whether a call stands alone or on the right of `:=`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// Only as a statement.
    Statement,
    /// Only on the right of `:=`.
    Value,
    /// As a statement, or on the right with its result's place as first argument left out.
    Either,
    /// As a statement or, with the same arguments, on the right.
    OptionalResult,
}

/// One row of the table.
pub struct Signature {
    /// The method.
    pub method: Method,
    /// The spellings, the one that is printed first; letter case does not count.
    pub spellings: &'static [&'static str],
    /// The fewest and the most arguments of the statement form (of the value form, if there is no other).
    pub arity: (usize, usize),
    /// Where it stands.
    pub position: Position,
    /// The dialect it belongs to.
    pub dialect: Dialect,
    /// How it is written, for hints.
    pub usage: &'static str,
}

const fn rdma(
    method: Method,
    spellings: &'static [&'static str],
    arity: (usize, usize),
    position: Position,
    usage: &'static str,
) -> Signature {
    Signature { method, spellings, arity, position, dialect: Dialect::Rdma, usage }
}

const fn rma(
    method: Method,
    spelling: &'static [&'static str],
    arity: usize,
    position: Position,
    usage: &'static str,
) -> Signature {
    Signature {
        method,
        spellings: spelling,
        arity: (arity, arity),
        position,
        dialect: Dialect::CoreRma,
        usage,
    }
}

/// The table.
pub const SIGNATURES: &[Signature] = &[
    rdma(Method::Cas, &["CAS"], (3, 3), Position::OptionalResult, "a := CAS(x, 0, 1)"),
    rdma(Method::Faa, &["FAA"], (2, 2), Position::OptionalResult, "a := FAA(x, 1)"),
    rdma(Method::Xchg, &["XCHG"], (2, 2), Position::OptionalResult, "a := XCHG(x, 1)"),
    rdma(Method::Mfence, &["Mfence"], (0, 0), Position::Statement, "Mfence"),
    rdma(Method::Rcas, &["RCAS"], (4, 5), Position::Either, "RCAS(a, x^2, 0, 1)"),
    rdma(Method::Rfaa, &["RFAA"], (3, 4), Position::Either, "RFAA(a, x^2, 1)"),
    rdma(Method::Send, &["Send"], (2, 3), Position::Statement, "Send(2, x)"),
    rdma(Method::SendImm, &["SendImm"], (3, 4), Position::Statement, "SendImm(2, x, 1)"),
    rdma(Method::PutImm, &["PutImm"], (3, 4), Position::Statement, "PutImm(x^2, y, 1)"),
    rdma(Method::AtomicWrite, &["AtomicWrite"], (2, 3), Position::Statement, "AtomicWrite(x^2, y)"),
    rdma(Method::Flush, &["Flush"], (1, 2), Position::Statement, "Flush(2)"),
    rdma(Method::Persist, &["Persist"], (1, 2), Position::Statement, "Persist(2)"),
    rdma(Method::Recv, &["Recv"], (2, 2), Position::Statement, "Recv(1, x)"),
    rdma(Method::PollRecv, &["PollRecv"], (1, 1), Position::OptionalResult, "a := PollRecv(1)"),
    rdma(Method::Poll, &["Poll"], (1, 1), Position::Statement, "Poll(2)"),
    rdma(Method::Wait, &["Wait"], (1, 1), Position::Statement, "Wait(d)"),
    rdma(Method::Rfence, &["Rfence"], (1, 1), Position::Statement, "Rfence(2)"),
    rdma(Method::Gfence, &["GFence", "GF"], (1, 1), Position::Statement, "GFence({1, 2})"),
    rdma(Method::Library, &[""], (1, 255), Position::OptionalResult, "a := Method(x, …)"),
    rma(Method::RmaGet, &["get"], 1, Position::Value, "X = get(Y^2)"),
    rma(Method::RmaPut, &["put"], 2, Position::Statement, "put(Y^2, X)"),
    rma(Method::RmaRga, &["rga"], 2, Position::Value, "X = rga(Z^2, Y)"),
    rma(Method::RmaCas, &["cas"], 3, Position::Value, "X = cas(Z^2, Y, W)"),
    rma(Method::RmaFlush, &["flush"], 1, Position::Statement, "flush(2)"),
];

/// Words that begin the other statements.
pub const KEYWORDS: &[&str] = &["if", "else", "while", "loop", "break", "assume", "skip"];

/// The method that a word spells in a dialect.
pub fn lookup(dialect: Dialect, word: &str) -> Option<Method> {
    let row = SIGNATURES.iter().find(|row| {
        row.dialect == dialect && row.spellings.iter().any(|s| s.eq_ignore_ascii_case(word))
    });
    row.map(|row| row.method)
}

/// The statement of a dialect that a word is. Then it is no library's, except on an object of a class.
pub fn statement(dialect: Dialect, word: &str) -> Option<Method> {
    lookup(dialect, word).filter(|method| *method != Method::Library)
}

/// What verbs, other languages and other tools call a statement, and how it is written here.
const OTHER_WORDS: &[(&[&str], &str)] = &[
    (
        &["fence"],
        "`Mfence` for the CPU, `Rfence(2)` for IBV_SEND_FENCE on the queue pair to node 2",
    ),
    (&["mb", "smp_mb", "mfences", "sfence", "lfence"], "Mfence"),
    (&["rdma_write", "ibv_wr_rdma_write", "ibv_post_send", "store_remote"], "x^2 := y"),
    (&["ibv_send_signaled"], "x^2 :=^d y"),
    (&["inline", "ibv_send_inline"], "x^2 := inline y"),
    (&["unsignaled"], "unsignaled x^2 := y"),
    (&["ibv_send_fence"], "Rfence(2)"),
    (&["ibv_wr_send", "ibv_wr_send_imm"], "Send(2, x)"),
    (&["ibv_wr_rdma_write_imm", "write_with_imm"], "PutImm(x^2, y, 1)"),
    (&["ibv_wr_atomic_write", "atomic_write"], "AtomicWrite(x^2, y)"),
    (&["ibv_wr_flush", "rpma_flush"], "`Flush(2)` for visibility, `Persist(2)` for persistence"),
    (&["ibv_post_recv", "post_recv"], "Recv(1, x)"),
    (&["rdma_read", "ibv_wr_rdma_read", "load_remote"], "a := x^2"),
    (&["fetch_add", "fetch_and_add", "xadd"], "a := FAA(x, 1)"),
    (&["ibv_wr_atomic_fetch_add", "ibv_wr_atomic_fetch_and_add", "remote_faa"], "RFAA(a, x^2, 1)"),
    (&["cmpxchg", "compare_and_swap", "cmp_swap"], "a := CAS(x, 0, 1)"),
    (&["ibv_wr_atomic_cmp_swp", "ibv_wr_atomic_cmp_and_swp", "remote_cas"], "RCAS(a, x^2, 0, 1)"),
    (&["swap", "exchange"], "a := XCHG(x, 1)"),
    (
        &["poll_cq", "ibv_poll_cq", "ibv_start_poll", "ibv_next_poll", "ibv_get_cq_event"],
        "`Wait(d)` under the models rdma-wait and rdma-wait-rmw, `Poll(2)` under rdma-tso and rdma-tso-rmw",
    ),
    (&["await"], "Wait(d)"),
    (&["for", "do", "until", "repeat"], "while a < 3 { … }"),
    (&["nop", "pass"], "skip"),
    (&["return", "exit"], "break"),
];

/// How a statement is written that goes by another word elsewhere.
pub fn written(word: &str) -> Option<&'static str> {
    let is_word = |known: &&str| known.eq_ignore_ascii_case(word);
    OTHER_WORDS.iter().find(|(words, _)| words.iter().any(is_word)).map(|row| row.1)
}

impl Method {
    /// Its row of the table.
    pub fn signature(self) -> &'static Signature {
        // The test below sees to it that every method has a row.
        SIGNATURES.iter().find(|row| row.method == self).unwrap_or(&SIGNATURES[0])
    }

    /// The spelling that is printed.
    pub fn spelling(self) -> &'static str {
        self.signature().spellings[0]
    }
}
