//! `ibv_modify_qp`: changes the state of a queue pair.

use std::ffi::c_int;
use std::sync::atomic::Ordering;

use crate::config::Config;
use crate::device::{self, limit};
use crate::engine::life;
use crate::engine::node::Node;
use crate::engine::pair::Pair;
use crate::ffi::abi::{ibv_ah_attr, ibv_qp, ibv_qp_attr};
use crate::ffi::objects::{ContextObject, QpObject, guard_code};
use crate::nic::config;
use crate::queues::lock;
use crate::states::{State, attribute, may_change, may_change_datagrams};
use crate::wire::Address;

/// Copies one attribute from the second structure to the first.
type Set = fn(&mut ibv_qp_attr, &ibv_qp_attr);

/// Copies the attributes that the mask names.
fn merge(known: &mut ibv_qp_attr, new: &ibv_qp_attr, mask: u32) {
    let fields: [(u32, Set); 17] = [
        (attribute::KEY, |to, from| to.qkey = from.qkey),
        (attribute::ACCESS, |to, from| to.qp_access_flags = from.qp_access_flags),
        (attribute::PKEY_INDEX, |to, from| to.pkey_index = from.pkey_index),
        (attribute::PORT, |to, from| to.port_num = from.port_num),
        (attribute::ADDRESS, |to, from| to.ah_attr = from.ah_attr),
        (attribute::PATH_MTU, |to, from| to.path_mtu = from.path_mtu),
        (attribute::TIMEOUT, |to, from| to.timeout = from.timeout),
        (attribute::RETRIES, |to, from| to.retry_cnt = from.retry_cnt),
        (attribute::RNR_RETRIES, |to, from| to.rnr_retry = from.rnr_retry),
        (attribute::RECEIVE_SEQUENCE, |to, from| to.rq_psn = from.rq_psn),
        (attribute::MOST_FETCHES, |to, from| to.max_rd_atomic = from.max_rd_atomic),
        (attribute::RNR_TIMER, |to, from| to.min_rnr_timer = from.min_rnr_timer),
        (attribute::SEND_SEQUENCE, |to, from| to.sq_psn = from.sq_psn),
        (attribute::MOST_SERVED, |to, from| to.max_dest_rd_atomic = from.max_dest_rd_atomic),
        (attribute::MIGRATION, |to, from| to.path_mig_state = from.path_mig_state),
        (attribute::DESTINATION, |to, from| to.dest_qp_num = from.dest_qp_num),
        (attribute::DRAIN_NOTIFY, |to, from| to.en_sqd_async_notify = from.en_sqd_async_notify),
    ];
    for (bit, set) in fields {
        if mask & bit != 0 {
            set(known, new);
        }
    }
}

/// Whether the values of an address, except for its port, are valid.
pub fn may_be_address(config: &Config, ah: &ibv_ah_attr) -> bool {
    let global = ah.is_global != 0;
    let index = u32::from(ah.grh.sgid_index) < limit::GIDS;
    (!global || index) && (global || !config.ethernet)
}

/// The host and the number of the port at an address.
pub fn port_at(config: &Config, ah: &ibv_ah_attr) -> Option<(u32, u16)> {
    let gid = (ah.is_global != 0).then_some(&ah.grh.dgid.raw);
    device::find(config, gid, ah.dlid)
}

/// Whether the values of the attributes are valid. `own`: the queue pair's port, if the address must name it.
fn sound(config: &Config, device: u16, attr: &ibv_qp_attr, mask: u32, own: Option<u8>) -> bool {
    let has = |bit| mask & bit != 0;
    let port = |number: u8| device::port_number(config, device, u32::from(number)).is_some();
    let is_own = |number: u8| own.is_none_or(|own| own == number);
    let address =
        |ah: &ibv_ah_attr| may_be_address(config, ah) && port(ah.port_num) && is_own(ah.port_num);
    (!has(attribute::PORT) || port(attr.port_num))
        && (!has(attribute::PKEY_INDEX) || attr.pkey_index == 0)
        && (!has(attribute::ADDRESS) || address(&attr.ah_attr))
        && (!has(attribute::PATH_MTU) || (1..=5).contains(&attr.path_mtu))
        && (!has(attribute::MOST_FETCHES) || attr.max_rd_atomic <= limit::FETCHES)
        && (!has(attribute::MOST_SERVED) || attr.max_dest_rd_atomic <= limit::FETCHES)
        && (!has(attribute::RNR_TIMER) || attr.min_rnr_timer < 32)
        && (!has(attribute::TIMEOUT) || attr.timeout < 32)
        && (!has(attribute::RETRIES) || attr.retry_cnt < 8)
        && (!has(attribute::RNR_RETRIES) || attr.rnr_retry < 8)
        && (!has(attribute::DESTINATION) || attr.dest_qp_num <= 0xff_ffff)
}

