/* Threads that compile, capture and send at the same time, each with a handle of its own, and one that ends another's wait. */
#include <pcap/pcap.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#define THREADS 4
#define EACH 100
#define SIZE 60

static const char *device;
static pthread_barrier_t all_listen;
static pcap_t *waiting;

struct share {
	int number, wrong;
};

static pcap_t *opened(int timeout)
{
	char errors[PCAP_ERRBUF_SIZE];
	pcap_t *handle = pcap_open_live(device, 1000, 0, timeout, errors);
	if (handle == NULL) {
		printf("open: %s\n", errors);
		_exit(1);
	}
	return handle;
}

static void check(u_char *user, const struct pcap_pkthdr *header, const u_char *data)
{
	struct share *share = (struct share *)user;
	share->wrong += header->caplen != SIZE || data[20] % THREADS != share->number;
}

static void *capture(void *user)
{
	struct share *share = user;
	struct bpf_program program;
	char expression[80];
	pcap_t *handle = opened(20);
	snprintf(expression, sizeof expression, "ether proto 0x88b5 and ether[20] %% %d = %d", THREADS, share->number);
	if (pcap_compile(handle, &program, expression, 1, PCAP_NETMASK_UNKNOWN) || pcap_setfilter(handle, &program))
		printf("filter: %s\n", pcap_geterr(handle));
	pcap_freecode(&program);
	pthread_barrier_wait(&all_listen);
	if (pcap_loop(handle, EACH, check, user))
		printf("loop: %s\n", pcap_geterr(handle));
	pcap_close(handle);
	return NULL;
}

static void *forward(void *user)
{
	u_char frame[SIZE] = "\2\0\0\0\0\x99\2\0\0\0\0\x98\x88\xb5";
	pcap_t *handle = opened(20);
	pthread_barrier_wait(&all_listen);
	for (int i = 0; i < THREADS * EACH / 2; i++) {
		frame[20] = i;
		pcap_inject(handle, frame, SIZE);
	}
	pcap_close(handle);
	return user;
}

static void shares(void)
{
	pthread_t threads[THREADS + 2];
	struct share shares[THREADS];
	pthread_barrier_init(&all_listen, NULL, THREADS + 2);
	for (int i = 0; i < THREADS; i++) {
		shares[i] = (struct share){ .number = i };
		pthread_create(&threads[i], NULL, capture, &shares[i]);
	}
	pthread_create(&threads[THREADS], NULL, forward, NULL);
	pthread_create(&threads[THREADS + 1], NULL, forward, NULL);
	for (int i = 0; i < THREADS + 2; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < THREADS; i++)
		printf("%d wrong\n", shares[i].wrong);
}

static void never(u_char *user, const struct pcap_pkthdr *header, const u_char *data)
{
	(void)user, (void)header, (void)data;
}

static void *end_later(void *unused)
{
	usleep(100000);
	pcap_breakloop(waiting);
	return unused;
}

static void end(int signal)
{
	(void)signal;
	pcap_breakloop(waiting);
}

/* Waits that nothing else would end. */
static void ends(void)
{
	static struct bpf_insn none[] = { BPF_STMT(BPF_RET | BPF_K, 0) };
	struct bpf_program program = { .bf_len = 1, .bf_insns = none };
	pthread_t thread;
	waiting = opened(0);
	printf("set %d\n", pcap_setfilter(waiting, &program));
	pthread_create(&thread, NULL, end_later, NULL);
	printf("by a thread %d\n", pcap_loop(waiting, -1, never, NULL));
	pthread_join(thread, NULL);
	signal(SIGALRM, end);
	setitimer(ITIMER_REAL, &(struct itimerval){ .it_value = { .tv_usec = 100000 } }, NULL);
	printf("by a signal %d\n", pcap_loop(waiting, -1, never, NULL));
	pcap_close(waiting);
}

int main(int argc, char **argv)
{
	device = argc == 2 ? argv[1] : "";
	shares();
	ends();
	return 0;
}
