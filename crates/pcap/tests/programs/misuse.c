/* Calls what programs call wrongly: nothing may crash, and each call says that it failed. */
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char errors[PCAP_ERRBUF_SIZE];
static int failures;

#define EXPECT(condition) \
	do { \
		if (!(condition)) { \
			failures++; \
			printf("line %d: %s\n", __LINE__, #condition); \
		} \
	} while (0)

static void never(u_char *user, const struct pcap_pkthdr *header, const u_char *data)
{
	(void)user, (void)header, (void)data;
	failures++;
}

static void no_handle(void)
{
	struct pcap_pkthdr *header;
	const u_char *data;
	struct bpf_program program = { 0 };
	int *list;
	EXPECT(pcap_activate(NULL) < 0 && pcap_set_snaplen(NULL, 1) < 0 && pcap_set_timeout(NULL, 1) < 0);
	EXPECT(pcap_loop(NULL, -1, never, NULL) < 0 && pcap_dispatch(NULL, -1, never, NULL) < 0);
	EXPECT(pcap_next(NULL, &(struct pcap_pkthdr){ 0 }) == NULL && pcap_next_ex(NULL, &header, &data) < 0);
	EXPECT(pcap_compile(NULL, &program, "tcp", 1, 0) < 0 && pcap_setfilter(NULL, &program) < 0);
	EXPECT(pcap_inject(NULL, "x", 1) < 0 && pcap_sendpacket(NULL, (const u_char *)"x", 1) < 0);
	EXPECT(pcap_get_selectable_fd(NULL) < 0 && pcap_fileno(NULL) < 0 && pcap_file(NULL) == NULL);
	EXPECT(pcap_stats(NULL, &(struct pcap_stat){ 0 }) < 0 && pcap_list_datalinks(NULL, &list) < 0);
	EXPECT(pcap_dump_open(NULL, "/dev/null") == NULL && pcap_datalink(NULL) < 0 && pcap_bufsize(NULL) < 0);
	EXPECT(strlen(pcap_geterr(NULL)) > 0);
	pcap_breakloop(NULL);
	pcap_close(NULL);
	pcap_freecode(NULL);
	pcap_freealldevs(NULL);
	pcap_dump_close(NULL);
	pcap_dump(NULL, NULL, NULL);
	EXPECT(pcap_open_offline(NULL, errors) == NULL && pcap_fopen_offline(NULL, errors) == NULL);
}

static void not_begun(void)
{
	struct pcap_pkthdr *header;
	const u_char *data;
	struct bpf_program program;
	pcap_t *handle = pcap_create("lo", errors);
	EXPECT(pcap_next_ex(handle, &header, &data) == PCAP_ERROR_NOT_ACTIVATED);
	EXPECT(pcap_loop(handle, 1, never, NULL) == PCAP_ERROR_NOT_ACTIVATED);
	EXPECT(pcap_compile(handle, &program, "tcp", 1, 0) < 0);
	EXPECT(pcap_inject(handle, "x", 1) == PCAP_ERROR_NOT_ACTIVATED);
	EXPECT(pcap_setdirection(handle, PCAP_D_IN) < 0 && pcap_datalink(handle) < 0);
	EXPECT(pcap_get_selectable_fd(handle) < 0);
	pcap_close(handle);
}

static void no_callback(void)
{
	pcap_t *dead = pcap_open_dead(DLT_EN10MB, 100);
	EXPECT(pcap_loop(dead, 1, NULL, NULL) < 0 && pcap_dispatch(dead, 1, NULL, NULL) < 0);
	EXPECT(pcap_loop(dead, 1, never, NULL) < 0 && pcap_next(dead, &(struct pcap_pkthdr){ 0 }) == NULL);
	EXPECT(pcap_setfilter(dead, NULL) < 0);
	EXPECT(pcap_setfilter(dead, &(struct bpf_program){ .bf_len = 3, .bf_insns = NULL }) < 0);
	EXPECT(pcap_inject(dead, NULL, 0) < 0 && pcap_inject(dead, NULL, (size_t)-1) < 0);
	EXPECT(pcap_activate(dead) < 0 && pcap_set_buffer_size(dead, 1) < 0);
	EXPECT(pcap_compile(dead, &(struct bpf_program){ 0 }, "\xff\xfe", 1, 0) < 0);
	EXPECT(pcap_set_datalink(dead, -7) < 0 && pcap_setnonblock(dead, 1, errors) < 0);
	EXPECT(pcap_dump_open(dead, NULL) == NULL && pcap_dump_fopen(dead, NULL) == NULL);
	pcap_close(dead);
}

int main(void)
{
	no_handle();
	not_begun();
	no_callback();
	return failures > 0;
}
