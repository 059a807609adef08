/* Uses what WinPcap has and libpcap has not, by linerate's header, on an interface that carries nothing else. */
#include <pcap/pcap.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIZE 60

static int failures;
static pcap_t *capture, *sender;
static char errors[PCAP_ERRBUF_SIZE];

#define EXPECT(condition) \
	do { \
		if (!(condition)) { \
			failures++; \
			printf("line %d: %s; %s; %s\n", __LINE__, #condition, pcap_geterr(capture), pcap_geterr(sender)); \
		} \
	} while (0)

/* A queue of frames that are so many microseconds apart. */
static struct pcap_send_queue *queue_of(int count, int apart)
{
	struct pcap_send_queue *queue = pcap_sendqueue_alloc(count * (sizeof(struct pcap_pkthdr) + SIZE));
	u_char frame[SIZE];
	for (int i = 0; i < count; i++) {
		struct pcap_pkthdr header = { .caplen = SIZE, .len = SIZE };
		header.ts.tv_sec = (long)i * apart / 1000000;
		header.ts.tv_usec = (long)i * apart % 1000000;
		memset(frame, i, SIZE);
		memcpy(frame, "\2\0\0\0\0\x99\2\0\0\0\0\x98\x88\xb5", 14);
		EXPECT(pcap_sendqueue_queue(queue, &header, frame) == 0);
	}
	EXPECT(pcap_sendqueue_queue(queue, &(struct pcap_pkthdr){ .caplen = 1 }, frame) == -1);
	return queue;
}

static int64_t micros(const struct pcap_pkthdr *header)
{
	return header->ts.tv_sec * INT64_C(1000000) + header->ts.tv_usec;
}

/* Takes so many packets; returns microseconds from the first to the last. */
static int64_t take(int count, int step)
{
	struct pcap_pkthdr *header;
	const u_char *data;
	int64_t first = 0, last = 0;
	for (int taken = 0, waits = 0; taken < count && waits < 300;) {
		if (pcap_next_ex(capture, &header, &data) != 1) {
			waits++;
			continue;
		}
		if (header->caplen != SIZE || data[20] != (u_char)(taken * step + step - 1)) {
			failures++;
			printf("packet %d of %d is %d\n", taken, count, data[20]);
		}
		if (taken++ == 0)
			first = micros(header);
		last = micros(header);
		EXPECT(taken <= count);
	}
	return last - first;
}

/* Takes what is left of earlier packets, which a ring gives out a tenth of a second late. */
static void drain(void)
{
	struct pcap_pkthdr *header;
	const u_char *data;
	for (int waits = 0; waits < 15;)
		waits = pcap_next_ex(capture, &header, &data) == 1 ? 0 : waits + 1;
}

/* Sends a queue in which long frames follow many short ones; 40,010 in all. */
static void grown(void)
{
	static const u_char frame[1000] = "\2\0\0\0\0\x99\2\0\0\0\0\x98\x88\xb5";
	struct pcap_send_queue *queue = pcap_sendqueue_alloc(8 << 20);
	for (int i = 0; i < 40010; i++) {
		u_int size = i % 20010 < 20000 ? SIZE : 500 + i % 500;
		struct pcap_pkthdr header = { .caplen = size, .len = size };
		EXPECT(pcap_sendqueue_queue(queue, &header, frame) == 0);
	}
	EXPECT(pcap_sendqueue_transmit(sender, queue, 0) == queue->len);
	pcap_sendqueue_destroy(queue);
	drain();
}

static void queues(void)
{
	struct pcap_send_queue *queue = queue_of(100, 1000);
	EXPECT(pcap_sendqueue_transmit(sender, queue, 0) == queue->len);
	take(100, 1);
	EXPECT(pcap_sendqueue_transmit(sender, queue, 1) == queue->len);
	int64_t span = take(100, 1);
	EXPECT(span >= 90000);
	queue->len -= 1;
	EXPECT(pcap_sendqueue_transmit(sender, queue, 0) == queue->len + 1 - SIZE - sizeof(struct pcap_pkthdr));
	EXPECT(strstr(pcap_geterr(sender), "ends inside a packet"));
	take(99, 1);
	pcap_sendqueue_destroy(queue);
	/* So many that a program in the kernel sends them, where there is one. */
	queue = queue_of(20000, 0);
	EXPECT(pcap_sendqueue_transmit(sender, queue, 0) == queue->len);
	drain();
	EXPECT(pcap_stats_ex(sender, NULL)->ps_sent == 20299);
	pcap_sendqueue_destroy(queue);
	grown();
	EXPECT(pcap_stats_ex(sender, NULL)->ps_sent == 60309);
	pcap_sendqueue_destroy(NULL);
	pcap_t *dead = pcap_open_dead(DLT_EN10MB, 100);
	queue = queue_of(1, 0);
	EXPECT(pcap_sendqueue_transmit(dead, queue, 0) == 0);
	pcap_sendqueue_destroy(queue);
	pcap_close(dead);
}

static void send_now(int count)
{
	struct pcap_send_queue *queue = queue_of(count, 0);
	EXPECT(pcap_sendqueue_transmit(sender, queue, 0) == queue->len);
	pcap_sendqueue_destroy(queue);
}

static void sampling(void)
{
	struct pcap_samp *samples = pcap_setsampling(capture);
	samples->method = 1;
	samples->value = 5;
	send_now(50);
	take(10, 5);
	samples->method = 0;
}

static void settings(void)
{
	EXPECT(pcap_setbuff(capture, 1 << 20) == 0 && pcap_bufsize(capture) == 1 << 20);
	EXPECT(pcap_setbuff(capture, 0) == -1);
	EXPECT(pcap_setmintocopy(capture, 0) == 0 && pcap_setmintocopy(capture, 16000) == 0);
	EXPECT(pcap_setuserbuffer(capture, 1 << 20) == 0 && pcap_setuserbuffer(capture, -1) == -1);
	struct pollfd event = { .fd = pcap_getevent(capture), .events = POLLIN };
	EXPECT(event.fd == pcap_get_selectable_fd(capture));
	send_now(10);
	EXPECT(poll(&event, 1, 5000) == 1);
	take(10, 1);
	int size = 0;
	const struct pcap_stat_ex *stats = pcap_stats_ex(capture, &size);
	EXPECT(size == sizeof *stats && stats->base.ps_drop == 0 && stats->ps_capt == stats->base.ps_recv);
}

static void statistics(void)
{
	struct bpf_program program;
	struct pcap_pkthdr *header;
	const u_char *data;
	uint64_t packets = 0, bytes = 0;
	EXPECT(pcap_setmode(capture, 1) == 0);
	EXPECT(pcap_compile(capture, &program, "ether[20] < 100", 1, PCAP_NETMASK_UNKNOWN) == 0);
	EXPECT(pcap_setfilter(capture, &program) == 0);
	pcap_freecode(&program);
	send_now(150);
	struct pollfd event = { .fd = pcap_get_selectable_fd(capture), .events = POLLIN };
	for (int turn = 0; turn < 300 && packets < 100; turn++) {
		EXPECT(poll(&event, 1, 5000) == 1);
		if (pcap_next_ex(capture, &header, &data) != 1)
			continue;
		uint64_t numbers[2];
		EXPECT(header->caplen == sizeof numbers);
		memcpy(numbers, data, sizeof numbers);
		packets += numbers[0];
		bytes += numbers[1];
	}
	EXPECT(packets == 100 && bytes == 100 * SIZE);
	EXPECT(pcap_setmode(capture, 2) == -1);
	EXPECT(pcap_setmode(capture, 0) == 0);
	EXPECT(pcap_compile(capture, &program, "", 1, PCAP_NETMASK_UNKNOWN) == 0);
	EXPECT(pcap_setfilter(capture, &program) == 0);
	pcap_freecode(&program);
	send_now(10);
	take(10, 1);
}

static int packets_in(const char *name)
{
	struct pcap_pkthdr *header;
	const u_char *data;
	int count = 0;
	pcap_t *file = pcap_open_offline(name, errors);
	while (file && pcap_next_ex(file, &header, &data) == 1)
		EXPECT(data[20] == (u_char)count++);
	pcap_close(file);
	return count;
}

static void dumps(char *name)
{
	EXPECT(pcap_live_dump_ended(capture, 1) == -1);
	EXPECT(pcap_live_dump(capture, "/nowhere/file", 0, 0) == -1);
	EXPECT(pcap_live_dump(capture, name, 0, 30) == 0);
	EXPECT(pcap_next(capture, &(struct pcap_pkthdr){ 0 }) == NULL);
	send_now(40);
	EXPECT(pcap_live_dump_ended(capture, 1) == 1 && packets_in(name) == 30);
	drain();
	EXPECT(pcap_live_dump(capture, name, 24 + 5 * (16 + SIZE) + 10, 0) == 0);
	send_now(20);
	EXPECT(pcap_live_dump_ended(capture, 1) == 1 && packets_in(name) == 5);
	EXPECT(pcap_live_dump(capture, name, 0, 0) == 0);
	EXPECT(pcap_live_dump_ended(capture, 0) == 0);
	pcap_breakloop(capture);
	EXPECT(pcap_live_dump_ended(capture, 1) == 1);
	drain();
	send_now(10);
	take(10, 1);
	EXPECT(pcap_live_dump(capture, "/dev/full", 0, 1) == 0);
	send_now(2);
	EXPECT(pcap_live_dump_ended(capture, 1) == -1);
	/* Closing ends it. */
	EXPECT(pcap_live_dump(capture, name, 0, 0) == 0);
}

static void options(void)
{
	pcap_options *all = pcap_alloc_option();
	EXPECT(pcap_set_option_int(all, 1, 1) == 0 && pcap_get_option_int(all, 1) == 1);
	EXPECT(pcap_set_option_int(all, 2, 1) == -2 && pcap_set_option_int(all, 9, 1) == -1);
	EXPECT(pcap_get_option_string(all, 3) == NULL);
	EXPECT(pcap_set_option_string(all, 3, "text") == 0 && !strcmp(pcap_get_option_string(all, 3), "text"));
	EXPECT(pcap_set_option_string(all, 1, "text") == -2 && pcap_get_option_string(all, 1) == NULL);
	EXPECT(pcap_get_option_int(all, 3) == -2 && pcap_get_option_int(all, 0) == -1);
	pcap_free_option(all);
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	capture = pcap_open_live(argv[1], 1000, 0, 20, errors);
	sender = pcap_open_live(argv[1], 1000, 0, 20, errors);
	if (!capture || !sender) {
		printf("%s\n", errors);
		return 1;
	}
	queues();
	sampling();
	settings();
	statistics();
	dumps(argv[2]);
	options();
	pcap_close(capture);
	pcap_close(sender);
	return failures > 0;
}
