//! This process: its memory, its threads, and the descriptors that it waits on.

use std::fs::File;
use std::io::{self, IoSlice, Write};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

use crate::engine::node::Memory;
use crate::ffi::cancel;
use crate::ffi::objects::guard;
use crate::ffi::unmapped::accessing;
use crate::spare::MOST_ROOM;

/// A counter that wakes threads which poll it (`eventfd`).
pub struct Bell(File);

impl Bell {
    /// A counter with value 0. If `one_by_one`, each read takes 1 from it; otherwise, each read takes all.
    ///
    /// # Errors
    /// Fails if too many files are open.
    pub fn new(one_by_one: bool) -> io::Result<Self> {
        let flags = libc::EFD_CLOEXEC | if one_by_one { libc::EFD_SEMAPHORE } else { 0 };
        // SAFETY: the call takes no pointers.
        let fd = unsafe { libc::eventfd(0, flags) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor is new, and nothing else owns it.
        Ok(Self(File::from(unsafe { OwnedFd::from_raw_fd(fd) })))
    }

    /// Adds 1, which wakes waiting threads.
    pub fn ring(&self) {
        // This fails only if the counter is full, and a full counter wakes threads anyway.
        let _ = (&self.0).write(&1_u64.to_ne_bytes());
    }

    /// Takes 1 away, if there is any.
    pub fn take_back(&self) {
        let mut count = [0_u8; 8];
        let place = libc::iovec { iov_base: count.as_mut_ptr().cast(), iov_len: count.len() };
        // The program decides whether reads of the descriptor wait. This one does not: another thread may be
        // faster.
        // SAFETY: the kernel writes 8 bytes into `count` at most.
        unsafe { libc::preadv2(self.fd(), &raw const place, 1, -1, libc::RWF_NOWAIT) };
    }

    /// See [`cancel::hear`].
    pub fn hear(&self) -> bool {
        cancel::hear(self.fd())
    }

    /// The descriptor to poll.
    pub fn fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

/// Waits until a descriptor can be read, can be written (if requested), or is closed. Returns which ones.
pub fn wait(fds: &[(RawFd, bool)], nanoseconds: Option<u64>) -> Vec<bool> {
    let entry = |&(fd, writes): &(RawFd, bool)| libc::pollfd {
        fd,
        events: libc::POLLIN | if writes { libc::POLLOUT } else { 0 },
        revents: 0,
    };
    let mut polled: Vec<libc::pollfd> = fds.iter().map(entry).collect();
    let time = nanoseconds.map(|total| libc::timespec {
        tv_sec: (total / 1_000_000_000) as libc::time_t,
        tv_nsec: (total % 1_000_000_000) as libc::c_long,
    });
    let timeout = time.as_ref().map_or(ptr::null(), ptr::from_ref);
    // SAFETY: the list and the time live during the call. A null time means forever, a null mask means none.
    let found = unsafe {
        libc::ppoll(polled.as_mut_ptr(), polled.len() as libc::nfds_t, timeout, ptr::null())
    };
    polled.iter().map(|entry| found > 0 && entry.revents != 0).collect()
}

/// Writes to the program's standard error: there is nobody else to tell.
pub fn say(text: &str) {
    // SAFETY: the kernel reads as many bytes as the text has.
    unsafe { libc::write(libc::STDERR_FILENO, text.as_ptr().cast(), text.len()) };
}

/// Has [`finish`](crate::nic::finish) called when the program ends by itself.
pub fn finish_at_exit() {
    extern "C" fn finish() {
        guard(|| (), crate::nic::finish);
    }
    // SAFETY: the function may be called at any time.
    unsafe { libc::atexit(finish) };
}

/// Prepares the calling thread for the NIC's work: it may run on all cores, whatever its parent was pinned
/// to, and it leaves signals to the program, but for its own faults.
pub fn become_nic_thread() {
    // SAFETY: both sets are plain memory of the right size, filled before they are used.
    unsafe {
        let mut cores: libc::cpu_set_t = std::mem::zeroed();
        for core in 0..libc::CPU_SETSIZE as usize {
            libc::CPU_SET(core, &mut cores);
        }
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &cores);
        let mut signals: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&mut signals);
        // A thread that faults with the signal blocked ends the program, whatever handler there is.
        libc::sigdelset(&mut signals, libc::SIGSEGV);
        libc::sigdelset(&mut signals, libc::SIGBUS);
        libc::pthread_sigmask(libc::SIG_BLOCK, &signals, ptr::null_mut());
        // Makes sleeps end on time, not up to 50 us later.
        libc::prctl(libc::PR_SET_TIMERSLACK, 1_000);
    }
}

