/* The compiler compares linerate's declarations with libpcap's, which come first. */
#include <pcap/pcap.h>
#include <pcap/namedb.h>
/* Another name for the same number there. */
_Static_assert(DLT_IEEE802_15_4 == 195, "the number of 802.15.4");
#undef DLT_IEEE802_15_4
#include LINERATE_HEADER

#ifndef LINERATE_PCAP_H
#error "that is not linerate's header"
#endif

int main(void)
{
	return pcap_lib_version() == NULL;
}
