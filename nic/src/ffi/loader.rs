//! Programs that open libibverbs by themselves get this library. The loader knows it by `libibverbs.so.1`. By
//! another name, or by a path, it would load the machine's library beside it, and functions would mix.

use std::arch::naked_asm;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::mem::MaybeUninit;

/// Whether a path is that of the machine's libibverbs.
fn is_verbs(path: &[u8]) -> bool {
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    name.strip_prefix(b"libibverbs.so").is_some_and(|rest| rest.is_empty() || rest[0] == b'.')
}

/// The path to open in the place of this one.
unsafe extern "C" fn stands_for(path: *const c_char) -> *const c_char {
    // SAFETY: by C's contract, it is null or a text that ends with 0.
    let is_verbs = !path.is_null() && is_verbs(unsafe { CStr::from_ptr(path) }.to_bytes());
    let mut own = MaybeUninit::<libc::Dl_info>::uninit();
    // SAFETY: the address is of this library, and `own` has room.
    if is_verbs && unsafe { libc::dladdr(stands_for as *const c_void, own.as_mut_ptr()) } != 0 {
        // SAFETY: the call has written it, and the library stays loaded.
        return unsafe { own.assume_init() }.dli_fname;
    }
    path
}

/// The system's function.
unsafe extern "C" fn system() -> *mut c_void {
    // SAFETY: the name ends with 0.
    unsafe { libc::dlsym(libc::RTLD_NEXT, c"dlopen".as_ptr()) }
}

/// `dlopen`. The system's function searches in the paths of its caller, which it finds by the return address.
/// So this jumps there, and does not call it.
///
/// # Safety
/// As for C's function.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlopen(path: *const c_char, flags: c_int) -> *mut c_void {
    naked_asm!(
        "push rdi",
        "push rsi",
        "sub rsp, 8",
        "call {stands_for}",
        "mov [rsp], rax",
        "call {system}",
        "pop rdi",
        "pop rsi",
        "add rsp, 8",
        "jmp rax",
        stands_for = sym stands_for,
        system = sym system,
    )
}

#[cfg(test)]
mod tests {
    use super::is_verbs;

    #[test]
    fn only_libibverbs_is_replaced() {
        for path in ["libibverbs.so", "libibverbs.so.1", "/usr/lib/libibverbs.so.1.14.44.0"] {
            assert!(is_verbs(path.as_bytes()), "{path}");
        }
        for path in ["libibverbs.soup", "libibverbs-x.so", "libmlx5.so.1", "/libibverbs.so/a", ""] {
            assert!(!is_verbs(path.as_bytes()), "{path}");
        }
    }
}
