/* Prints what can be captured on, and what comes on all interfaces at once. */
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define SIZE 60

static char errors[PCAP_ERRBUF_SIZE];
static const char *own;

static void address(const char *name, const struct sockaddr *address)
{
	if (address == NULL)
		return;
	int size = address->sa_family == AF_INET6 ? 28 : address->sa_family == AF_PACKET ? 20 : 16;
	printf("  %s of %d", name, address->sa_family);
	for (int i = 2; i < size; i++)
		printf(" %02x", ((const u_char *)address)[i]);
	printf("\n");
}

static void devices(void)
{
	pcap_if_t *all, *one;
	printf("all %d\n", pcap_findalldevs(&all, errors));
	for (one = all; one != NULL; one = one->next) {
		if (strcmp(one->name, own) && strcmp(one->name, "lo") && strcmp(one->name, "any"))
			continue;
		printf("%s, %s, %#x\n", one->name, one->description ? one->description : "nothing", one->flags);
		for (pcap_addr_t *at = one->addresses; at != NULL; at = at->next) {
			address("address", at->addr);
			address("mask", at->netmask);
			address("broadcast", at->broadaddr);
			address("other end", at->dstaddr);
		}
	}
	pcap_freealldevs(all);
}

static void network(const char *name)
{
	bpf_u_int32 number = 1, mask = 1;
	int status = pcap_lookupnet(name, &number, &mask, errors);
	printf("network of %s: %d %08x %08x\n", name, status, number, mask);
}

static void monitor(void)
{
	pcap_t *handle = pcap_create(own, errors);
	printf("monitor mode %d", pcap_can_set_rfmon(handle));
	printf(" %d", pcap_set_rfmon(handle, 1));
	int status = pcap_activate(handle);
	printf(" %d %s\n", status, pcap_statustostr(status));
	pcap_close(handle);
}

static void send_on(pcap_t *sender, int count)
{
	u_char frame[SIZE] = "\2\0\0\0\0\x99\2\0\0\0\0\x98\x88\xb5";
	for (int i = 0; i < count; i++) {
		frame[20] = i;
		pcap_inject(sender, frame, SIZE);
	}
}

static void print(u_char *user, const struct pcap_pkthdr *header, const u_char *data)
{
	(void)user;
	printf("%u of %u:", header->caplen, header->len);
	for (bpf_u_int32 i = 0; i < header->caplen && i < 28; i++)
		printf(" %02x", data[i]);
	printf("\n");
}

static void keep(pcap_t *handle, const char *expression)
{
	struct bpf_program program;
	printf("compile %d", pcap_compile(handle, &program, expression, 1, PCAP_NETMASK_UNKNOWN));
	printf(" set %d\n", pcap_setfilter(handle, &program));
	pcap_freecode(&program);
}

static void all_at_once(void)
{
	int *types, count;
	pcap_t *sender = pcap_open_live(own, 100, 0, 20, errors);
	pcap_t *any = pcap_create("any", errors);
	pcap_set_timeout(any, 20);
	pcap_set_promisc(any, 1);
	int status = pcap_activate(any);
	/* libpcap 1.10.3 keeps the warning's text and forgets its number. */
	printf("any %d %s\n", status >= 0, pcap_geterr(any));
	count = pcap_list_datalinks(any, &types);
	for (int i = 0; i < count; i++)
		printf("link type %s\n", pcap_datalink_val_to_name(types[i]));
	pcap_free_datalinks(types);
	printf("%d\n", pcap_datalink(any));
	keep(any, "ether proto 0x88b5");
	send_on(sender, 3);
	printf("looped %d\n", pcap_loop(any, 3, print, NULL));
	printf("second %d", pcap_set_datalink(any, DLT_LINUX_SLL2));
	printf(" is %d\n", pcap_datalink(any));
	keep(any, "ether proto 0x88b5 and outbound");
	send_on(sender, 2);
	printf("looped %d\n", pcap_loop(any, 2, print, NULL));
	printf("Ethernet %d\n", pcap_set_datalink(any, DLT_EN10MB));
	printf("inject %d\n", pcap_inject(any, "x", 1));
	pcap_close(any);
	pcap_close(sender);
}

int main(int argc, char **argv)
{
	own = argc == 2 ? argv[1] : "";
	devices();
	network(own);
	network("lo");
	network("any");
	network("no-such-link");
	monitor();
	all_at_once();
	return 0;
}
