/* Sends on an interface by one handle, captures by another, in each way, and prints what came. */
#include <pcap/pcap.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define SIZE 60
#define TYPE 0x88b5

static char errors[PCAP_ERRBUF_SIZE];
static pcap_t *capture, *sender;
static int next_number;

static void fill(u_char *frame, int number)
{
	memset(frame, number, SIZE);
	memcpy(frame, "\2\0\0\0\0\x99\2\0\0\0\0\x98\x88\xb5", 14);
}

static void send_frames(pcap_t *handle, int count)
{
	u_char frame[SIZE];
	for (int i = 0; i < count; i++) {
		fill(frame, i);
		int sent = i % 2 ? pcap_inject(handle, frame, SIZE) : pcap_sendpacket(handle, frame, SIZE);
		if (sent != (i % 2 ? SIZE : 0))
			printf("frame %d: %d %s\n", i, sent, pcap_geterr(handle));
	}
}

static void check(u_char *user, const struct pcap_pkthdr *header, const u_char *data)
{
	(void)user;
	if (header->caplen != SIZE || header->len != SIZE || data[20] != (u_char)next_number)
		printf("packet %d is %d, %u of %u\n", next_number, data[20], header->caplen, header->len);
	next_number++;
}

static pcap_t *opened(const char *device, int protocol)
{
	pcap_t *handle = pcap_create(device, errors);
	pcap_set_timeout(handle, 20);
	pcap_set_snaplen(handle, 1000);
	if (protocol)
		printf("protocol %d\n", pcap_set_protocol_linux(handle, protocol));
	int status = pcap_activate(handle);
	if (status)
		printf("activate %d: %s\n", status, pcap_geterr(handle));
	return handle;
}

static int readable(int millis)
{
	struct pollfd fd = { .fd = pcap_get_selectable_fd(capture), .events = POLLIN };
	return poll(&fd, 1, millis);
}

/* Takes packets as poll says that there are some; so many at once. */
static void take(int count, int at_once)
{
	next_number = 0;
	while (next_number < count) {
		if (readable(5000) != 1) {
			printf("not readable after %d\n", next_number);
			return;
		}
		if (pcap_dispatch(capture, at_once, check, NULL) < 0)
			printf("dispatch: %s\n", pcap_geterr(capture));
	}
	printf("took %d\n", next_number);
}

/* Reads on until nothing is there, and poll says so. */
static void becomes_quiet(void)
{
	int rounds = 0;
	while (readable(300) && rounds++ < 20)
		printf("%s", pcap_dispatch(capture, -1, check, NULL) ? "more\n" : "");
	printf("quiet %d\n", rounds < 20);
}

static void refusals(void)
{
	pcap_t *dead = pcap_open_dead(DLT_EN10MB, 100);
	printf("dead %d: %s\n", pcap_inject(dead, "x", 1), pcap_geterr(dead));
	printf("dead %d: %s\n", pcap_sendpacket(dead, (const u_char *)"x", 1), pcap_geterr(dead));
	printf("nothing %d: %.47s\n", pcap_sendpacket(dead, (const u_char *)"x", 0), pcap_geterr(dead));
	pcap_close(dead);
	pcap_t *created = pcap_create("lo", errors);
	printf("created %d %d %d\n", pcap_inject(created, "x", 1), pcap_bufsize(created), pcap_get_selectable_fd(created));
	printf("stats %d\n", pcap_stats(created, &(struct pcap_stat){ 0 }));
	printf("next %d\n", pcap_next_ex(created, &(struct pcap_pkthdr *){ 0 }, &(const u_char *){ 0 }));
	pcap_close(created);
	pcap_t *none = pcap_create("no-such-link", errors);
	printf("none %d\n", pcap_activate(none));
	pcap_close(none);
}

static void filters(void)
{
	struct bpf_program program;
	int fd = pcap_get_selectable_fd(capture);
	printf("compile %d\n", pcap_compile(capture, &program, "ether proto 0x88b5 and ether[20] < 10", 1, PCAP_NETMASK_UNKNOWN));
	printf("set %d\n", pcap_setfilter(capture, &program));
	pcap_freecode(&program);
	printf("same fd %d\n", fd == pcap_get_selectable_fd(capture));
	send_frames(sender, 50);
	take(10, -1);
	becomes_quiet();
	printf("all %d\n", pcap_compile(capture, &program, "", 1, PCAP_NETMASK_UNKNOWN));
	printf("set %d\n", pcap_setfilter(capture, &program));
	pcap_freecode(&program);
	printf("in %d\n", pcap_setdirection(capture, PCAP_D_IN));
	send_frames(sender, 5);
	becomes_quiet();
	printf("both %d\n", pcap_setdirection(capture, PCAP_D_INOUT));
}

