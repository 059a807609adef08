/* Prints what filters say of packets, and how they are told. */
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const u_char packet[] = {
	2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0,                  /* Ethernet */
	0x45, 0, 0, 40, 0, 0, 0, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 255, /* IPv4 */
	0x1f, 0x90, 0, 80, 0, 0, 0, 0, 0, 0, 0, 0, 0x50, 2, 0, 0, 0, 0, 0, 0, /* TCP */
};

static const char *expressions[] = {
	"", "tcp", "udp", "port 80", "port http", "src port 80", "host 10.0.0.1", "not host 10.0.0.1", "ip broadcast",
	"len > 54", "len <= 54", "ether[0] = 2", "tcp[13] & 2 != 0", "vlan", "ip6", "ether host 2:0:0:0:0:1",
	"ether[1000] = 0", "portrange 70-90", "net 10.0.0.0/24",
};

static void verdicts(pcap_t *handle, const char *expression, bpf_u_int32 netmask)
{
	struct pcap_pkthdr header = { .caplen = sizeof packet, .len = sizeof packet };
	struct bpf_program program;
	if (pcap_compile(handle, &program, expression, 1, netmask) != 0) {
		printf("%s: refused\n", expression);
		return;
	}
	printf("%s: %d", expression, pcap_offline_filter(&program, &header, packet));
	printf(" %u", bpf_filter(program.bf_insns, packet, sizeof packet, sizeof packet));
	header.caplen = 20;
	printf(" %d", pcap_offline_filter(&program, &header, packet));
	printf(" %d\n", bpf_validate(program.bf_insns, program.bf_len));
	pcap_freecode(&program);
	printf("%d %d\n", program.bf_insns == NULL, program.bf_len);
}

static struct bpf_insn by_hand[] = {
	BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 12),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x800, 0, 1),
	BPF_STMT(BPF_RET | BPF_K, 77),
	BPF_STMT(BPF_RET | BPF_K, 0),
};

int main(void)
{
	pcap_t *handle = pcap_open_dead(DLT_EN10MB, 1000);
	for (size_t i = 0; i < sizeof expressions / sizeof *expressions; i++)
		verdicts(handle, expressions[i], 0xffffff00);
	verdicts(handle, "ip broadcast", PCAP_NETMASK_UNKNOWN);
	verdicts(handle, "ip broadcast", 0);
	verdicts(handle, "prot 80", 0);
	printf("%d\n", strlen(pcap_geterr(handle)) > 0);

	struct bpf_program program = { .bf_len = 4, .bf_insns = by_hand };
	bpf_dump(&program, 1);
	printf("--\n");
	bpf_dump(&program, 2);
	bpf_dump(&program, 3);
	for (int i = 0; i < 4; i++)
		printf("%s\n", bpf_image(&by_hand[i], i + 100));
	struct pcap_pkthdr header = { .caplen = sizeof packet, .len = sizeof packet };
	printf("%d\n", pcap_offline_filter(&program, &header, packet));
	by_hand[1].jf = 9;
	printf("%d\n", bpf_validate(by_hand, 4));
	printf("%u\n", bpf_filter(NULL, packet, sizeof packet, sizeof packet));
	printf("%d\n", pcap_compile_nopcap(1000, DLT_EN10MB, &program, "udp", 1, 0));
	printf("%d\n", pcap_offline_filter(&program, &header, packet));
	pcap_freecode(&program);
	printf("%d\n", pcap_compile_nopcap(1000, DLT_EN10MB, &program, "not a filter", 1, 0));
	pcap_close(handle);
	return 0;
}
