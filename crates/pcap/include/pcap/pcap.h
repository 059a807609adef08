/* libpcap's functions as linerate has them: made from its code by `cargo xtask header`. */

#ifndef LINERATE_PCAP_H
#define LINERATE_PCAP_H

#include <netdb.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/types.h>
#include <linux/filter.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef lib_pcap_pcap_h
#define lib_pcap_pcap_h

typedef int bpf_int32;
typedef u_int bpf_u_int32;
typedef struct pcap pcap_t;
typedef struct pcap_dumper pcap_dumper_t;
typedef struct pcap_if pcap_if_t;
typedef struct pcap_addr pcap_addr_t;

struct bpf_insn {
	u_short code;
	u_char jt;
	u_char jf;
	bpf_u_int32 k;
};

#define PCAP_IF_LOOPBACK 1
#define PCAP_IF_UP 2
#define PCAP_IF_RUNNING 4
#define PCAP_IF_WIRELESS 8
#define PCAP_IF_CONNECTION_STATUS 0x30
#define PCAP_IF_CONNECTION_STATUS_CONNECTED 0x10
#define PCAP_IF_CONNECTION_STATUS_DISCONNECTED 0x20
#define PCAP_IF_CONNECTION_STATUS_NOT_APPLICABLE 0x30
#define PCAP_ERRBUF_SIZE 256
#define PCAP_NETMASK_UNKNOWN 0xffffffff
#define PCAP_ERROR -1
#define PCAP_ERROR_BREAK -2
#define PCAP_ERROR_NOT_ACTIVATED -3
#define PCAP_ERROR_ACTIVATED -4
#define PCAP_ERROR_NO_SUCH_DEVICE -5
#define PCAP_ERROR_RFMON_NOTSUP -6
#define PCAP_ERROR_NOT_RFMON -7
#define PCAP_ERROR_PERM_DENIED -8
#define PCAP_ERROR_IFACE_NOT_UP -9
#define PCAP_ERROR_CANTSET_TSTAMP_TYPE -10
#define PCAP_ERROR_PROMISC_PERM_DENIED -11
#define PCAP_ERROR_TSTAMP_PRECISION_NOTSUP -12
#define PCAP_WARNING 1
#define PCAP_WARNING_PROMISC_NOTSUP 2
#define PCAP_WARNING_TSTAMP_TYPE_NOTSUP 3
#define PCAP_TSTAMP_PRECISION_MICRO 0
#define PCAP_TSTAMP_PRECISION_NANO 1
#define PCAP_TSTAMP_HOST 0
#define PCAP_TSTAMP_HOST_LOWPREC 1
#define PCAP_TSTAMP_HOST_HIPREC 2
#define PCAP_TSTAMP_ADAPTER 3
#define PCAP_TSTAMP_ADAPTER_UNSYNCED 4
#define PCAP_TSTAMP_HOST_HIPREC_UNSYNCED 5
#define PCAP_CHAR_ENC_LOCAL 0
#define PCAP_CHAR_ENC_UTF_8 1
#define PCAP_D_INOUT 0
#define PCAP_D_IN 1
#define PCAP_D_OUT 2

/* Before each packet that a program gets. */
struct pcap_pkthdr {
	struct timeval ts; /* When the packet was seen; the second member counts microseconds or nanoseconds. */
	bpf_u_int32 caplen; /* Bytes captured. */
	bpf_u_int32 len; /* Bytes on the wire. */
};

struct pcap_stat {
	u_int ps_recv; /* Packets that the filter kept, those dropped among them. */
	u_int ps_drop; /* Of these, packets for which there was no room. */
	u_int ps_ifdrop; /* Packets lost by the interface. */
};

/* Which packets to deliver. */
struct pcap_samp {
	int method; /* 0 delivers all, 1 every value-th, 2 the first after value milliseconds. */
	int value; /* See the method. */
};

struct bpf_program {
	u_int bf_len; /* How many instructions there are. */
	struct bpf_insn *bf_insns; /* The instructions, from malloc. */
};

/* Something to capture on. */
struct pcap_if {
	struct pcap_if *next; /* The next one; null behind the last. */
	char *name; /* Its name. */
	char *description; /* What it is; null where nothing is known. */
	struct pcap_addr *addresses; /* Its first address; null without. */
	bpf_u_int32 flags; /* What it can do: constants from IF_LOOPBACK on. */
};

