//! Real RDMA: implements [`Device`], [`Region`](super::Region) and [`Endpoint`](super::Endpoint) with
//! libibverbs.
//!
//! The library is loaded when the program runs (or linked: feature `rdma-sys`), so the program starts
//! anywhere. [`list`] and [`open`] report what is missing: the library, the kernel's support, any device, or
//! the requested device.
//!
//! Puts are reliable-connection WRITEs that are not inline, every request is signaled, and the CPU copies
//! nothing on the NIC's behalf ([`prepare_environment`]). Anything else would test a weaker or a stronger
//! machine than the models describe.

mod absent;
mod choose;
mod describe;
mod endpoint;
mod errors;
mod ffi;

use std::sync::Arc;

use super::{Device, DeviceInfo, RdmaError, RdmaErrorKind, Selection};

use endpoint::VerbsDevice;
use ffi::{Context, DeviceList};

/// Prevents the CPU from doing the NIC's work. With the default of 1, mlx5 may put the result of a small read
/// or atomic into the completion, and `ibv_poll_cq` writes it to memory. That is a CPU write, and is ordered
/// as one.
const SCATTER_TO_CQE: &str = "MLX5_SCATTER_TO_CQE";

/// Sets environment variables for the drivers. Call this at the start of `main`: it does nothing once there
/// are other threads. [`open`] refuses an mlx5 device if this has not been done.
///
/// (`ibv_create_qp` has no other way to set this. mlx4 has no such setting.)
pub fn prepare_environment() {
    ffi::set_variable(SCATTER_TO_CQE, "0");
}

/// All devices in libibverbs's order, with their ports, and with the port and GID that are used by default. A
/// device that cannot be opened is listed by name, with the reason in [`DeviceInfo::trouble`].
///
/// # Errors
/// Fails if there is no library, or no device.
pub fn list() -> Result<Vec<DeviceInfo>, RdmaError> {
    let (devices, names) = devices()?;
    let info = |(index, name): (usize, &String)| match look(&devices, index, name) {
        Ok((context, mut info)) => {
            if let Err(error) = choose::port_and_gid(&mut info, &Selection::default()) {
                info.trouble = Some(error.message);
            } else {
                info.data_in_order = endpoint::data_in_order(context, &info);
            }
            info
        }
        Err(error) => {
            DeviceInfo { name: name.clone(), trouble: Some(error.message), ..DeviceInfo::default() }
        }
    };
    Ok(names.iter().enumerate().map(info).collect())
}

/// Opens a device.
///
/// # Errors
/// Fails if the library or the device is missing, or if the device cannot do what litmus needs.
pub fn open(selection: &Selection) -> Result<Arc<dyn Device>, RdmaError> {
    let (devices, names) = devices()?;
    if let Some(name) = &selection.device {
        let index = choose::by_name(name, &names)?;
        return open_device(&devices, index, name, selection);
    }
    let mut first_error = None;
    for (index, name) in names.iter().enumerate() {
        match open_device(&devices, index, name, selection) {
            Ok(device) => return Ok(device),
            Err(error) => {
                first_error.get_or_insert(error);
            }
        }
    }
    Err(first_error.unwrap_or_else(absent::no_device))
}

fn open_device(
    devices: &DeviceList,
    index: usize,
    name: &str,
    selection: &Selection,
) -> Result<Arc<dyn Device>, RdmaError> {
    let (context, mut info) = look(devices, index, name)?;
    choose::port_and_gid(&mut info, selection)?;
    if let Some(lack) = info.lacks_puts_and_gets() {
        return Err(RdmaError::new(
            RdmaErrorKind::Unsupported,
            format!("{name} cannot be used: {lack}"),
        ));
    }
    if info.driver.starts_with("mlx5") && std::env::var_os(SCATTER_TO_CQE).is_none_or(|v| v != "0")
    {
        return Err(RdmaError::new(
            RdmaErrorKind::Unsupported,
            format!(
                "{name} may answer reads through completions; set {SCATTER_TO_CQE}=0 in the environment"
            ),
        ));
    }
    info.data_in_order = endpoint::data_in_order(Arc::clone(&context), &info);
    Ok(Arc::new(VerbsDevice::new(context, info)?))
}

/// The list of devices and their names; there is at least one.
fn devices() -> Result<(DeviceList, Vec<String>), RdmaError> {
    let devices = DeviceList::get().map_err(absent::no_list)?;
    let names = devices.names();
    if names.is_empty() { Err(absent::no_device()) } else { Ok((devices, names)) }
}

fn look(
    devices: &DeviceList,
    index: usize,
    name: &str,
) -> Result<(Arc<Context>, DeviceInfo), RdmaError> {
    let failed = |error| errors::call_failed(error, name, "the device");
    let context = devices.open(index).map_err(failed)?;
    let info = describe::describe(name, &context).map_err(failed)?;
    Ok((context, info))
}
