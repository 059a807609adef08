/* Writes a savefile, reads it back in each way, and prints what it finds. */
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char errors[PCAP_ERRBUF_SIZE];
static int calls;

static void print(u_char *user, const struct pcap_pkthdr *header, const u_char *data)
{
	printf("%s %ld.%ld %u of %u: %u\n", (char *)user, (long)header->ts.tv_sec, (long)header->ts.tv_usec,
	       header->caplen, header->len, data[0]);
}

static void end_at_third(u_char *user, const struct pcap_pkthdr *header, const u_char *data)
{
	print((u_char *)"until third", header, data);
	if (++calls == 3)
		pcap_breakloop((pcap_t *)user);
}

static void dump(pcap_dumper_t *dumper, int first, int count)
{
	u_char data[100];
	for (int i = first; i < first + count; i++) {
		struct pcap_pkthdr header = { .ts = { 1000 + i, 123456 }, .caplen = 60 + i, .len = 1000 + i };
		memset(data, i, sizeof data);
		pcap_dump((u_char *)dumper, &header, data);
	}
}

static void write_file(const char *path)
{
	pcap_t *handle = pcap_open_dead(DLT_RAW, 65535);
	pcap_dumper_t *dumper = pcap_dump_open(handle, path);
	dump(dumper, 0, 5);
	printf("at %ld %lld\n", pcap_dump_ftell(dumper), (long long)pcap_dump_ftell64(dumper));
	printf("flushed %d, stream %d\n", pcap_dump_flush(dumper), pcap_dump_file(dumper) != NULL);
	pcap_dump_close(dumper);
	dumper = pcap_dump_open_append(handle, path);
	dump(dumper, 5, 2);
	pcap_dump_close(dumper);
	pcap_close(handle);
	handle = pcap_open_dead(DLT_EN10MB, 65535);
	printf("append: %d\n", pcap_dump_open_append(handle, path) == NULL);
	printf("%s\n", strstr(pcap_geterr(handle), "different linktype") ? "different linktype" : pcap_geterr(handle));
	printf("nowhere: %d\n", pcap_dump_open(handle, "/nowhere/file") == NULL);
	printf("%s\n", pcap_geterr(handle));
	pcap_close(handle);
}

/* Writes packets into streams that the program has opened, buffered in each way, and something of its own in between. */
static void write_streams(const char *path)
{
	static const struct { int mode; size_t size; } ways[] = {
		{ _IOFBF, 1 << 16 }, { _IOFBF, 256 }, { _IOLBF, 256 }, { _IONBF, 0 },
	};
	pcap_t *handle = pcap_open_dead(DLT_RAW, 65535);
	for (int way = 0; way < 4; way++) {
		FILE *file = fopen(path, "w+b");
		setvbuf(file, NULL, ways[way].mode, ways[way].size);
		pcap_dumper_t *dumper = pcap_dump_fopen(handle, file);
		dump(dumper, 0, 40);
		fputs("own\n", file);
		dump(dumper, 2, 7);
		printf("at %ld", pcap_dump_ftell(dumper));
		rewind(file);
		unsigned long sum = 0, count = 0;
		for (int c; (c = getc(file)) != EOF; count++)
			sum = sum * 31 + c;
		fseek(file, 0, SEEK_END);
		dump(dumper, 1, 1);
		printf(", %lu bytes, %lx, then %ld, error %d\n", count, sum, pcap_dump_ftell(dumper), pcap_dump_flush(dumper));
		pcap_dump_close(dumper);
	}
	FILE *full = fopen("/dev/full", "wb");
	pcap_dumper_t *dumper = pcap_dump_fopen(handle, full);
	dump(dumper, 0, 40);
	printf("full: %d\n", pcap_dump_flush(dumper));
	fclose(full);
	pcap_close(handle);
}

