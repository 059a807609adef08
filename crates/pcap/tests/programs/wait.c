/* Takes so many datagrams to port 9, only when the capture's descriptor says that some wait. */
#include <pcap/pcap.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

static char errors[PCAP_ERRBUF_SIZE];

static void count(u_char *user, const struct pcap_pkthdr *header, const u_char *data)
{
	(void)header, (void)data;
	++*(int *)user;
}

int main(int argc, char **argv)
{
	struct bpf_program program;
	int wanted = argc == 3 ? atoi(argv[2]) : 0, taken = 0;
	pcap_t *handle = pcap_open_live(argv[1], 1000, 0, 20, errors);
	if (handle == NULL || pcap_setnonblock(handle, 1, errors)) {
		printf("%s\n", errors);
		return 1;
	}
	if (pcap_compile(handle, &program, "udp port 9", 1, PCAP_NETMASK_UNKNOWN) || pcap_setfilter(handle, &program)) {
		printf("%s\n", pcap_geterr(handle));
		return 1;
	}
	pcap_freecode(&program);
	struct pollfd event = { .fd = pcap_get_selectable_fd(handle), .events = POLLIN };
	printf("ready, with %d bytes\n", pcap_bufsize(handle));
	fflush(stdout);
	while (taken < wanted && poll(&event, 1, 20000) == 1)
		if (pcap_dispatch(handle, 7, count, (u_char *)&taken) < 0)
			return 1;
	printf("took %d\n", taken);
	pcap_close(handle);
	return 0;
}