/* An address of an interface. All but the first pointer may be null. */
struct pcap_addr {
	struct pcap_addr *next; /* The next one; null behind the last. */
	struct sockaddr *addr; /* The address. */
	struct sockaddr *netmask; /* The mask of its network. */
	struct sockaddr *broadaddr; /* The address of all of its network. */
	struct sockaddr *dstaddr; /* The address of the other end. */
};

/* Which way packets go. */
typedef u_int pcap_direction_t;

/* The callback that gets packets: what the caller passed for it, header, bytes. */
typedef void (*pcap_handler)(u_char *, const struct pcap_pkthdr *, const u_char *);

/* A hardware address and whose it is. */
struct pcap_etherent {
	u_char addr[6]; /* The address. */
	char name[122]; /* Whose it is. */
};

#endif

/* What WinPcap and libpcap 1.11 have beside libpcap 1.10. */
typedef struct pcap_options pcap_options;
typedef struct pcap_send_queue pcap_send_queue;
#define MODE_CAPT 0
#define MODE_STAT 1

/* What is struct pcap_stat in WinPcap, and longer than libpcap's. */
struct pcap_stat_ex {
	struct pcap_stat base; /* What libpcap has. */
	u_int ps_capt; /* Packets that the program got. */
	u_int ps_sent; /* Packets that it sent. */
	u_int ps_netdrop; /* Packets lost on the network, of captures on other machines: 0. */
};

/* Of WinPcap: packets to send, each a struct pcap_pkthdr and its bytes. */
struct pcap_send_queue {
	u_int maxlen; /* Bytes that there is room for. */
	u_int len; /* Bytes that are there. */
	char *buffer; /* They. */
};

