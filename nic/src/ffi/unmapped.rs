//! Memory that the program unmaps while it is registered, as `free` does with long blocks. A real NIC has its
//! pages pinned, and goes on with them, which nobody sees. Here an access faults. So a page of zeros is put
//! where none is, and the access goes on.

use std::ffi::{c_int, c_void};
use std::io::Error;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering, compiler_fence};
use std::sync::{Once, OnceLock};

use super::host::{page_size, say};

/// What the NIC accesses at the moment: the first address, and the one after the last. Only one thread at a
/// time works for the NIC.
static ACCESSED: [AtomicU64; 2] = [AtomicU64::new(0), AtomicU64::new(0)];

/// The thread that accesses it; 0: none.
static BY: AtomicUsize = AtomicUsize::new(0);

/// What the program did about faults before.
static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();

/// What tells threads apart, also in a handler of signals.
fn this_thread() -> usize {
    // SAFETY: the call takes nothing, and always has a result.
    unsafe { libc::__errno_location() }.addr()
}

/// Runs an access to memory of the program, which may not be mapped.
pub fn accessing<T>(host: u64, length: usize, access: impl FnOnce() -> T) -> T {
    ACCESSED[0].store(host, Ordering::Relaxed);
    ACCESSED[1].store(host.saturating_add(length as u64), Ordering::Relaxed);
    // Handlers of other threads look at `BY` first, and that of this one sees all in order.
    compiler_fence(Ordering::SeqCst);
    BY.store(this_thread(), Ordering::Relaxed);
    compiler_fence(Ordering::SeqCst);
    let result = access();
    compiler_fence(Ordering::SeqCst);
    BY.store(0, Ordering::Relaxed);
    result
}

/// Has faults of [`accessing`] handled from now on. A handler that the program installs later takes its
/// place.
pub fn handle_faults() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let mut before = MaybeUninit::uninit();
        // SAFETY: it only asks, and `before` has room.
        if unsafe { libc::sigaction(libc::SIGSEGV, ptr::null(), before.as_mut_ptr()) } != 0 {
            return;
        }
        // SAFETY: the call has written it.
        let _ = BEFORE.set(unsafe { before.assume_init() });
        // SAFETY: all of it may be zero: no flags, an empty mask.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        action.sa_sigaction = on_fault as extern "C" fn(_, _, _) as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        // SAFETY: the handler calls only what a handler of this signal may call.
        unsafe { libc::sigaction(libc::SIGSEGV, &action, ptr::null_mut()) };
    });
}

extern "C" fn on_fault(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    /// Nothing is mapped at the address.
    const SEGV_MAPERR: c_int = 1;
    // SAFETY: the kernel gives it to a handler with `SA_SIGINFO`.
    let code = unsafe { (*info).si_code };
    if code == SEGV_MAPERR && BY.load(Ordering::Relaxed) == this_thread() {
        // SAFETY: signals with this code are of faults, which have an address.
        let address = unsafe { (*info).si_addr() as u64 };
        let [start, end] = [0, 1].map(|index| ACCESSED[index].load(Ordering::Relaxed));
        if (start..end).contains(&address) && put_page(address) {
            return;
        }
    }
    as_before(signal, info, context);
}

/// Maps a page where none is. Whether the access may be tried again.
fn put_page(address: u64) -> bool {
    static SAID: AtomicBool = AtomicBool::new(false);
    static LAST: AtomicU64 = AtomicU64::new(0);
    let size = page_size();
    let page = address - address % size;
    let at = ptr::with_exposed_provenance_mut::<c_void>(page as usize);
    let rights = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE;
    // SAFETY: no page that is there is replaced.
    let found = unsafe { libc::mmap(at, size as usize, rights, flags, -1, 0) };
    if found == libc::MAP_FAILED {
        // Something is there. If it was mapped meanwhile, the access succeeds; and if not, it faults again.
        let is_there = Error::last_os_error().raw_os_error() == Some(libc::EEXIST);
        return is_there && LAST.swap(page, Ordering::Relaxed) != page;
    }
    if found != at {
        // SAFETY: an old kernel has put the page elsewhere, where nothing else is.
        unsafe { libc::munmap(found, size as usize) };
        return false;
    }
    if !SAID.swap(true, Ordering::Relaxed) {
        say("litmus nic: memory was unmapped before it was deregistered (ibv_dereg_mr)\n");
    }
    true
}

/// Does about a signal what the program did before.
fn as_before(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    type Plain = extern "C" fn(c_int);
    type Informed = extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);
    let Some(before) = BEFORE.get() else { return };
    // SAFETY: as in `on_fault`.
    let is_sent = unsafe { (*info).si_code } <= 0;
    match before.sa_sigaction {
        libc::SIG_IGN if is_sent => {}
        libc::SIG_DFL | libc::SIG_IGN => {
            // SAFETY: all of it may be zero, which is the default action. A fault comes again when the
            // handler returns, and a signal that was sent is sent again.
            unsafe {
                libc::sigaction(signal, &std::mem::zeroed(), ptr::null_mut());
                if is_sent {
                    libc::raise(signal);
                }
            }
        }
        handler if before.sa_flags & libc::SA_SIGINFO != 0 => {
            // SAFETY: the program has installed it with this type.
            unsafe { std::mem::transmute::<usize, Informed>(handler)(signal, info, context) }
        }
        // SAFETY: as above.
        handler => unsafe { std::mem::transmute::<usize, Plain>(handler)(signal) },
    }
}
