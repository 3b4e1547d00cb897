//! Memory that the program takes away while it is registered: it unmaps it, as `free` does with long blocks,
//! protects it, or shortens its file. A real NIC has its pages pinned, and goes on with them, which nobody
//! sees. Here an access faults. So a page of zeros is put where none is, a page that is protected becomes
//! accessible, and the access goes on.

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

/// The signals of faults, and what the program did about each before.
static FAULTS: [(c_int, OnceLock<libc::sigaction>); 2] =
    [(libc::SIGSEGV, OnceLock::new()), (libc::SIGBUS, OnceLock::new())];

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
    ONCE.call_once(|| FAULTS.iter().for_each(|(signal, known)| handle(*signal, known)));
}

fn handle(signal: c_int, known: &OnceLock<libc::sigaction>) {
    let mut before = MaybeUninit::uninit();
    // SAFETY: it only asks, and `before` has room.
    if unsafe { libc::sigaction(signal, ptr::null(), before.as_mut_ptr()) } != 0 {
        return;
    }
    // SAFETY: the call has written it.
    let _ = known.set(unsafe { before.assume_init() });
    // SAFETY: all of it may be zero: no flags, an empty mask.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = on_fault as extern "C" fn(_, _, _) as usize;
    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
    // SAFETY: the handler calls only what a handler of these signals may call.
    unsafe { libc::sigaction(signal, &action, ptr::null_mut()) };
}

/// What is wrong with a page.
#[derive(Clone, Copy)]
enum Wrong {
    Unmapped,
    Protected,
    /// Its file is shorter than that.
    BehindFile,
}

impl Wrong {
    /// What a signal says. `None`: it was sent, or is about something else.
    fn of(signal: c_int, code: c_int) -> Option<Self> {
        const SEGV_MAPERR: c_int = 1;
        const SEGV_ACCERR: c_int = 2;
        const BUS_ADRERR: c_int = 2;
        match (signal, code) {
            (libc::SIGSEGV, SEGV_MAPERR) => Some(Self::Unmapped),
            (libc::SIGSEGV, SEGV_ACCERR) => Some(Self::Protected),
            (libc::SIGBUS, BUS_ADRERR) => Some(Self::BehindFile),
            _ => None,
        }
    }
}

extern "C" fn on_fault(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel gives it to a handler with `SA_SIGINFO`.
    let code = unsafe { (*info).si_code };
    if let Some(wrong) = Wrong::of(signal, code)
        && BY.load(Ordering::Relaxed) == this_thread()
    {
        // SAFETY: signals with these codes are of faults, which have an address.
        let address = unsafe { (*info).si_addr() as u64 };
        let [start, end] = [0, 1].map(|index| ACCESSED[index].load(Ordering::Relaxed));
        if (start..end).contains(&address) && mend(address, wrong) {
            return;
        }
    }
    as_before(signal, info, context);
}

/// Makes a page accessible. Whether the access may be tried again.
fn mend(address: u64, wrong: Wrong) -> bool {
    static SAID: AtomicBool = AtomicBool::new(false);
    let size = page_size();
    let page = address - address % size;
    let at = ptr::with_exposed_provenance_mut::<c_void>(page as usize);
    let (is_mended, what) = match wrong {
        Wrong::Unmapped => (put_page(at, size), "unmapped"),
        Wrong::Protected => (unprotect(at, size), "protected"),
        Wrong::BehindFile => {
            (replace_page(at, size), "without its page (a shorter file, or a full one)")
        }
    };
    if is_mended && !SAID.swap(true, Ordering::Relaxed) {
        say("litmus nic: memory was ");
        say(what);
        say(" before it was deregistered (ibv_dereg_mr)\n");
    }
    is_mended
}

const RIGHTS: c_int = libc::PROT_READ | libc::PROT_WRITE;
const OWN: c_int = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;

/// Makes a page accessible. A program with its own handler protects pages to know who accesses them: it gets
/// the signal.
fn unprotect(page: *mut c_void, size: u64) -> bool {
    let before = before(libc::SIGSEGV).map_or(libc::SIG_DFL, |before| before.sa_sigaction);
    // SAFETY: the memory is registered, and its page only becomes more accessible.
    let may = |rights| unsafe { libc::mprotect(page, size as usize, rights) == 0 };
    [libc::SIG_DFL, libc::SIG_IGN].contains(&before) && (may(RIGHTS) || may(libc::PROT_READ))
}

/// Maps a page of zeros in the place of one that cannot be accessed by anybody.
fn replace_page(page: *mut c_void, size: u64) -> bool {
    let flags = OWN | libc::MAP_FIXED;
    // SAFETY: the page has no content.
    unsafe { libc::mmap(page, size as usize, RIGHTS, flags, -1, 0) == page }
}

/// Maps a page where none is.
fn put_page(at: *mut c_void, size: u64) -> bool {
    static LAST: AtomicUsize = AtomicUsize::new(0);
    let flags = OWN | libc::MAP_FIXED_NOREPLACE;
    // SAFETY: no page that is there is replaced.
    let found = unsafe { libc::mmap(at, size as usize, RIGHTS, flags, -1, 0) };
    if found == libc::MAP_FAILED {
        // Something is there. If it was mapped meanwhile, the access succeeds; and if not, it faults again.
        let is_there = Error::last_os_error().raw_os_error() == Some(libc::EEXIST);
        return is_there && LAST.swap(at.addr(), Ordering::Relaxed) != at.addr();
    }
    if found != at {
        // SAFETY: an old kernel has put the page elsewhere, where nothing else is.
        unsafe { libc::munmap(found, size as usize) };
        return false;
    }
    true
}

/// What the program did about a signal before.
fn before(signal: c_int) -> Option<&'static libc::sigaction> {
    FAULTS.iter().find(|(known, _)| *known == signal)?.1.get()
}

/// Does about a signal what the program did before.
fn as_before(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    type Plain = extern "C" fn(c_int);
    type Informed = extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);
    let Some(before) = before(signal) else { return };
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
