//! Messages for machines without RDMA: which part is missing, and how to get it.

use std::fs;
use std::path::Path;

use crate::rdma::{RdmaError, RdmaErrorKind};

use super::choose::missing;
use super::describe::SYSFS;
use super::errors::errno_text;
use super::ffi::CallError;

/// The RDMA drivers of PCI vendors that also make network cards.
const DRIVERS: [(&str, &str); 5] = [
    ("0x15b3", "mlx5_ib"),
    ("0x14e4", "bnxt_re"),
    ("0x8086", "irdma"),
    ("0x1077", "qedr"),
    ("0x1425", "iw_cxgb4"),
];

/// The error if there is no list of devices. Without the library, the bindings that load it at run time give
/// EOPNOTSUPP. If only the kernel's support is missing, the library gives ENOSYS.
pub fn no_list(error: CallError) -> RdmaError {
    match error.errno {
        libc::EOPNOTSUPP => RdmaError::new(
            RdmaErrorKind::NoLibrary,
            "libibverbs is not installed; on Debian and Ubuntu: `apt-get install libibverbs1 ibverbs-providers`, \
             on Fedora and RHEL: `dnf install libibverbs`",
        ),
        libc::ENOSYS | libc::ENODEV => no_device(),
        errno => RdmaError::new(
            RdmaErrorKind::Failed,
            format!("{} failed: {}", error.call, errno_text(errno)),
        ),
    }
}

/// The error if the library is there, but finds no device.
pub fn no_device() -> RdmaError {
    missing(explain(&names(Path::new(SYSFS)), &network_vendors(Path::new("/sys/bus/pci/devices"))))
}

fn explain(kernel: &[String], vendors: &[String]) -> String {
    if !kernel.is_empty() {
        let kernel = kernel.join(", ");
        return format!(
            "no RDMA device: the kernel has {kernel}, but libibverbs cannot use it; `modprobe ib_uverbs`, and \
             on Debian and Ubuntu `apt-get install ibverbs-providers`"
        );
    }
    let driver = DRIVERS.iter().find(|(id, _)| vendors.iter().any(|vendor| vendor == id));
    let load = match driver {
        Some((_, driver)) => {
            format!("this machine has a network card that may be one: `modprobe {driver}`")
        }
        None => "with a card, load its driver (`modprobe mlx5_ib`, …)".to_owned(),
    };
    format!(
        "no RDMA device: the kernel has none; {load}; without one, use Soft-RoCE: `modprobe rdma_rxe && \
         rdma link add rxe0 type rxe netdev eth0`"
    )
}

/// The vendors of all PCI network controllers.
fn network_vendors(folder: &Path) -> Vec<String> {
    let read = |device: &str, file: &str| {
        fs::read_to_string(folder.join(device).join(file)).unwrap_or_default().trim().to_owned()
    };
    let devices = names(folder).into_iter();
    let network = devices.filter(|device| read(device, "class").starts_with("0x02"));
    network.map(|device| read(&device, "vendor")).collect()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_lack_is_told_apart() {
        let error = |errno| no_list(CallError { call: "ibv_get_device_list", errno });
        let library = error(libc::EOPNOTSUPP);
        assert_eq!(library.kind, RdmaErrorKind::NoLibrary);
        assert!(library.message.contains("apt-get install libibverbs1"), "{library}");
        assert_eq!(error(libc::ENOSYS).kind, RdmaErrorKind::NoDevice);
        let other = error(libc::ENOMEM);
        assert_eq!(other.kind, RdmaErrorKind::Failed);
        assert_eq!(other.message, "ibv_get_device_list failed: Cannot allocate memory (errno 12)");
    }

    #[test]
    fn what_to_do_depends_on_what_is_there() {
        let texts = |list: &[&str]| list.iter().map(ToString::to_string).collect::<Vec<_>>();
        let explain = |kernel: &[&str], vendors: &[&str]| explain(&texts(kernel), &texts(vendors));
        assert!(explain(&["rxe0"], &[]).contains("the kernel has rxe0, but libibverbs cannot"));
        assert!(explain(&[], &["0x1af4", "0x14e4"]).contains("`modprobe bnxt_re`"));
        assert!(explain(&[], &["0x1af4"]).contains("rdma link add rxe0 type rxe"));
    }
}