/// Appends what a socket has, at most `most` bytes. Returns how many; 0: it has ended.
///
/// # Errors
/// Those of `read`. Nothing is there: [`io::ErrorKind::WouldBlock`], if the socket was made non-blocking.
pub fn read_into(socket: BorrowedFd<'_>, into: &mut Vec<u8>, most: usize) -> io::Result<usize> {
    into.reserve(most.min(MOST_ROOM));
    let room = into.spare_capacity_mut();
    let length = most.min(room.len());
    let room = &mut room[..length];
    // SAFETY: the kernel writes at most `room.len()` bytes into `room`, which need no value before.
    let count = unsafe { libc::read(socket.as_raw_fd(), room.as_mut_ptr().cast(), room.len()) };
    let count = usize::try_from(count).map_err(|_| io::Error::last_os_error())?;
    // SAFETY: the kernel has written these.
    unsafe { into.set_len(into.len() + count) };
    Ok(count)
}

/// Writes some of these pieces to a socket. Returns how many bytes. If its other end is gone, that is an
/// error, and no signal: the calling thread may be one of the program.
///
/// # Errors
/// Those of `sendmsg`. There is no room: [`io::ErrorKind::WouldBlock`], if the socket was made non-blocking.
pub fn write_from(socket: BorrowedFd<'_>, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
    // SAFETY: all of it may be zero: null pointers and integers.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = pieces.as_ptr().cast_mut().cast();
    message.msg_iovlen = pieces.len();
    // SAFETY: `IoSlice` is an `iovec`. The pieces live during the call, which only reads them.
    let count = unsafe { libc::sendmsg(socket.as_raw_fd(), &message, libc::MSG_NOSIGNAL) };
    usize::try_from(count).map_err(|_| io::Error::last_os_error())
}

/// Whether the other end of a local socket belongs to the user of this process.
pub fn same_user(socket: BorrowedFd<'_>) -> bool {
    let mut peer = libc::ucred { pid: 0, uid: u32::MAX, gid: u32::MAX };
    let mut length = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes into `peer`, which has as many.
    let code = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            ptr::from_mut(&mut peer).cast(),
            &mut length,
        )
    };
    // SAFETY: the call has no arguments and cannot fail.
    code == 0 && peer.uid == unsafe { libc::geteuid() }
}

/// The size of a page in bytes.
pub fn page_size() -> u64 {
    // SAFETY: the call takes no pointer.
    unsafe { libc::sysconf(libc::_SC_PAGESIZE) as u64 }
}

/// Whether a whole range is mapped, and writable if requested.
pub fn mapped(start: u64, length: u64, writes: bool) -> bool {
    let Some(end) = start.checked_add(length) else { return false };
    let Ok(maps) = std::fs::read_to_string("/proc/self/maps") else {
        return is_there(start, end);
    };
    let mut reached = start;
    for line in maps.lines() {
        let mut words = line.split_ascii_whitespace();
        let range = words.next().and_then(|range| range.split_once('-'));
        let parse = |text| u64::from_str_radix(text, 16).ok();
        let Some((from, to)) = range.and_then(|(from, to)| Some((parse(from)?, parse(to)?))) else {
            continue;
        };
        let rights = words.next().unwrap_or("");
        let usable = rights.starts_with('r') && (!writes || rights[1..].starts_with('w'));
        if to <= reached || !usable {
            continue;
        }
        if from > reached {
            return false;
        }
        reached = to;
        if reached >= end {
            return true;
        }
    }
    reached >= end
}

/// Whether a whole range is mapped, with whatever rights. It needs no file, of which too many may be open.
fn is_there(start: u64, end: u64) -> bool {
    let mut pages = [0_u8; 256];
    let step = pages.len() * page_size() as usize;
    let mut at = (start - start % page_size()) as usize;
    while at < end as usize {
        let length = step.min(end as usize - at);
        // SAFETY: it accesses nothing there, and there is a byte for each page.
        let code =
            unsafe { libc::mincore(ptr::without_provenance_mut(at), length, pages.as_mut_ptr()) };
        if code != 0 {
            return false;
        }
        at += length;
    }
    true
}

/// The memory of this process. Callers have checked a key before each access, so the program has registered
/// the memory.
pub struct HostMemory;

/// The largest access size that is aligned at the address and fits into the rest.
fn unit(address: u64, left: usize) -> usize {
    let fits = |size: &usize| left >= *size && address.is_multiple_of(*size as u64);
    [8, 4, 2].into_iter().find(fits).unwrap_or(1)
}

impl Memory for HostMemory {
    fn read(&mut self, host: u64, out: &mut [u8]) {
        accessing(host, out.len(), || read(host, out));
    }