static void read_by_loop(const char *path)
{
	pcap_t *handle = pcap_open_offline(path, errors);
	printf("%d %d %d %d.%d\n", pcap_datalink(handle), pcap_snapshot(handle), pcap_is_swapped(handle),
	       pcap_major_version(handle), pcap_minor_version(handle));
	printf("%d %d\n", pcap_get_tstamp_precision(handle), pcap_datalink_ext(handle));
	printf("file %d, fd %d, select %d\n", pcap_file(handle) != NULL, pcap_fileno(handle) >= 0,
	       pcap_get_selectable_fd(handle) == fileno(pcap_file(handle)));
	printf("dispatched %d\n", pcap_dispatch(handle, 2, print, (u_char *)"dispatch"));
	printf("looped %d\n", pcap_loop(handle, 2, print, (u_char *)"loop"));
	struct pcap_pkthdr header;
	print((u_char *)"next", &header, pcap_next(handle, &header));
	printf("looped %d\n", pcap_loop(handle, -1, print, (u_char *)"rest"));
	printf("next %d\n", pcap_next(handle, &header) == NULL);
	struct pcap_stat stats;
	printf("stats %d: %s\n", pcap_stats(handle, &stats), pcap_geterr(handle));
	pcap_close(handle);
}

static void read_one_by_one(const char *path, const char *expression)
{
	pcap_t *handle = pcap_open_offline_with_tstamp_precision(path, PCAP_TSTAMP_PRECISION_NANO, errors);
	struct pcap_pkthdr *header;
	const u_char *data;
	struct bpf_program program;
	int status;
	printf("compiled %d\n", pcap_compile(handle, &program, expression, 1, 0));
	printf("set %d\n", pcap_setfilter(handle, &program));
	pcap_freecode(&program);
	while ((status = pcap_next_ex(handle, &header, &data)) == 1)
		print((u_char *)"next_ex", header, data);
	printf("ended %d\n", status);
	pcap_close(handle);
}

static void break_off(const char *path)
{
	pcap_t *handle = pcap_fopen_offline(fopen(path, "rb"), errors);
	printf("broken %d\n", pcap_loop(handle, -1, end_at_third, (u_char *)handle));
	printf("on %d\n", pcap_dispatch(handle, 1, print, (u_char *)"on"));
	static struct bpf_insn none[] = { BPF_STMT(BPF_RET | BPF_K, 0) };
	struct bpf_program program = { .bf_len = 1, .bf_insns = none };
	printf("set %d\n", pcap_setfilter(handle, &program));
	printf("filtered %d\n", pcap_loop(handle, -1, print, (u_char *)"never"));
	program.bf_insns[0].code = 0xff;
	printf("invalid %d\n", pcap_setfilter(handle, &program));
	int *list = NULL;
	printf("lists %d", pcap_list_datalinks(handle, &list));
	printf(": %d\n", list[0]);
	pcap_free_datalinks(list);
	printf("set %d\n", pcap_set_datalink(handle, DLT_RAW));
	pcap_close(handle);
}

static void faults(const char *path)
{
	printf("missing %d: %s\n", pcap_open_offline("/nowhere/file", errors) == NULL, errors);
	printf("no savefile %d\n", pcap_open_offline("/proc/self/exe", errors) == NULL);
	FILE *file = fopen(path, "ab");
	fwrite("cut", 1, 3, file);
	fclose(file);
	pcap_t *handle = pcap_open_offline(path, errors);
	printf("cut %d\n", pcap_loop(handle, -1, print, (u_char *)"cut"));
	printf("%.19s\n", pcap_geterr(handle));
	pcap_close(handle);
	pcap_t *full = pcap_open_dead(DLT_RAW, 65535);
	pcap_dumper_t *dumper = pcap_dump_open(full, "/dev/full");
	dump(dumper, 0, 5);
	printf("full %d\n", pcap_dump_flush(dumper));
	pcap_dump_close(dumper);
	pcap_close(full);
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	write_file(argv[1]);
	read_by_loop(argv[1]);
	read_one_by_one(argv[1], "len > 1002");
	break_off(argv[1]);
	faults(argv[1]);
	write_streams(argv[1]);
	return 0;
}