#define DLT_NULL 0
#define DLT_EN10MB 1
#define DLT_IEEE802 6
#define DLT_ARCNET 7
#define DLT_SLIP 8
#define DLT_PPP 9
#define DLT_FDDI 10
#define DLT_ATM_RFC1483 11
#define DLT_RAW 12
#define DLT_SLIP_BSDOS 15
#define DLT_PPP_BSDOS 16
#define DLT_ATM_CLIP 19
#define DLT_PPP_SERIAL 50
#define DLT_PPP_ETHER 51
#define DLT_SYMANTEC_FIREWALL 99
#define DLT_C_HDLC 104
#define DLT_IEEE802_11 105
#define DLT_FRELAY 107
#define DLT_LOOP 108
#define DLT_ENC 109
#define DLT_LINUX_SLL 113
#define DLT_LTALK 114
#define DLT_PFLOG 117
#define DLT_PRISM_HEADER 119
#define DLT_IP_OVER_FC 122
#define DLT_SUNATM 123
#define DLT_IEEE802_11_RADIO 127
#define DLT_ARCNET_LINUX 129
#define DLT_JUNIPER_MLPPP 130
#define DLT_JUNIPER_MLFR 131
#define DLT_JUNIPER_ES 132
#define DLT_JUNIPER_GGSN 133
#define DLT_JUNIPER_MFR 134
#define DLT_JUNIPER_ATM2 135
#define DLT_JUNIPER_SERVICES 136
#define DLT_JUNIPER_ATM1 137
#define DLT_APPLE_IP_OVER_IEEE1394 138
#define DLT_MTP2_WITH_PHDR 139
#define DLT_MTP2 140
#define DLT_MTP3 141
#define DLT_SCCP 142
#define DLT_DOCSIS 143
#define DLT_LINUX_IRDA 144
#define DLT_IEEE802_11_RADIO_AVS 163
#define DLT_JUNIPER_MONITOR 164
#define DLT_BACNET_MS_TP 165
#define DLT_PPP_PPPD 166
#define DLT_JUNIPER_PPPOE 167
#define DLT_JUNIPER_PPPOE_ATM 168
#define DLT_GPRS_LLC 169
#define DLT_GPF_T 170
#define DLT_GPF_F 171
#define DLT_JUNIPER_PIC_PEER 174
#define DLT_ERF_ETH 175
#define DLT_ERF_POS 176
#define DLT_LINUX_LAPD 177
#define DLT_JUNIPER_ETHER 178
#define DLT_JUNIPER_PPP 179
#define DLT_JUNIPER_FRELAY 180
#define DLT_JUNIPER_CHDLC 181
#define DLT_MFR 182
#define DLT_JUNIPER_VP 183
#define DLT_A429 184
#define DLT_A653_ICM 185
#define DLT_USB_FREEBSD 186
#define DLT_BLUETOOTH_HCI_H4 187
#define DLT_IEEE802_16_MAC_CPS 188
#define DLT_USB_LINUX 189
#define DLT_CAN20B 190
#define DLT_IEEE802_15_4_LINUX 191
#define DLT_PPI 192
#define DLT_IEEE802_16_MAC_CPS_RADIO 193
#define DLT_JUNIPER_ISM 194
#define DLT_IEEE802_15_4 195
#define DLT_SITA 196
#define DLT_ERF 197
#define DLT_RAIF1 198
#define DLT_IPMB_KONTRON 199
#define DLT_JUNIPER_ST 200
#define DLT_BLUETOOTH_HCI_H4_WITH_PHDR 201
#define DLT_AX25_KISS 202
#define DLT_IPMB_LINUX 209
#define DLT_IEEE802_15_4_NONASK_PHY 215
#define DLT_LINUX_EVDEV 216
#define DLT_MPLS 219
#define DLT_USB_LINUX_MMAPPED 220
#define DLT_DECT 221
#define DLT_AOS 222
#define DLT_WIHART 223
#define DLT_FC_2 224
#define DLT_FC_2_WITH_FRAME_DELIMS 225
#define DLT_IPNET 226
#define DLT_CAN_SOCKETCAN 227
#define DLT_IPV4 228
#define DLT_IPV6 229
#define DLT_IEEE802_15_4_NOFCS 230
#define DLT_DBUS 231
#define DLT_JUNIPER_VS 232
#define DLT_JUNIPER_SRX_E2E 233
#define DLT_JUNIPER_FIBRECHANNEL 234
#define DLT_DVB_CI 235
#define DLT_MUX27010 236
#define DLT_STANAG_5066_D_PDU 237
#define DLT_JUNIPER_ATM_CEMIC 238
#define DLT_NFLOG 239
#define DLT_NETANALYZER 240
#define DLT_NETANALYZER_TRANSPARENT 241
#define DLT_IPOIB 242
#define DLT_MPEG_2_TS 243
#define DLT_NG40 244
#define DLT_NFC_LLCP 245
#define DLT_PFSYNC 246
#define DLT_INFINIBAND 247
#define DLT_SCTP 248
#define DLT_USBPCAP 249
#define DLT_RTAC_SERIAL 250
#define DLT_BLUETOOTH_LE_LL 251
#define DLT_NETLINK 253
#define DLT_BLUETOOTH_LINUX_MONITOR 254
#define DLT_BLUETOOTH_BREDR_BB 255
#define DLT_BLUETOOTH_LE_LL_WITH_PHDR 256
#define DLT_PROFIBUS_DL 257
#define DLT_PKTAP 258
#define DLT_EPON 259
#define DLT_IPMI_HPM_2 260
#define DLT_ZWAVE_R1_R2 261
#define DLT_ZWAVE_R3 262
#define DLT_WATTSTOPPER_DLM 263
#define DLT_ISO_14443 264
#define DLT_RDS 265
#define DLT_USB_DARWIN 266
#define DLT_OPENFLOW 267
#define DLT_SDLC 268
#define DLT_TI_LLN_SNIFFER 269
#define DLT_VSOCK 271
#define DLT_NORDIC_BLE 272
#define DLT_DOCSIS31_XRA31 273
#define DLT_ETHERNET_MPACKET 274
#define DLT_DISPLAYPORT_AUX 275
#define DLT_LINUX_SLL2 276
#define DLT_OPENVIZSLA 278
#define DLT_EBHSCR 279
#define DLT_VPP_DISPATCH 280
#define DLT_DSA_TAG_BRCM 281
#define DLT_DSA_TAG_BRCM_PREPEND 282
#define DLT_IEEE802_15_4_TAP 283
#define DLT_DSA_TAG_DSA 284
#define DLT_DSA_TAG_EDSA 285
#define DLT_ELEE 286
#define DLT_Z_WAVE_SERIAL 287
#define DLT_USB_2_0 288
#define DLT_ATSC_ALP 289

