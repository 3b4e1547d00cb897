//! Messages for calls and requests that failed, with hints.

use std::io;

use crate::rdma::{RdmaError, RdmaErrorKind, Request};

use super::ffi::{CallError, Failure, status_text};

/// The error for a failed call that concerns an object of a device.
pub fn call_failed(error: CallError, device: &str, object: &str) -> RdmaError {
    let CallError { call, errno } = error;
    let mut message = format!("{call} failed for {object} of {device}: {}", errno_text(errno));
    if let Some(hint) = call_hint(error) {
        message.push_str("; ");
        message.push_str(&hint);
    }
    let kind = match errno {
        libc::ENODEV => RdmaErrorKind::NoDevice,
        libc::EOPNOTSUPP | libc::ENOSYS => RdmaErrorKind::Unsupported,
        _ => RdmaErrorKind::Failed,
    };
    RdmaError::new(kind, message)
}

/// An error number in words: `Cannot allocate memory (errno 12)`.
pub fn errno_text(errno: i32) -> String {
    if errno == 0 {
        return "no reason given".to_owned();
    }
    let text = io::Error::from_raw_os_error(errno).to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    format!("{text} (errno {errno})")
}

fn call_hint(CallError { call, errno }: CallError) -> Option<String> {
    let hint = match (call, errno) {
        ("ibv_reg_mr", libc::ENOMEM) => return locked_limit(),
        ("ibv_open_device", libc::EPERM | libc::EACCES) => {
            "this user may not open /dev/infiniband/uverbs*; in a container, pass that folder in".to_owned()
        }
        ("ibv_open_device", libc::ENOENT) => {
            "is there /dev/infiniband/uverbs*? `modprobe ib_uverbs`; in a container, pass that folder in"
                .to_owned()
        }
        (_, libc::EPERM | libc::EACCES) => {
            "this user may not do that with the device; in a container, `--cap-add IPC_LOCK` may be missing"
                .to_owned()
        }
        (_, libc::ENODEV) => "the device went away: its driver was unloaded, or it was reset".to_owned(),
        ("ibv_create_qp" | "ibv_create_cq", libc::ENOMEM | libc::EINVAL)
        | ("ibv_create_qp_ex", libc::ENOMEM) => {
            "the device may have no more queue pairs, or none that deep".to_owned()
        }
        ("ibv_create_qp_ex", libc::EOPNOTSUPP | libc::ENOSYS | libc::EINVAL) => {
            "libibverbs and its provider must have flushes and atomic writes as well: Soft-RoCE's has both since \
             rdma-core 45"
                .to_owned()
        }
        ("ibv_modify_qp (to RTR)", libc::EINVAL | libc::ENETUNREACH | libc::ETIMEDOUT) => {
            "there may be no way from the chosen GID to the peer's: \
             do both ends use the same network, and GIDs of the same type?"
                .to_owned()
        }
        _ => return None,
    };
    Some(hint)
}

/// A hint about the limit of locked memory. Memory for a NIC must be locked.
fn locked_limit() -> Option<String> {
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let line = limits.lines().find_map(|line| line.strip_prefix("Max locked memory"))?;
    let bytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(format!(
        "memory for a NIC is locked, and this process may lock {bytes} bytes: raise `ulimit -l`, or \
         `memlock` in /etc/security/limits.conf"
    ))
}

/// The error for a request that completed with an error.
pub fn request_failed(
    failure: Failure,
    request: Option<&Request>,
    device: &str,
    queue_pair: u32,
) -> RdmaError {
    let what = request.map_or_else(|| "a request".to_owned(), ToString::to_string);
    failed(&format!("request {} ({what})", failure.id), failure, device, queue_pair)
}

/// The error for a receive that completed with an error.
pub fn receive_failed(failure: Failure, device: &str, queue_pair: u32) -> RdmaError {
    failed(&format!("receive {}", failure.id), failure, device, queue_pair)
}

fn failed(what: &str, failure: Failure, device: &str, queue_pair: u32) -> RdmaError {
    let Failure { status, vendor, .. } = failure;
    let mut message = format!(
        "{what} of queue pair {queue_pair} of {device} failed: {} (status {status}, vendor error {vendor:#x})",
        status_text(status)
    );
    if let Some(hint) = status_hint(status) {
        message.push_str("; ");
        message.push_str(hint);
    }
    RdmaError::new(RdmaErrorKind::Failed, message)
}

/// A hint for a status in `enum ibv_wc_status`.
fn status_hint(status: u32) -> Option<&'static str> {
    let hint = match status {
        1 => "the message is longer than the buffer of its receive",
        4 => "the local words are not registered for that",
        5 => "an earlier request of this queue pair failed, or the queue pair was taken down",
        9 => {
            "the other end refuses such a request: it may have no atomics, an address that is not a multiple \
             of 8, fewer reads under way than this end, or a receive whose buffer is too short"
        }
        10 => "the key or the address is not one that the other end has registered for that",
        12 => {
            "the other end does not answer: it ended, or a firewall drops UDP port 4791 (RoCE), or the GIDs do \
             not reach each other"
        }
        13 => "the other end has posted no receive for this message",
        _ => return None,
    };
    Some(hint)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rdma::RequestKind;

    #[test]
    fn a_call_that_failed() {
        let error = CallError { call: "ibv_open_device", errno: libc::EACCES };
        let error = call_failed(error, "mlx5_0", "the device");
        assert_eq!(error.kind, RdmaErrorKind::Failed);
        assert_eq!(
            error.message,
            "ibv_open_device failed for the device of mlx5_0: Permission denied (errno 13); this user may not open \
             /dev/infiniband/uverbs*; in a container, pass that folder in"
        );
        let gone = CallError { call: "ibv_post_send", errno: libc::ENODEV };
        assert_eq!(call_failed(gone, "rxe0", "queue pair 3").kind, RdmaErrorKind::NoDevice);
        let plain = CallError { call: "ibv_create_cq", errno: 0 };
        assert_eq!(
            call_failed(plain, "rxe0", "a new queue pair").message,
            "ibv_create_cq failed for a new queue pair of rxe0: no reason given"
        );
    }

    #[test]
    fn a_request_that_failed() {
        let kind = RequestKind::FetchAndAdd { addend: 1 };
        let remote = (0x1000, 0x12);
        let request = Request {
            kind,
            local: 5,
            words: 1,
            immediate: None,
            remote,
            fence: true,
            signaled: true,
            inline: false,
        };
        let failure = Failure { id: 7, status: 12, vendor: 0x81 };
        let message = request_failed(failure, Some(&request), "mlx5_0", 40).message;
        let start = "request 7 (fetch-and-add to 0x1000 by key 0x12, result to word 5, fence) of queue pair 40 of \
                     mlx5_0 failed: ";
        assert!(message.starts_with(start), "{message}");
        assert!(message.contains("(status 12, vendor error 0x81); the other end does not answer"));
    }
}
