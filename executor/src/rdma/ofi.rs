//! libfabric: implements [`Device`], [`Region`](super::Region) and [`Endpoint`](super::Endpoint) with
//! reliable datagram endpoints (`FI_EP_RDM`), whose requests are one-sided operations and atomics.
//!
//! The library is loaded when the program runs, so the program starts anywhere. A queue pair is an endpoint
//! of its own, with a completion queue of its own, and one peer.

mod describe;
mod endpoint;
mod ffi;
mod promise;

use std::sync::Arc;

use super::{
    Device, DeviceInfo, FabricInfo, Interface, Provider, RdmaError, RdmaErrorKind, Selection,
};

use endpoint::OfiDevice;
use ffi::{CallError, Info, Library, Wish};
use promise::{Promise, has_broken_atomics};

/// All domains of all providers that can do one-sided operations, or of one, in libfabric's order.
///
/// # Errors
/// Fails if there is no library, or no provider.
pub fn list_as(asked: &Provider) -> Result<Vec<DeviceInfo>, RdmaError> {
    let library = library()?;
    let mut found: Vec<DeviceInfo> = Vec::new();
    let wish = Wish { provider: asked.name.clone(), ..Wish::default() };
    for info in
        library.infos(&wish).map_err(|error| nothing(library, error, asked.name.as_deref()))?
    {
        let attributes = info.attributes();
        let (provider, domain) = (attributes.provider, attributes.domain);
        if found.iter().any(|known| known.driver == provider && known.name == domain) {
            continue;
        }
        let provider = Provider { name: Some(provider), ..asked.clone() };
        if let Ok((info, asked)) = choose(library, &provider, Some(&domain)) {
            found.push(describe::describe(library, &info.attributes(), asked, provider.completion));
        }
    }
    Ok(found)
}

/// Opens a provider's domain.
///
/// # Errors
/// Fails if the library or the provider is missing, or if it cannot be opened.
pub fn open(selection: &Selection) -> Result<Arc<dyn Device>, RdmaError> {
    let library = library()?;
    let asked = match &selection.interface {
        Interface::Verbs => Provider::default(),
        Interface::Ofi(provider) => provider.clone(),
    };
    let (info, orders) = choose(library, &asked, selection.device.as_deref())?;
    let info_of = describe::describe(library, &info.attributes(), orders, asked.completion);
    Ok(Arc::new(OfiDevice::new(library, info, info_of)?))
}

/// The orders that a shipped model of libfabric needs, and that a provider does not give. Nothing of other
/// models.
pub fn lacks(model: &str, fabric: &FabricInfo) -> Vec<String> {
    let sizes = fabric.data_order.map(|size| usize::try_from(size).unwrap_or(usize::MAX));
    let lacks = |promise: Promise| promise.lacks(promise::bits(&fabric.received), sizes);
    promise::names(Promise::of_model(model).map_or(0, lacks))
}

fn library() -> Result<&'static Library, RdmaError> {
    Library::get().map_err(|why| {
        RdmaError::new(
            RdmaErrorKind::NoLibrary,
            format!(
                "libfabric cannot be used: {why}; on Debian and Ubuntu: `apt-get install libfabric1`, on \
                 Fedora and RHEL: `dnf install libfabric`"
            ),
        )
    })
}

/// The best that fits, with what it was asked for: with `FI_FENCE` if it has that, and with the orders that
/// its model needs, of requests that are sent and received. A provider may not know all of them for both.
///
/// Atomics may cost orders (ofi_rxm), or the process (ofi_rxd). So they are asked for only if the model is
/// the same with them, or if they are wanted.
fn choose(
    library: &'static Library,
    asked: &Provider,
    domain: Option<&str>,
) -> Result<(Info, [u64; 2]), RdmaError> {
    let plain =
        Wish { provider: asked.name.clone(), domain: domain.map(str::to_owned), ..Wish::default() };
    let failed = |error| match domain {
        Some(domain) if library.infos(&Wish { domain: None, ..plain.clone() }).is_ok() => {
            let whose = asked.name.as_ref().map_or_else(String::new, |name| format!(" of {name}"));
            let what = format!(
                "libfabric has no domain{whose} that is named {domain} and has reliable datagrams"
            );
            RdmaError::new(RdmaErrorKind::NoDevice, format!("{what}; {LISTS}"))
        }
        _ => nothing(library, error, asked.name.as_deref()),
    };
    let own = first(library, &plain).map_err(failed)?.attributes();
    // Later questions are about the same one.
    let plain = Wish { provider: Some(own.provider.clone()), domain: Some(own.domain), ..plain };
    let promise = Promise::of(&own.provider);
    let order = promise.order;
    let with = |atomics| {
        [true, false].into_iter().find_map(|fence| {
            [[order, order], [0, order], [0, 0]].into_iter().find_map(|order| {
                let wish = Wish { atomics, fence, order, ..plain.clone() };
                first(library, &wish).ok().map(|info| (info, order))
            })
        })
    };
    let is_good = |(info, _): &(Info, [u64; 2])| {
        let is_same = describe::promise(&info.attributes()).model == promise.model;
        asked.atomics || is_same && !has_broken_atomics(&own.provider)
    };
    let chosen = with(true).filter(is_good).or_else(|| with(false));
    match chosen {
        Some(chosen) => Ok(chosen),
        None => Ok((first(library, &plain).map_err(failed)?, [0, 0])),
    }
}

/// The best that fits. Some providers do not look at the domain's name (ofi_rxm, sockets).
fn first(library: &'static Library, wish: &Wish) -> Result<Info, CallError> {
    let none = CallError { call: "fi_getinfo", errno: libc::ENODATA };
    let is_wanted = |info: &Info| match &wish.domain {
        Some(name) => info.attributes().domain == *name,
        None => true,
    };
    library.infos(wish)?.into_iter().find(is_wanted).ok_or(none)
}

const LISTS: &str =
    "`litmus devices --backend ofi` and `fi_info -t FI_EP_RDM -c FI_RMA` list what has";

/// Why there is no provider.
fn nothing(library: &Library, error: CallError, provider: Option<&str>) -> RdmaError {
    let CallError { call, errno } = error;
    if errno != libc::ENODATA {
        let why = library.error_text(errno);
        return RdmaError::new(RdmaErrorKind::Failed, format!("{call} failed: {why}"));
    }
    let what = match provider {
        Some(name) => format!("libfabric's provider {name} has no"),
        None => "no provider of libfabric has".to_owned(),
    };
    RdmaError::new(
        RdmaErrorKind::NoDevice,
        format!("{what} reliable datagrams with one-sided operations here; {LISTS}"),
    )
}