/* Prints a program to C's standard output: for people, with 2 as an array in C, with 3 as numbers. */
void bpf_dump(const struct bpf_program *program, int option);

/* The same for bare instructions; null keeps all. */
bpf_u_int32 bpf_filter(const struct bpf_insn *first, const u_char *data, bpf_u_int32 length, bpf_u_int32 captured);

/* A line for an instruction that is at index in its program; valid until the thread's next one. */
char *bpf_image(const struct bpf_insn *instruction, int index);

/* 1 where instructions are a program that is safe to run, else 0. */
int bpf_validate(const struct bpf_insn *first, int count);

/* Begins to capture: 0, a warning above, an error below. */
int pcap_activate(pcap_t *handle);

/* Options, none of which is set; pcap_free_option frees them. */
pcap_options *pcap_alloc_option(void);

/* Has the loop that runs, or the next one, return. May be called by a signal handler and by any thread. */
void pcap_breakloop(pcap_t *handle);

/* Bytes of memory in which packets wait; of a savefile, those of its longest packet. */
int pcap_bufsize(pcap_t *handle);

/* Whether monitor mode can be set: 0, it cannot. */
int pcap_can_set_rfmon(pcap_t *handle);

/* Closes a handle, and its savefile unless that is standard input. A dump that runs ends. */
void pcap_close(pcap_t *handle);

/* Compiles an expression, of null and of nothing one that keeps all, for the packets of a handle. */
int pcap_compile(pcap_t *handle, struct bpf_program *program, const char *expression, int optimise, bpf_u_int32 netmask);

/* Compiles an expression without a handle; there is no telling what is wrong with it. */
int pcap_compile_nopcap(int snapshot, int link, struct bpf_program *program, const char *expression, int optimise, bpf_u_int32 netmask);

/* A handle for capturing on an interface, of null on all; it begins with pcap_activate. */
pcap_t *pcap_create(const char *device, char *error);

/* What the first byte of a packet means, as a number of pcap/dlt.h. */
int pcap_datalink(pcap_t *handle);

/* What a savefile's header says beside the link type: the length of the frame check sequence. */
int pcap_datalink_ext(pcap_t *handle);

/* The number of a link type's name; -1 for one that is unknown. */
int pcap_datalink_name_to_val(const char *name);

/* What a link type is; null for one without a name. */
const char *pcap_datalink_val_to_description(int dlt);

/* What a link type is, or its number. */
const char *pcap_datalink_val_to_description_or_dlt(int dlt);

/* The name of a link type's number; null for one without. */
const char *pcap_datalink_val_to_name(int dlt);

/* Gives up to count packets to a callback, of a count below 1 as many as there are; how many they were, or an error. */
int pcap_dispatch(pcap_t *handle, int count, pcap_handler handler, u_char *user);

/* Writes a packet; a callback for pcap_loop. After an error nothing more is written; pcap_dump_flush and ferror tell of it. */
void pcap_dump(u_char *dumper, const struct pcap_pkthdr *packet, const u_char *data);

/* Closes a savefile that was written. */
void pcap_dump_close(pcap_dumper_t *file);

/* The stream itself. */
FILE *pcap_dump_file(pcap_dumper_t *file);

/* Hands to the system what is in the stream's buffer; -1 where that fails, or a packet was not written. */
int pcap_dump_flush(pcap_dumper_t *file);

/* Begins a savefile for a handle's packets in an open stream; null where that fails. */
pcap_dumper_t *pcap_dump_fopen(pcap_t *handle, FILE *file);

/* Where the next packet goes, in bytes from the beginning; -1 for a stream that cannot tell. */
long pcap_dump_ftell(pcap_dumper_t *file);

/* The same, for files of any size. */
int64_t pcap_dump_ftell64(pcap_dumper_t *file);

/* Creates a savefile for a handle's packets, of - on standard output; null where that fails. */
pcap_dumper_t *pcap_dump_open(pcap_t *handle, const char *name);

