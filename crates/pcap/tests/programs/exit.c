/* Captures ten packets that it sends itself, and ends in the way that it is told, mostly without closing the capture. */
#include <pcap/pcap.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define COUNT 10

static char errors[PCAP_ERRBUF_SIZE];
static pcap_t *capture;
static volatile int taken;
static int ends_at_last;

static void fail(const char *what)
{
	printf("%s: %s\n", what, errors);
	_exit(1);
}

static void take(u_char *user, const struct pcap_pkthdr *header, const u_char *data)
{
	(void)user, (void)header, (void)data;
	if (++taken == COUNT && ends_at_last)
		exit(0);
}

static void end(int signal)
{
	(void)signal;
	exit(0);
}

static void *loop(void *unused)
{
	pcap_loop(capture, -1, take, NULL);
	return unused;
}

static void open_and_send(const char *device)
{
	struct bpf_program program;
	u_char frame[60] = "\2\0\0\0\0\x99\2\0\0\0\0\x98\x88\xb5";
	capture = pcap_open_live(device, 1000, 0, 0, errors);
	pcap_t *sender = pcap_open_live(device, 1000, 0, 20, errors);
	if (!capture || !sender)
		fail("open");
	if (pcap_compile(capture, &program, "ether proto 0x88b5", 1, PCAP_NETMASK_UNKNOWN) || pcap_setfilter(capture, &program))
		fail("filter");
	pcap_freecode(&program);
	for (int i = 0; i < COUNT; i++)
		if (pcap_inject(sender, frame, sizeof frame) != sizeof frame)
			fail("send");
	pcap_close(sender);
}

int main(int argc, char **argv)
{
	pthread_t thread;
	const char *way = argc == 3 ? argv[2] : "";
	open_and_send(argv[1]);
	if (!strcmp(way, "callback")) {
		ends_at_last = 1;
		loop(NULL);
	}
	if (!strcmp(way, "handler")) {
		/* It comes in the middle of a wait that nothing else ends. */
		signal(SIGALRM, end);
		setitimer(ITIMER_REAL, &(struct itimerval){ .it_value = { .tv_usec = 300000 } }, NULL);
		loop(NULL);
	}
	if (!strcmp(way, "thread")) {
		pthread_create(&thread, NULL, loop, NULL);
		while (taken < COUNT)
			usleep(1000);
		usleep(50000);
		return 0;
	}
	if (!strcmp(way, "child")) {
		/* As a daemon: the child goes on, the parent is gone. */
		pid_t child = fork();
		if (child > 0) {
			int status;
			waitpid(child, &status, 0);
			_exit(WEXITSTATUS(status));
		}
	}
	if (pcap_loop(capture, COUNT, take, NULL))
		fail("loop");
	if (!strcmp(way, "fork")) {
		/* What was opened before is not the child's. */
		pid_t child = fork();
		if (child == 0)
			exit(0);
		waitpid(child, NULL, 0);
	}
	if (!strcmp(way, "close"))
		pcap_close(capture);
	return 0;
}
