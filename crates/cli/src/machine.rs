//! What machine the figures are from.

use std::fs;
use std::thread;

use serde::Serialize;

/// What figures depend on.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Machine {
    /// The day, by its own clock.
    pub(crate) date: String,
    pub(crate) host: String,
    processor: String,
    cores: usize,
    /// Caches of the first core, as the kernel tells them: level, kind and size.
    caches: Vec<String>,
    /// Bytes.
    memory: u64,
    kernel: String,
    /// True where the processor says that it is not all there is.
    is_virtual: bool,
    /// The processor's faults that the kernel works around, and how.
    mitigations: Vec<String>,
    program: &'static str,
    /// What makes figures worse than they could be.
    pub(crate) warnings: Vec<String>,
}

impl Machine {
    /// This one, now.
    pub(crate) fn of_this() -> Self {
        Self {
            date: jiff::Zoned::now().date().to_string(),
            host: read("/proc/sys/kernel/hostname"),
            processor: processor(),
            cores: cores(),
            caches: caches(),
            memory: memory(),
            kernel: kernel(),
            is_virtual: is_virtual(),
            mitigations: mitigations(),
            program: concat!("linerate ", env!("CARGO_PKG_VERSION")),
            warnings: busy().into_iter().collect(),
        }
    }

    /// In one line.
    pub(crate) fn line(&self) -> String {
        let kind = if self.is_virtual { "virtual machine, " } else { "" };
        let memory = self.memory >> 30;
        format!("{}, {memory} GiB, {kind}{}", describe(), self.program)
    }
}

/// Processor, cores and kernel, in one line.
pub(crate) fn describe() -> String {
    format!("{}, {} cores, Linux {}", processor(), cores(), kernel())
}

/// Above this load, as a share of one core, something else runs on the machine.
const BUSY: f64 = 0.5;

/// Says so when the machine is busy.
pub(crate) fn busy() -> Option<String> {
    let text = read("/proc/loadavg");
    let load: f64 = text.split(' ').next()?.parse().ok()?;
    let text =
        format!("the machine is busy (load {load}): figures will be worse than on a quiet one");
    (load > BUSY).then_some(text)
}

/// The kernel's release.
pub(crate) fn kernel() -> String {
    read("/proc/sys/kernel/osrelease")
}

fn cores() -> usize {
    thread::available_parallelism().map_or(0, usize::from)
}

fn processor() -> String {
    let text = read("/proc/cpuinfo");
    let model = text.lines().find(|line| line.starts_with("model name"));
    model.and_then(|line| line.split_once(": ")).map_or("unknown processor", |(_, m)| m).into()
}

fn is_virtual() -> bool {
    let text = read("/proc/cpuinfo");
    let flags = text.lines().find(|line| line.starts_with("flags"));
    flags.is_some_and(|flags| flags.split(' ').any(|flag| flag == "hypervisor"))
}

fn memory() -> u64 {
    let text = read("/proc/meminfo");
    let total = text.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kibibytes = total.and_then(|text| text.split_whitespace().next()?.parse().ok());
    kibibytes.unwrap_or(0_u64) << 10
}

fn caches() -> Vec<String> {
    let cache = |index: u32| {
        let folder = format!("/sys/devices/system/cpu/cpu0/cache/index{index}");
        let [level, kind, size] =
            ["level", "type", "size"].map(|name| read(&format!("{folder}/{name}")));
        (!size.is_empty()).then(|| format!("L{level} {kind} {size}"))
    };
    (0..8).map_while(cache).collect()
}

fn mitigations() -> Vec<String> {
    let folder = "/sys/devices/system/cpu/vulnerabilities";
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    let told = files.map(|file| {
        let name = file.file_name().to_string_lossy().into_owned();
        format!("{name}: {}", read(&format!("{folder}/{name}")))
    });
    let mut told: Vec<_> = told.filter(|line| line.contains("Mitigation")).collect();
    told.sort();
    told
}

/// A file's text; nothing where there is none.
fn read(file: &str) -> String {
    fs::read_to_string(file).unwrap_or_default().trim().to_owned()
}