/// Copies the attributes that the NIC needs to the queue pair.
fn connect(config: &Config, pair: &mut Pair, attr: &ibv_qp_attr) {
    let port = device::port_number(config, pair.device, u32::from(attr.port_num));
    pair.path.port = port.unwrap_or(0);
    let (host, peer_port) = port_at(config, &attr.ah_attr).unzip();
    (pair.path.host, pair.path.peer_port) = (config.host, peer_port);
    pair.path.peer = Address { host: host.unwrap_or(0), queue_pair: attr.dest_qp_num };
    pair.path.key = attr.qkey;
    pair.path.access = attr.qp_access_flags;
    (pair.path.timeout, pair.path.retries) = (attr.timeout, attr.retry_cnt);
    (pair.path.rnr_retries, pair.path.rnr_timer) = (attr.rnr_retry, attr.min_rnr_timer);
    pair.path.most_fetches = attr.max_rd_atomic;
    pair.path.most_served = attr.max_dest_rd_atomic;
    pair.path.sends_from = attr.sq_psn & 0xff_ffff;
    pair.path.expects_from = attr.rq_psn & 0xff_ffff;
}

/// Performs what a queue pair does when it enters a state. `tells`: when the send queue has drained, the
/// program wants to know.
fn enter(pair: &mut Pair, node: &mut Node, state: State, tells: bool) {
    match state {
        State::Reset => life::reset(pair, node),
        State::Error if pair.state != State::Error => life::fail(pair, node),
        State::ReadyToSend if pair.state == State::ReadyToReceive => {
            pair.requester.session = node.random.next() as u32;
        }
        // What was posted until now is flushed.
        State::ReadyToSend if pair.state == State::SendQueueError => life::flush_sends(pair, node),
        State::SendQueueDrained => {
            // What was asked for before holds, until it has come.
            pair.tells_drained = tells || (pair.tells_drained && pair.state == state);
        }
        _ => {}
    }
    pair.state = state;
}

/// `ibv_modify_qp`
///
/// # Safety
/// The queue pair is null or not destroyed; the attributes are null or as in the header.
pub unsafe extern "C" fn modify_qp(qp: *mut ibv_qp, attr: *mut ibv_qp_attr, mask: c_int) -> c_int {
    guard_code(|| {
        // SAFETY: by the contract.
        let (own, attr) = unsafe { (QpObject::own(qp), attr.as_ref()) };
        let (Some(own), Some(attr)) = (own, attr) else { return libc::EINVAL };
        // SAFETY: the queue pair is there, and its context is open.
        let Some(context) = (unsafe { ContextObject::own((*qp).context) }) else {
            return libc::EINVAL;
        };
        let mask = mask as u32;
        let mut known = lock(&own.attributes);
        let changed = context.nic.with(|engine| {
            let (pair, node) = engine.pair(own.number)?;
            let assumed = mask & attribute::CURRENT_STATE == 0
                || State::from_code(attr.cur_qp_state) == Some(pair.state);
            let state = match mask & attribute::STATE {
                0 => pair.state,
                _ => State::from_code(attr.qp_state)?,
            };
            let rules = if pair.datagrams { may_change_datagrams } else { may_change };
            let may = assumed && rules(pair.state, state, mask);
            // The kernel demands it of the first address.
            let port = (state == State::ReadyToReceive).then_some(known.port_num);
            if !may || !sound(config(), pair.device, attr, mask, port) {
                return None;
            }
            merge(&mut known, attr, mask);
            connect(config(), pair, &known);
            let tells = mask & attribute::DRAIN_NOTIFY != 0 && attr.en_sqd_async_notify != 0;
            enter(pair, node, state, tells);
            Some(state)
        });
        let Some(state) = changed else { return libc::EINVAL };
        own.state.store(state as c_int, Ordering::SeqCst);
        // SAFETY: the queue pair is there.
        unsafe { (*qp).state = state as c_int };
        0
    })
}