/* Opens a savefile to add a handle's packets to it; null where that fails, or they would not fit there. */
pcap_dumper_t *pcap_dump_open_append(pcap_t *handle, const char *name);

/* A hardware address, in memory for the caller to free; null for what is none. */
u_char *pcap_ether_aton(const char *text);

/* The hardware address of a host, in memory for the caller to free; null for an unknown one. */
u_char *pcap_ether_hostton(const char *name);

/* The stream that a savefile is read from; null for other handles. */
FILE *pcap_file(pcap_t *handle);

/* The descriptor that a live capture has, only to be waited on; -1 for other handles. */
int pcap_fileno(pcap_t *handle);

/* Gives a list of what can be captured on, which pcap_freealldevs frees: 0, or -1 and the reason. */
int pcap_findalldevs(struct pcap_if **list, char *error);

/* Reads a savefile from an open stream, from where it stands; pcap_close will close it. Null and the reason where that fails; then the stream stays the caller's. */
pcap_t *pcap_fopen_offline(FILE *file, char *error);

/* The same for packets with times of this precision. */
pcap_t *pcap_fopen_offline_with_tstamp_precision(FILE *file, u_int precision, char *error);

/* Frees a list of link types. */
void pcap_free_datalinks(int *list);

/* Frees options. */
void pcap_free_option(pcap_options *options);

/* Frees a list of kinds of time stamps. */
void pcap_free_tstamp_types(int *list);

/* Frees a list of what can be captured on. */
void pcap_freealldevs(struct pcap_if *list);

/* Frees a program's instructions. */
void pcap_freecode(struct bpf_program *program);

/* The number of an option; -1 for an unknown option, -2 for one that is a text. */
int pcap_get_option_int(pcap_options *options, int name);

/* The text of an option, valid until it is set again or the options are freed; null where there is none. */
const char *pcap_get_option_string(pcap_options *options, int name);

/* How long to wait on that descriptor at most: null, as long as one likes. */
const struct timeval *pcap_get_required_select_timeout(pcap_t *handle);

/* A descriptor that is readable while packets wait, and of a savefile that of its stream; -1 for handles without. */
int pcap_get_selectable_fd(pcap_t *handle);

/* What the second member of a packet's time counts. */
int pcap_get_tstamp_precision(pcap_t *handle);

/* What went wrong last with a handle. The text stays valid until the handle's next error. */
char *pcap_geterr(pcap_t *handle);

/* What to wait on for packets: where WinPcap has an event, here is the descriptor of pcap_get_selectable_fd. */
int pcap_getevent(pcap_t *handle);

/* 1 where calls for packets return at once, else 0. */
int pcap_getnonblock(pcap_t *handle, char *error);

/* Begins to use the library, with texts of this encoding: 0, or -1 and the reason. Programs need not. */
int pcap_init(u_int encoding, char *error);

/* Sends a frame, link-layer header included: how many bytes were sent, or an error. */
int pcap_inject(pcap_t *handle, const void *frame, size_t size);

/* 1 where a savefile was written in the other byte order, else 0. */
int pcap_is_swapped(pcap_t *handle);

/* Name and version of the library. */
const char *pcap_lib_version(void);

/* Gives the link types that the handle can have in memory that pcap_free_datalinks frees, and their count. */
int pcap_list_datalinks(pcap_t *handle, int **list);

/* Gives the kinds of time stamps to choose from in memory that pcap_free_tstamp_types frees, and their count. */
int pcap_list_tstamp_types(pcap_t *handle, int **list);

/* Has a thread write the packets of a live capture to a file, which must not be longer than so many bytes nor have more than so many packets; 0 is no limit. Until pcap_live_dump_ended tells its end the handle has no packets to give. pcap_breakloop ends it before. */
int pcap_live_dump(pcap_t *handle, const char *name, int bytes, int packets);

/* Whether the thread that writes packets to a file has ended: 0 while it runs, 1 at its end, or an error. Where waits is not 0 it is waited for. */
int pcap_live_dump_ended(pcap_t *handle, int waits);

/* The first interface of the list, valid until the thread's next question; null and the reason where there is none. Programs that have called pcap_init are told to take the list. */
char *pcap_lookupdev(char *error);

