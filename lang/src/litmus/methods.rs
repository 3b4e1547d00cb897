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
    Poll,
    Wait,
    Rfence,
    Gfence,
    Bcast,
    WaitSv,
    Bar,
    Submit,
    Receive,
    Acq,
    Rel,
    CasSc,
    FaaSc,
    TryRead,
    /// A method of a library that the language does not know.
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
    rdma(Method::Poll, &["Poll"], (1, 1), Position::Statement, "Poll(2)"),
    rdma(Method::Wait, &["Wait"], (1, 1), Position::Statement, "Wait(d)"),
    rdma(Method::Rfence, &["Rfence"], (1, 1), Position::Statement, "Rfence(2)"),
    rdma(Method::Gfence, &["GFence", "GF"], (1, 1), Position::Statement, "GFence({1, 2})"),
    rdma(
        Method::Bcast,
        &["Bcast", "Broadcast"],
        (1, 3),
        Position::Statement,
        "Bcast(x, d, {2, 3})",
    ),
    rdma(Method::WaitSv, &["WaitSV", "Wait_SV"], (1, 1), Position::Statement, "WaitSV(d)"),
    rdma(Method::Bar, &["Bar"], (1, 1), Position::Statement, "Bar(z)"),
    rdma(Method::Submit, &["Submit"], (2, 2), Position::OptionalResult, "a := Submit(x, 1)"),
    rdma(Method::Receive, &["Receive"], (1, 1), Position::OptionalResult, "a := Receive(x)"),
    rdma(Method::Acq, &["Acq", "Acquire"], (1, 1), Position::Statement, "Acq(l)"),
    rdma(Method::Rel, &["Rel", "Release"], (1, 1), Position::Statement, "Rel(l)"),
    rdma(
        Method::CasSc,
        &["CASSC", "CAS_SC"],
        (3, 3),
        Position::OptionalResult,
        "a := CASSC(x, 0, 1)",
    ),
    rdma(Method::FaaSc, &["FAASC", "FAA_SC"], (2, 2), Position::OptionalResult, "a := FAASC(x, 1)"),
    rdma(Method::TryRead, &["TryRead"], (1, 1), Position::OptionalResult, "a := TryRead(x)"),
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

/// What verbs, other languages and other tools call a statement, and how it is written here.
const OTHER_WORDS: &[(&[&str], &str)] = &[
    (&["lock", "mutex_lock", "acquire_lock"], "Acq(l)"),
    (&["unlock", "mutex_unlock", "release_lock"], "Rel(l)"),
    (&["barrier", "waiting"], "Bar(z)"),
    (&["fence", "mb", "smp_mb", "mfences", "sfence", "lfence"], "Mfence"),
    (&["send", "push", "enqueue"], "a := Submit(x, 1)"),
    (&["pop", "dequeue"], "a := Receive(x)"),
    (&["rdma_write", "ibv_wr_rdma_write", "ibv_post_send", "store_remote"], "x^2 := y"),
    (&["ibv_send_signaled"], "x^2 :=^d y"),
    (&["ibv_send_inline"], "x^2 := 1"),
    (&["ibv_send_fence"], "Rfence(2)"),
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

/// Libraries as papers mark them on methods, `Acq_WL` and `Submit^RBL`, the methods that each has, and the
/// class of lock that it says.
const MARKS: &[(&str, &[Method], Option<&str>)] = &[
    ("SV", &[Method::Bcast, Method::Gfence, Method::WaitSv], None),
    ("BAL", &[Method::Bar], None),
    ("RBL", &[Method::Submit, Method::Receive], None),
    ("WL", &[Method::Acq, Method::Rel], Some("WLock")),
    ("SL", &[Method::Acq, Method::Rel], Some("SLock")),
    ("NL", &[Method::Acq, Method::Rel], Some("NLock")),
    ("MSW", &[Method::TryRead, Method::Wait], None),
    ("SC", &[Method::CasSc, Method::FaaSc], None),
    ("TSO", &[Method::Cas, Method::Mfence, Method::Rfence, Method::Poll], None),
];

/// Accesses that papers write as calls, and the marks that they may carry.
const ACCESSES: &[(Access, &str, &[&str])] = &[
    (Access::Write, "Write", &["SV", "SC", "MSW", "TSO"]),
    (Access::Read, "Read", &["SV", "SC", "TSO"]),
    (Access::Put, "Put", &["MSW", "TSO"]),
    (Access::Get, "Get", &["MSW", "TSO"]),
];

/// An access that is written as a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// `Write(x, 1)` is `x := 1`.
    Write,
    /// `a := Read(x)` is `a := x`.
    Read,
    /// `Put(x, y, d)` is `~x :=^d y`.
    Put,
    /// `Get(a, x, d)` is `a :=^d ~x`.
    Get,
}

/// A word without its library's mark, and the mark.
fn unmarked(word: &str) -> Option<(&str, &'static str)> {
    let (base, mark) = match word.split_once('^').or_else(|| word.rsplit_once('_')) {
        Some((base, mark)) => (base, mark.trim_start_matches('{').trim_end_matches('}')),
        None => {
            let marks = MARKS.iter().map(|(mark, ..)| *mark);
            return marks.filter_map(|mark| Some((word.strip_suffix(mark)?, mark))).next();
        }
    };
    let known = MARKS.iter().find(|(known, ..)| known.eq_ignore_ascii_case(mark))?;
    Some((base, known.0))
}

/// The method that a word with a library's mark spells, and the class of lock that the mark says.
pub fn lookup_marked(word: &str) -> Option<(Method, Option<&'static str>)> {
    let (base, mark) = unmarked(word)?;
    let (_, methods, class) = MARKS.iter().find(|(known, ..)| *known == mark)?;
    // `Wait^SV` is `Wait_SV`, which is a method of its own.
    let whole = lookup(Dialect::Rdma, &format!("{base}_{mark}"));
    let method = whole.or_else(|| lookup(Dialect::Rdma, base))?;
    methods.contains(&method).then_some((method, *class))
}

/// The access that a word spells, and the library's mark on it, or nothing.
pub fn lookup_access(word: &str) -> Option<(Access, &'static str)> {
    let find = |base: &str| ACCESSES.iter().find(|(_, word, _)| word.eq_ignore_ascii_case(base));
    if let Some((access, ..)) = find(word) {
        return Some((*access, ""));
    }
    let (base, mark) = unmarked(word)?;
    let (access, _, marks) = find(base)?;
    marks.contains(&mark).then_some((*access, mark))
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
