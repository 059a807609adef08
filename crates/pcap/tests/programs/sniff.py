# Sniffs, asks and sends by Scapy on libpcap, on an interface that carries datagrams to port 9, and prints what came.
import sys
import time

from scapy.all import ICMP, IP, UDP, AsyncSniffer, Ether, Raw, conf, sendp, sniff, srp, srp1

conf.use_pcap = True
conf.verb = 0
interface, own, other, mac = sys.argv[1:]

packets = sniff(iface=interface, filter="udp port 9", count=30, timeout=20)
print("sniffed", len(packets), {packet[UDP].dport for packet in packets}, packets[0][Raw].load)

answers, silent = srp([Ether(dst=mac) / IP(src=own, dst=other) / ICMP(seq=n) for n in range(5)], iface=interface, timeout=10)
print("answers", len(answers), len(silent))
answer = srp1(Ether(dst=mac) / IP(src=own, dst=other) / ICMP(), iface=interface, timeout=10)
print("answered", answer is not None and answer[IP].src == other)

sniffer = AsyncSniffer(iface=interface, filter="udp port 77", store=True)
sniffer.start()
time.sleep(1)
sendp([Ether(dst=mac) / IP(src=own, dst=other) / UDP(sport=77, dport=77) / bytes([n]) for n in range(20)], iface=interface)
time.sleep(1)
print("seen", [bytes(packet[UDP].payload)[0] for packet in sniffer.stop() if packet[UDP].dport == 77])
