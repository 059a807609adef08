/* A program of somebody else's, in C and in C++: what libpcap has, and what WinPcap has. */
#include <pcap.h>
#include <pcap/namedb.h>
#include <stdio.h>

int main(void)
{
	struct bpf_program program;
	struct pcap_pkthdr header = { { 0, 0 }, 16, 16 };
	const u_char packet[16] = { 2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 6, 0, 0 };
	pcap_t *handle = pcap_open_dead(DLT_EN10MB, 100);
	pcap_send_queue *queue = pcap_sendqueue_alloc(100);
	if (handle == NULL || queue == NULL || pcap_compile(handle, &program, "arp", 1, PCAP_NETMASK_UNKNOWN))
		return 1;
	if (pcap_sendqueue_queue(queue, &header, packet))
		return 1;
	printf("%s\n%u bytes of a queue\n", pcap_lib_version(), queue->len);
	printf("%d\n", pcap_offline_filter(&program, &header, packet) > 0);
	pcap_sendqueue_destroy(queue);
	pcap_freecode(&program);
	pcap_close(handle);
	return 0;
}