/* Gives the number and the mask of an interface's first IPv4 network, in network order: 0, or -1 and the reason. */
int pcap_lookupnet(const char *device, bpf_u_int32 *number, bpf_u_int32 *netmask, char *error);

/* Gives packets to a callback until there are count, of a count below 1 until the end: 0, or an error, or PCAP_ERROR_BREAK after pcap_breakloop. */
int pcap_loop(pcap_t *handle, int count, pcap_handler handler, u_char *user);

/* The major version of a savefile's format. */
int pcap_major_version(pcap_t *handle);

/* The minor version of a savefile's format. */
int pcap_minor_version(pcap_t *handle);

/* The IPv4 addresses of a host, in host order, the last pointer null; null for an unknown name. The list is valid until the thread's next question. */
bpf_u_int32 **pcap_nametoaddr(const char *name);

/* The addresses of a host, for the caller to give to freeaddrinfo; null for an unknown name. */
struct addrinfo *pcap_nametoaddrinfo(const char *name);

/* The number of a protocol behind an Ethernet header; -1 for one that is unknown. */
int pcap_nametoeproto(const char *name);

/* The number of a protocol behind an 802.2 header; -1 for one that is unknown. */
int pcap_nametollc(const char *name);

/* The number of a network, in host order; 0 for an unknown name. */
bpf_u_int32 pcap_nametonetaddr(const char *name);

/* Gives the port of a service and its protocol, PROTO_UNDEF for both; 0 for an unknown name, else 1. */
int pcap_nametoport(const char *name, int *number, int *protocol);

/* Gives the two ports of a range and their protocol, PROTO_UNDEF for both; 0 for unknown names, else 1. */
int pcap_nametoportrange(const char *name, int *first, int *last, int *protocol);

/* The number of an IP protocol; -1 for one that the system does not know. */
int pcap_nametoproto(const char *name);

/* The next packet and its header; null where there is none, or an error. */
const u_char *pcap_next(pcap_t *handle, struct pcap_pkthdr *header);

/* The next entry of a file such as /etc/ethers; null at its end. It is valid until the thread's next one. */
struct pcap_etherent *pcap_next_etherent(FILE *file);

/* Gives the next packet and its header: 1, or 0 where none came in time, PCAP_ERROR_BREAK at the end of a savefile, or an error. */
int pcap_next_ex(pcap_t *handle, struct pcap_pkthdr **header, const u_char **data);

/* What a program says of a packet: how many of its bytes to keep, 0 for none of it. */
int pcap_offline_filter(const struct bpf_program *program, const struct pcap_pkthdr *header, const u_char *data);

/* A handle without packets, for compiling filters and writing savefiles. */
pcap_t *pcap_open_dead(int link, int snapshot);

/* The same for packets with times of this precision; null for one that does not exist. */
pcap_t *pcap_open_dead_with_tstamp_precision(int link, int snapshot, u_int precision);

/* Begins to capture on an interface; null and the reason where that fails. */
pcap_t *pcap_open_live(const char *device, int length, int promiscuous, int millis, char *error);

/* Opens a savefile, of - standard input; null and the reason where that fails. */
pcap_t *pcap_open_offline(const char *name, char *error);

/* The same for packets with times of this precision. */
pcap_t *pcap_open_offline_with_tstamp_precision(const char *name, u_int precision, char *error);

/* Prints what went wrong last, after a prefix, to standard error. */
void pcap_perror(pcap_t *handle, const char *prefix);

/* Sends a frame, link-layer header included: 0, or an error. */
int pcap_sendpacket(pcap_t *handle, const u_char *frame, int size);

/* A queue with room for so many bytes, headers included; pcap_sendqueue_destroy frees it. Null without memory. */
struct pcap_send_queue *pcap_sendqueue_alloc(u_int size);

/* Frees a queue. */
void pcap_sendqueue_destroy(struct pcap_send_queue *queue);

/* Puts a packet at a queue's end: 0, or -1 where it has no room. */
int pcap_sendqueue_queue(struct pcap_send_queue *queue, const struct pcap_pkthdr *header, const u_char *data);

