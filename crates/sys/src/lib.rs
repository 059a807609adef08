//! Every system call of linerate, and all of its unsafe code.
//!
//! - [`bpf`]: bpf(2): maps, extended programs, and attaching these to interfaces
//! - [`btf`]: functions of the kernel that programs call
//! - [`capability`]: what this process may do, and giving it up
//! - [`clock`]: the system's clocks, and how they stand to each other
//! - [`code`]: machine code made at run time
//! - [`cpu`]: which cores a thread runs on
//! - [`direct_file`]: files written past the page cache, in order, on a thread of their own
//! - [`epoll`]: many TCP sockets of the kernel's at once
//! - [`ethtool`]: what a network driver tells and lets be switched
//! - [`event`]: waiting: an event flag, and a poll over descriptors
//! - [`filesystem`]: what file system a folder is on
//! - [`frame_ring`]: a ring of frames that an eBPF program empties
//! - [`interface`]: the interfaces of a network namespace
//! - [`libpcap`]: the installed libpcap, loaded at run time, as a peer to compare with
//! - [`memory`]: the machine's memory
//! - [`mmap`]: memory shared with the kernel
//! - [`mount`]: mounts that nobody else sees
//! - [`netlink`]: links, addresses, neighbours, XDP features, and hearing what happens to links
//! - [`netns`]: network namespaces, held by nothing but a file descriptor
//! - [`packet_ring`]: a receive ring shared with the kernel (`TPACKET_V3`)
//! - [`packet_send`]: frames sent through a packet socket
//! - [`packet_socket`]: packet sockets, and the interfaces as they know them
//! - [`packet_tx_ring`]: a transmit ring shared with the kernel (`TPACKET_V2`)
//! - [`perf`]: samples of what processors and threads are doing
//! - [`prefetch`]: telling the processor which memory will be used soon
//! - [`process`]: the calling process, and what its children begin with
//! - [`raw_ip`]: IPv4 packets sent by way of the host's routes
//! - [`receive_losses`]: packets that an interface lost before anybody could see them
//! - [`socket_filter`]: filters on sockets, and the kernel's verdict on single packets
//! - [`tap_ring`]: rings that an eBPF program fills with packets
//! - [`task`]: what other processes are doing
//! - [`thread`]: waking a thread out of a system call, and having it run soon
//! - [`usage`]: what a finished child process used, or a thread so far
//! - [`userns`]: root over what one makes, without being root
//! - [`xsk`]: AF_XDP sockets: frames of one receive queue, straight from the driver

pub mod bpf;
pub mod btf;
pub mod capability;
pub mod clock;
pub mod code;
pub mod cpu;
pub mod direct_file;
pub mod epoll;
pub mod ethtool;
pub mod event;
pub mod filesystem;
pub mod frame_ring;
pub mod interface;
pub mod libpcap;
pub mod memory;
pub mod mmap;
pub mod mount;
pub mod netlink;
pub mod netns;
pub mod packet_ring;
pub mod packet_send;
pub mod packet_socket;
pub mod packet_tx_ring;
pub mod perf;
pub mod prefetch;
pub mod process;
pub mod raw_ip;
pub mod receive_losses;
pub mod socket_filter;
pub mod tap_ring;
pub mod task;
pub mod thread;
pub mod usage;
pub mod userns;
pub mod xsk;