static void one_by_one(void)
{
	struct pcap_pkthdr *header;
	const u_char *data;
	send_frames(sender, 70);
	next_number = 0;
	while (next_number < 70 && readable(5000) == 1)
		if (pcap_next_ex(capture, &header, &data) == 1)
			check(NULL, header, data);
	printf("one by one %d\n", next_number);
}

static void nonblocking(void)
{
	printf("set %d, is %d\n", pcap_setnonblock(capture, 1, errors), pcap_getnonblock(capture, errors));
	becomes_quiet();
	printf("nothing %d\n", pcap_dispatch(capture, -1, check, NULL));
	send_frames(sender, 20);
	take(20, 3);
	printf("set %d, is %d\n", pcap_setnonblock(capture, 0, errors), pcap_getnonblock(capture, errors));
}

static void end(int signal)
{
	(void)signal;
	pcap_breakloop(capture);
}

static void *end_later(void *unused)
{
	usleep(50000);
	end(0);
	return unused;
}

static void ends(void)
{
	pthread_t thread;
	pthread_create(&thread, NULL, end_later, NULL);
	printf("by a thread %d\n", pcap_loop(capture, -1, check, NULL));
	pthread_join(thread, NULL);
	signal(SIGALRM, end);
	setitimer(ITIMER_REAL, &(struct itimerval){ .it_value = { .tv_usec = 50000 } }, NULL);
	printf("by a signal %d\n", pcap_loop(capture, -1, check, NULL));
	end(0);
	printf("before %d\n", pcap_dispatch(capture, -1, check, NULL));
}

static void *loop(void *unused)
{
	pcap_loop(capture, -1, check, NULL);
	return unused;
}

/* A thread that waits for packets may be cancelled, and the handle goes on. */
static void cancelled(void)
{
	pthread_t thread;
	void *result;
	pthread_create(&thread, NULL, loop, NULL);
	usleep(50000);
	pthread_cancel(thread);
	pthread_join(thread, &result);
	printf("cancelled %d\n", result == PTHREAD_CANCELED);
	send_frames(sender, 30);
	take(30, -1);
}

static void forked(void)
{
	pid_t child = fork();
	if (child == 0)
		_exit(0);
	waitpid(child, NULL, 0);
	send_frames(sender, 30);
	take(30, -1);
}

/* Packets that a handle has seen since this was asked last. */
static u_int seen(pcap_t *handle, struct pcap_stat *before)
{
	struct pcap_stat now;
	if (pcap_stats(handle, &now))
		printf("stats: %s\n", pcap_geterr(handle));
	u_int packets = now.ps_recv - before->ps_recv;
	*before = now;
	return packets;
}

/* A handle does not see what it sends, others do. */
static void own(void)
{
	struct pcap_stat of_capture = { 0 }, of_sender = { 0 };
	seen(capture, &of_capture);
	seen(sender, &of_sender);
	send_frames(capture, 10);
	becomes_quiet();
	printf("own %u, of others %u\n", seen(capture, &of_capture), seen(sender, &of_sender));
}

static void protocol(void)
{
	capture = opened("lo", TYPE);
	pcap_t *other = opened("lo", 0x88b6);
	pcap_setnonblock(other, 1, errors);
	send_frames(capture, 10);
	take(10, -1);
	printf("other %d\n", pcap_dispatch(other, -1, check, NULL));
	pcap_close(other);
	pcap_close(capture);
}

static void beginning(void)
{
	printf("init %d", pcap_init(77, errors));
	printf(": %s\n", errors);
	printf("init %d\n", pcap_init(PCAP_CHAR_ENC_UTF_8, errors));
	printf("init %d\n", pcap_init(PCAP_CHAR_ENC_UTF_8, errors));
	printf("init %d", pcap_init(PCAP_CHAR_ENC_LOCAL, errors));
	printf(": %s\n", errors);
	printf("lookup %d", pcap_lookupdev(errors) == NULL);
	printf(": %s\n", errors);
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	struct pcap_stat stats;
	refusals();
	capture = opened(argv[1], 0);
	sender = opened(argv[1], 0);
	printf("fd %d, timeout %d\n", pcap_get_selectable_fd(capture) >= 0, pcap_get_required_select_timeout(capture) == NULL);
	printf("fileno %d\n", pcap_fileno(capture) == pcap_get_selectable_fd(capture));
	becomes_quiet();
	send_frames(sender, 200);
	take(200, 7);
	send_frames(sender, 200);
	take(200, 1);
	becomes_quiet();
	printf("stats %d", pcap_stats(capture, &stats));
	printf(": %u %u\n", stats.ps_recv, stats.ps_drop);
	one_by_one();
	nonblocking();
	filters();
	ends();
	forked();
	cancelled();
	own();
	pcap_close(sender);
	pcap_close(capture);
	protocol();
	beginning();
	return 0;
}
