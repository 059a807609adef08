//! Consumers on many cores: how many, and where.

use linerate_base::Result;
use linerate_sys::{cpu, ethtool, interface};

use crate::ANY;

/// The number of threads that can share the packets of `interface` at best: one for each of its receive
/// queues, but no more than there are cores; of [`ANY`], one for each core.
///
/// # Errors
/// When there is no such interface.
pub fn best_threads(interface: &str) -> Result<usize> {
    let cores = cpu::allowed()?.len().max(1);
    if interface == ANY {
        return Ok(cores);
    }
    Ok(receive_queues(interface)?.clamp(1, cores))
}

/// The cores for threads that consume packets of `interface`, in turn: those near the device, of those that the
/// process may use. There is one at least.
///
/// # Errors
/// As [`cpu::allowed`].
pub fn consumer_cores(interface: &str) -> Result<Vec<usize>> {
    let allowed = cpu::allowed()?;
    let near = cpu::near(interface).unwrap_or_default();
    let both: Vec<_> = near.into_iter().filter(|core| allowed.contains(core)).collect();
    Ok(if both.is_empty() { allowed } else { both })
}

/// The receive queues that the interface uses; those that it was made with where its driver does not tell.
pub(crate) fn receive_queues(interface: &str) -> Result<usize> {
    let used = ethtool::receive_queues(interface)?;
    let count = match used {
        Some(count) => count,
        None => interface::by_name(interface)?.receive_queues,
    };
    Ok(count as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_a_thread_and_a_core_for_every_interface() {
        let cores = cpu::allowed().unwrap();
        assert_eq!(best_threads("lo").unwrap(), 1);
        assert_eq!(best_threads(ANY).unwrap(), cores.len());
        assert_eq!(consumer_cores("lo").unwrap(), cores);
        assert!(best_threads("no-such-link").is_err());
    }
}
