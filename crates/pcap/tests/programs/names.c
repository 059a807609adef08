/* Prints what the name functions say. */
#include <pcap/pcap.h>
#include <pcap/namedb.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>

static const char *or_none(const char *text)
{
	return text != NULL ? text : "none";
}

static void link_types(void)
{
	for (int number = -2; number < 400; number++) {
		const char *name = pcap_datalink_val_to_name(number);
		int described = pcap_datalink_val_to_description(number) != NULL;
		printf("link type %d: %s %d\n", number, or_none(name), described);
		if (name != NULL)
			printf("  back: %d\n", pcap_datalink_name_to_val(name));
		else
			printf("  or: %s\n", pcap_datalink_val_to_description_or_dlt(number));
	}
	printf("%d %d %d\n", pcap_datalink_name_to_val("en10mb"), pcap_datalink_name_to_val("nonsense"),
	       pcap_datalink_name_to_val("1"));
}

static void time_stamps(void)
{
	for (int number = -1; number < 8; number++)
		printf("stamps %d: %s, %s\n", number, or_none(pcap_tstamp_type_val_to_name(number)),
		       or_none(pcap_tstamp_type_val_to_description(number)));
	printf("%d %d\n", pcap_tstamp_type_name_to_val("ADAPTER"), pcap_tstamp_type_name_to_val("watch"));
}

static void ports(const char *name)
{
	int first = 0, last = 0, protocol = 0;
	int known = pcap_nametoportrange(name, &first, &last, &protocol);
	if (known)
		printf("ports %s: %d to %d by %d\n", name, first, last, protocol);
	known = pcap_nametoport(name, &first, &protocol);
	printf("port %s: %d", name, known);
	printf(known ? " is %d by %d\n" : "\n", first, protocol);
}

static void protocols(const char *name)
{
	printf("protocol %s: %d %d %d\n", name, pcap_nametoproto(name), pcap_nametoeproto(name), pcap_nametollc(name));
}

static void hardware_address(const char *text)
{
	u_char *address = pcap_ether_aton(text);
	for (int i = 0; i < 6; i++)
		printf("%02x ", address[i]);
	printf("is %s\n", text);
	free(address);
}

static void ethers(const char *path)
{
	FILE *file = fopen(path, "r");
	struct pcap_etherent *entry;
	while ((entry = pcap_next_etherent(file)) != NULL)
		printf("%02x %02x %s\n", entry->addr[0], entry->addr[5], entry->name);
	fclose(file);
}

static void hosts(void)
{
	bpf_u_int32 **list = pcap_nametoaddr("127.0.0.9");
	printf("%08x %d\n", **list, list[1] == NULL);
	struct addrinfo *found = pcap_nametoaddrinfo("127.0.0.9");
	printf("%d\n", found->ai_family == AF_INET);
	freeaddrinfo(found);
	printf("%d\n", pcap_nametoaddrinfo("no.such.host.invalid") == NULL);
	printf("%u\n", pcap_nametonetaddr("no-such-network"));
}

struct eproto {
	const char *name;
	u_short number;
};
extern struct eproto eproto_db[];
extern const char pcap_version[];

int main(int argc, char **argv)
{
	(void)argc;
	link_types();
	time_stamps();
	for (int status = -12; status < 4; status++)
		if (status != 0)
			printf("status %d: %s\n", status, pcap_statustostr(status));
	printf("%s, version %s\n", pcap_strerror(2), pcap_version);
	ports("80");
	ports("http");
	ports("domain");
	ports("tftp");
	ports("1000-2000");
	ports("nonsense");
	protocols("tcp");
	protocols("arp");
	protocols("ip6");
	protocols("stp");
	protocols("nonsense");
	hardware_address("2:0:0:ab:c:10");
	hardware_address("02-00-00-AB-0C-10");
	hardware_address("0200.00ab.0c10");
	hardware_address("020000ab0c10");
	ethers(argv[1]);
	hosts();
	for (struct eproto *entry = eproto_db; entry->name != NULL; entry++)
		printf("%s %x\n", entry->name, entry->number);
	return 0;
}