/* Sends a queue, as fast as can be or, where in_time is not 0, as its time stamps say: how many of its bytes were sent, headers included. Where these are not all, the handle has the reason. pcap_breakloop ends it. */
u_int pcap_sendqueue_transmit(pcap_t *handle, const struct pcap_send_queue *queue, int in_time);

/* Bytes of memory in which packets wait; of a size below 1 it stays what it is. */
int pcap_set_buffer_size(pcap_t *handle, int bytes);

/* Takes one of the link types that the handle can have. */
int pcap_set_datalink(pcap_t *handle, int dlt);

/* Whether to deliver each packet as soon as it comes. */
int pcap_set_immediate_mode(pcap_t *handle, int immediate);

/* Sets an option to a number: 0, -1 for an unknown option, -2 for one that is a text. */
int pcap_set_option_int(pcap_options *options, int name, int value);

/* Sets an option to a copy of a text: 0, -1 for an unknown option, -2 for one that is a number. */
int pcap_set_option_string(pcap_options *options, int name, const char *value);

/* Whether to see frames that are not addressed to this host. */
int pcap_set_promisc(pcap_t *handle, int promiscuous);

/* The EtherType of received packets to see, of 0 and ETH_P_ALL all; Linux only. */
int pcap_set_protocol_linux(pcap_t *handle, int protocol);

/* Whether to capture in monitor mode, which pcap_activate then refuses. */
int pcap_set_rfmon(pcap_t *handle, int monitor);

/* The most bytes to keep of a packet; outside of what is possible, all of it. */
int pcap_set_snaplen(pcap_t *handle, int length);

/* The longest wait for packets, in milliseconds; below 1 there is no limit. */
int pcap_set_timeout(pcap_t *handle, int millis);

/* What the second member of a packet's time is to count. */
int pcap_set_tstamp_precision(pcap_t *handle, int precision);

/* Who stamps packets; a warning, and no change, for a kind that we have not. */
int pcap_set_tstamp_type(pcap_t *handle, int kind);

/* Bytes of memory in which packets wait. The capture begins anew. */
int pcap_setbuff(pcap_t *handle, int bytes);

/* Which way packets must go, of a live capture. */
int pcap_setdirection(pcap_t *handle, pcap_direction_t direction);

/* Makes a program, of pcap_compile or made by hand, the filter of a handle. The handle keeps a copy. */
int pcap_setfilter(pcap_t *handle, struct bpf_program *program);

/* Bytes that are worth waking a program for: with 0 it gets each packet at once, with more packets gather for a moment, however many these are. The capture begins anew. */
int pcap_setmintocopy(pcap_t *handle, int bytes);

/* Whether to get packets (0), or at each time-out how many there were and their bytes (1): two numbers of 64 bits. The capture begins anew. */
int pcap_setmode(pcap_t *handle, int mode);

/* Whether calls for packets return at once where none are there. */
int pcap_setnonblock(pcap_t *handle, int nonblocking, char *error);

/* What says which packets to deliver of those that the filter keeps, for the caller to change; null for null. */
struct pcap_samp *pcap_setsampling(pcap_t *handle);

/* Bytes for packets in the program: there is no such memory, as packets are given out where they were captured, so any size will do. */
int pcap_setuserbuffer(pcap_t *handle, int bytes);

/* The most bytes kept of a packet. */
int pcap_snapshot(pcap_t *handle);

/* Counts of a live capture; of others there are none. */
int pcap_stats(pcap_t *handle, struct pcap_stat *stats);

/* Counts of a live capture, more of them than pcap_stats has, and their size in bytes. They stay valid, and are renewed, until the handle is closed; null where there are none. */
const struct pcap_stat_ex *pcap_stats_ex(pcap_t *handle, int *size);

/* What a status means. */
const char *pcap_statustostr(int status);

/* What an error number of the system means. */
const char *pcap_strerror(int number);

/* The number of a kind of time stamps; -1 for an unknown name. */
int pcap_tstamp_type_name_to_val(const char *name);

/* What a kind of time stamps is; null for an unknown number. */
const char *pcap_tstamp_type_val_to_description(int number);

/* The name of a kind of time stamps; null for an unknown number. */
const char *pcap_tstamp_type_val_to_name(int number);

#ifdef __cplusplus
}
#endif

#endif
