//! Gives the library the name under which programs of Debian ask for libpcap.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libpcap.so.0.8");
}
