/* The compiler compares linerate's declarations with libpcap's, which come first. */
#include <pcap/pcap.h>
#include <pcap/namedb.h>
#include LINERATE_HEADER

#ifndef LINERATE_PCAP_H
#error "that is not linerate's header"
#endif

int main(void)
{
	return pcap_lib_version() == NULL;
}