    fn write(&mut self, host: u64, bytes: &[u8]) {
        accessing(host, bytes.len(), || write(host, bytes));
    }
}

fn read(host: u64, out: &mut [u8]) {
    let mut at = 0;
    if host.is_multiple_of(8) {
        for (index, chunk) in out.chunks_exact_mut(8).enumerate() {
            let place = (host as usize + 8 * index) as *mut u64;
            // SAFETY: as below.
            let word = unsafe { AtomicU64::from_ptr(place).load(Ordering::Acquire) };
            chunk.copy_from_slice(&word.to_le_bytes());
        }
        at = out.len() & !7;
    }
    while at < out.len() {
        let address = host + at as u64;
        let size = unit(address, out.len() - at);
        let place = address as *mut u8;
        // SAFETY: the address is in a registered region, so the program has had it mapped. If it no longer
        // is, the access faults (see `unmapped`). It is aligned for the size. The program's CPUs may access
        // it too, as they may with a real NIC.
        let word = unsafe {
            match size {
                8 => AtomicU64::from_ptr(place.cast()).load(Ordering::Acquire),
                4 => u64::from(AtomicU32::from_ptr(place.cast()).load(Ordering::Acquire)),
                2 => u64::from(AtomicU16::from_ptr(place.cast()).load(Ordering::Acquire)),
                _ => u64::from(AtomicU8::from_ptr(place).load(Ordering::Acquire)),
            }
        };
        out[at..at + size].copy_from_slice(&word.to_le_bytes()[..size]);
        at += size;
    }
}

fn write(host: u64, bytes: &[u8]) {
    let mut at = 0;
    if host.is_multiple_of(8) {
        let (words, _) = bytes.as_chunks::<8>();
        for (index, word) in words.iter().enumerate() {
            let place = (host as usize + 8 * index) as *mut u64;
            // SAFETY: as below.
            unsafe {
                AtomicU64::from_ptr(place).store(u64::from_le_bytes(*word), Ordering::Release);
            }
        }
        at = 8 * words.len();
    }
    while at < bytes.len() {
        let address = host + at as u64;
        let size = unit(address, bytes.len() - at);
        let mut word = [0; 8];
        word[..size].copy_from_slice(&bytes[at..at + size]);
        let word = u64::from_le_bytes(word);
        let place = address as *mut u8;
        // SAFETY: as for reading, and the region was registered for writing.
        unsafe {
            match size {
                8 => AtomicU64::from_ptr(place.cast()).store(word, Ordering::Release),
                4 => AtomicU32::from_ptr(place.cast()).store(word as u32, Ordering::Release),
                2 => AtomicU16::from_ptr(place.cast()).store(word as u16, Ordering::Release),
                _ => AtomicU8::from_ptr(place).store(word as u8, Ordering::Release),
            }
        }
        at += size;
    }
}

#[cfg(test)]
mod tests {
    use super::{Bell, HostMemory, is_there, mapped, unit, wait};
    use crate::engine::node::Memory;

    #[test]
    fn bytes_are_copied_in_the_largest_units_that_are_aligned() {
        assert_eq!(
            (unit(16, 8), unit(16, 7), unit(20, 8), unit(18, 8), unit(17, 8)),
            (8, 4, 4, 2, 1)
        );
        let mut words = [0_u64; 8];
        let base = words.as_mut_ptr() as u64;
        let bytes: Vec<u8> = (1..=41).collect();
        HostMemory.write(base + 3, &bytes);
        let mut back = vec![0; 41];
        HostMemory.read(base + 3, &mut back);
        assert_eq!(back, bytes);
        assert_eq!(words[0].to_le_bytes(), [0, 0, 0, 1, 2, 3, 4, 5]);
        assert_eq!(words[5].to_le_bytes(), [38, 39, 40, 41, 0, 0, 0, 0]);
    }

    #[test]
    fn memory_that_is_not_there_is_seen() {
        let words = [0_u64; 4];
        let start = words.as_ptr() as u64;
        assert!(mapped(start, 32, true) && is_there(start, start + 32));
        assert!(!mapped(8, 8, false) && !mapped(u64::MAX - 3, 8, false) && !is_there(8, 16));
        assert!(!mapped(b"constant".as_ptr() as u64, 8, true), "it can only be read");
    }

    #[test]
    fn a_bell_wakes() {
        let bell = Bell::new(false).expect("there are descriptors");
        assert_eq!(wait(&[(bell.fd(), false)], Some(0)), [false]);
        bell.ring();
        assert_eq!(wait(&[(bell.fd(), false)], None), [true]);
        assert!(bell.hear(), "it rang");
        assert_eq!(wait(&[(bell.fd(), false)], Some(1000)), [false]);
    }
}
