//! Names for numbers, and conversions of rates.

use std::ffi::{CStr, c_char, c_int};

fn name(names: &[&'static CStr], index: c_int) -> *const c_char {
    let found = usize::try_from(index).ok().and_then(|index| names.get(index));
    found.unwrap_or(&c"unknown").as_ptr()
}

/// `ibv_wc_status_str`
pub extern "C" fn wc_status_str(status: c_int) -> *const c_char {
    const NAMES: [&CStr; 24] = [
        c"success",
        c"local length error",
        c"local QP operation error",
        c"local EE context operation error",
        c"local protection error",
        c"Work Request Flushed Error",
        c"memory management operation error",
        c"bad response error",
        c"local access error",
        c"remote invalid request error",
        c"remote access error",
        c"remote operation error",
        c"transport retry counter exceeded",
        c"RNR retry counter exceeded",
        c"local RDD violation error",
        c"remote invalid RD request",
        c"aborted error",
        c"invalid EE context number",
        c"invalid EE context state",
        c"fatal error",
        c"response timeout error",
        c"general error",
        c"TM error",
        c"TM software rendezvous",
    ];
    name(&NAMES, status)
}

/// `ibv_event_type_str`
pub extern "C" fn event_type_str(event: c_int) -> *const c_char {
    const NAMES: [&CStr; 20] = [
        c"CQ error",
        c"local work queue catastrophic error",
        c"invalid request local work queue error",
        c"local access violation work queue error",
        c"communication established",
        c"send queue drained",
        c"path migrated",
        c"path migration request error",
        c"local catastrophic error",
        c"port active",
        c"port error",
        c"LID change",
        c"P_Key change",
        c"SM change",
        c"SRQ catastrophic error",
        c"SRQ limit reached",
        c"last WQE reached",
        c"client reregistration",
        c"GID table change",
        c"WQ fatal",
    ];
    name(&NAMES, event)
}

/// `ibv_port_state_str`
pub extern "C" fn port_state_str(state: c_int) -> *const c_char {
    let names = [c"no state change (NOP)", c"down", c"init", c"armed", c"active", c"active defer"];
    name(&names, state)
}

/// `ibv_node_type_str`
pub extern "C" fn node_type_str(node: c_int) -> *const c_char {
    let names = [
        c"unknown",
        c"InfiniBand channel adapter",
        c"InfiniBand switch",
        c"InfiniBand router",
        c"iWARP NIC",
        c"usNIC",
        c"usNIC UDP",
        c"unspecified",
    ];
    name(&names, node)
}

/// For each `enum ibv_rate`: the multiple of 2.5 Gbit/s, if there is one, and the rate in Mbit/s.
const RATES: [(c_int, c_int, c_int); 23] = [
    (2, 1, 2500),
    (5, 2, 5000),
    (3, 4, 10_000),
    (6, 8, 20_000),
    (4, 12, 30_000),
    (7, 16, 40_000),
    (8, 24, 60_000),
    (9, 32, 80_000),
    (10, 48, 120_000),
    (11, 5, 14_062),
    (12, 20, 56_250),
    (13, 40, 112_500),
    (14, 60, 168_750),
    (15, 10, 25_781),
    (16, 40, 103_125),
    (17, 80, 206_250),
    (18, 120, 309_375),
    (19, 11, 28_125),
    (20, 20, 53_125),
    (21, 160, 425_000),
    (22, 240, 637_500),
    (23, 320, 850_000),
    (24, 480, 1_275_000),
];

/// `ibv_rate_to_mult`
pub extern "C" fn rate_to_mult(rate: c_int) -> c_int {
    RATES.iter().find(|entry| entry.0 == rate).map_or(-1, |entry| entry.1)
}

/// `mult_to_ibv_rate`; 0 is `IBV_RATE_MAX`.
pub extern "C" fn mult_to_rate(mult: c_int) -> c_int {
    RATES.iter().find(|entry| entry.1 == mult).map_or(0, |entry| entry.0)
}

/// `ibv_rate_to_mbps`
pub extern "C" fn rate_to_mbps(rate: c_int) -> c_int {
    RATES.iter().find(|entry| entry.0 == rate).map_or(-1, |entry| entry.2)
}

/// `mbps_to_ibv_rate`
pub extern "C" fn mbps_to_rate(mbps: c_int) -> c_int {
    RATES.iter().find(|entry| entry.2 == mbps).map_or(0, |entry| entry.0)
}
