//! In place of `verbs` and `ofi` where neither of its features is chosen, as on systems without libibverbs:
//! every device is missing, with the reason.

use std::sync::Arc;

use super::{Device, DeviceInfo, FabricInfo, Provider, RdmaError, RdmaErrorKind, Selection};

/// Nothing: there are no drivers.
pub fn prepare_environment() {}

/// No device.
///
/// # Errors
/// Always.
pub fn list() -> Result<Vec<DeviceInfo>, RdmaError> {
    Err(missing())
}

/// No device.
///
/// # Errors
/// Always.
pub fn list_as(_: &Provider) -> Result<Vec<DeviceInfo>, RdmaError> {
    Err(missing())
}

/// No device.
///
/// # Errors
/// Always.
pub fn open(_: &Selection) -> Result<Arc<dyn Device>, RdmaError> {
    Err(missing())
}

/// Nothing: there are no providers.
pub fn lacks(_: &str, _: &FabricInfo) -> Vec<String> {
    Vec::new()
}

fn missing() -> RdmaError {
    RdmaError::new(
        RdmaErrorKind::NoLibrary,
        "this litmus was built without libibverbs and libfabric (the feature `dlopen`), which only Linux has",
    )
}
