#!/usr/bin/env python3
"""Runs the messages of a tidegate run through ns-3's TcpDctcp, and compares completion times.

    pip install ns3==3.44.post0
    tidegate run experiments/dctcp-ns3-incast/scenario.toml --out /tmp/incast
    mkdir -p /tmp/empty && cd /tmp/empty    # the wheel searches the working directory, deeply
    python .../experiments/dctcp-ns3.py /tmp/incast

Reads RUN/resolved.toml and RUN/flows.csv, writes RUN/ns3-HOSTS.csv (flow_id, fct_ps) and prints means and
medians of both programs by size, as JSON.

What is made equal:

- Frames. ns-3 counts 42 B around a payload (IP 20, TCP 20, PPP 2), tidegate 78 B (with Ethernet's
  preamble and gap). Rates are multiplied by (payload + 42) / (payload + 78), so that a full packet
  takes the same time; an acknowledgement then takes 43 % less here (0.04 us at 10 Gb/s).
- Queues. A port of a switch is a RED queue disc in packets that marks at K and never drops early;
  the device holds one packet, which counts as waiting in tidegate, so K is one less here.
- Hosts. "fq": a queue per connection, served in turn, as a tidegate host does (FqCoDel without
  CoDel). "red": one queue for all that marks as switches do, as ns-3's own example has it.
- Parameters of the hosts: those of resolved.toml. TCP timestamps off; connections stay open.
- Paths: switches route by destination, so use one spine.
"""

import argparse
import csv
import json
import re
import statistics
import time
import tomllib
from pathlib import Path

OVERHEAD_OURS, OVERHEAD_NS3 = 78, 42
BUCKETS = [(0, 100_000), (100_000, 1 << 40)]

GLUE = r"""
#include "ns3/applications-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"

/// One message: a connection from its opening to the arrival of its last byte.
struct Message
{
    ns3::Ptr<ns3::Node> from, to;
    ns3::Address at;
    uint64_t bytes, got = 0;
    ns3::Time start, end;
};

std::vector<Message> messages;
uint64_t open_messages = 0, hops = 0;

void arrived(Message* message, ns3::Ptr<ns3::Socket> socket)
{
    while (ns3::Ptr<ns3::Packet> packet = socket->Recv())
    {
        message->got += packet->GetSize();
    }
    if (message->got == message->bytes && message->end.IsZero())
    {
        message->end = ns3::Simulator::Now();
        if (--open_messages == 0)
        {
            ns3::Simulator::Stop();
        }
    }
}

void accepted(Message* message, ns3::Ptr<ns3::Socket> socket, const ns3::Address&)
{
    socket->SetRecvCallback(
        ns3::Callback<void, ns3::Ptr<ns3::Socket>>([message](ns3::Ptr<ns3::Socket> from) {
            arrived(message, from);
        }));
}

void begin(Message* message)
{
    auto type = ns3::TypeId::LookupByName("ns3::TcpSocketFactory");
    auto socket = ns3::Socket::CreateSocket(message->from, type);
    uint32_t bytes = message->bytes;
    socket->SetConnectCallback(
        ns3::Callback<void, ns3::Ptr<ns3::Socket>>([bytes](ns3::Ptr<ns3::Socket> open) {
            open->Send(ns3::Create<ns3::Packet>(bytes));
        }),
        ns3::Callback<void, ns3::Ptr<ns3::Socket>>([](ns3::Ptr<ns3::Socket>) { std::abort(); }));
    socket->Bind();
    socket->Connect(message->at);
}

void add(ns3::Ptr<ns3::Node> from, ns3::Ptr<ns3::Node> to, ns3::Ipv4Address address,
         uint16_t port, uint64_t bytes, uint64_t start_ps)
{
    messages.push_back({from, to, ns3::InetSocketAddress(address, port), bytes});
    messages.back().start = ns3::PicoSeconds(start_ps);
}

void schedule()
{
    auto type = ns3::TypeId::LookupByName("ns3::TcpSocketFactory");
    for (Message& message : messages)
    {
        Message* one = &message;
        auto port = ns3::InetSocketAddress::ConvertFrom(message.at).GetPort();
        auto socket = ns3::Socket::CreateSocket(message.to, type);
        socket->Bind(ns3::InetSocketAddress(ns3::Ipv4Address::GetAny(), port));
        socket->Listen();
        socket->SetAcceptCallback(
            ns3::MakeNullCallback<bool, ns3::Ptr<ns3::Socket>, const ns3::Address&>(),
            ns3::Callback<void, ns3::Ptr<ns3::Socket>, const ns3::Address&>(
                [one](ns3::Ptr<ns3::Socket> s, const ns3::Address& a) { accepted(one, s, a); }));
        ns3::Simulator::Schedule(message.start, &begin, one);
    }
    open_messages = messages.size();
}

uint64_t fct_ps(size_t i)
{
    auto& message = messages[i];
    return message.end.IsZero() ? 0 : (message.end - message.start).GetPicoSeconds();
}

void left(ns3::Ptr<const ns3::Packet>) { hops++; }

void count_hops(ns3::Ptr<ns3::NetDevice> device)
{
    device->TraceConnectWithoutContext("PhyTxEnd", ns3::MakeCallback(&left));
}
"""

UNITS = {"ps": 1, "ns": 1e3, "us": 1e6, "ms": 1e9, "s": 1e12}
SCALES = {"": 1, "K": 1e3, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}


def picoseconds(text: str) -> int:
    """A time of a scenario, like "1.5us"."""
    number, unit = re.fullmatch(r"([\d.]+)(\w+)", text).groups()
    return round(float(number) * UNITS[unit])


def quantity(text: str) -> float:
    """A rate or size of a scenario, like "10Gbps" or "100KB", without its unit."""
    number, scale = re.fullmatch(r"([\d.]+)([KkMGT]?)(?:bps|B)", text).groups()
    return float(number) * SCALES[scale]


class Network:
    """The scenario's network in ns-3: hosts, switches, links and routes."""

    def __init__(self, ns, resolved: dict, hosts_queue: str) -> None:
        """Builds it from a resolved scenario."""
        self.ns, self.resolved, self.hosts_queue = ns, resolved, hosts_queue
        self.payload = 1460
        self.stack = ns.InternetStackHelper()
        self.stack.SetIpv6StackInstall(False)
        shape = resolved["topology"]
        if shape["kind"] == "star":
            leaves, per_leaf, spines = 1, shape["hosts"], 0
        elif shape["kind"] == "leaf-spine":
            leaves, per_leaf, spines = shape["leaves"], shape["hosts_per_leaf"], shape["spines"]
        else:
            raise SystemExit(f"topology.kind = {shape['kind']!r}: star and leaf-spine are known")
        self.hosts = self.nodes(leaves * per_leaf)
        switches, tops = self.nodes(leaves), self.nodes(spines) if spines else None
        self.addresses = []
        for host in range(leaves * per_leaf):
            leaf, place = divmod(host, per_leaf)
            net = f"10.{leaf}.{place}.0"
            near, far = self.link(
                self.hosts.Get(host),
                switches.Get(leaf),
                net,
                shape["host_rate"],
                shape["host_delay"],
                host_end=True,
            )
            self.route(self.hosts.Get(host), "0.0.0.0", "0.0.0.0", far)
            self.addresses.append(near)
        for leaf in range(leaves):
            for spine in range(spines):
                net = f"11.{leaf}.{spine}.0"
                low, high = self.link(
                    switches.Get(leaf),
                    tops.Get(spine),
                    net,
                    shape["uplink_rate"],
                    shape["uplink_delay"],
                    host_end=False,
                )
                self.route(tops.Get(spine), f"10.{leaf}.0.0", "255.255.0.0", low)
                for other in range(leaves):
                    if other != leaf and (other + leaf) % spines == spine:
                        self.route(switches.Get(leaf), f"10.{other}.0.0", "255.255.0.0", high)

    def nodes(self, count: int):
        """`count` nodes with an IP stack."""
        made = self.ns.NodeContainer()
        made.Create(count)
        self.stack.Install(made)
        return made

    def link(self, a, b, net: str, rate: str, delay: str, *, host_end: bool):
        """A link between two nodes; returns the addresses of both ends."""
        ns = self.ns
        exact = quantity(rate) * (self.payload + OVERHEAD_NS3) / (self.payload + OVERHEAD_OURS)
        helper = ns.PointToPointHelper()
        helper.SetDeviceAttribute("DataRate", ns.StringValue(f"{round(exact)}bps"))
        helper.SetDeviceAttribute("Mtu", ns.UintegerValue(self.payload + 40))
        helper.SetChannelAttribute("Delay", ns.StringValue(f"{picoseconds(delay)}ps"))
        helper.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", ns.StringValue("1p"))
        devices = helper.Install(a, b)
        red, fair = ns.TrafficControlHelper(), ns.TrafficControlHelper()
        red.SetRootQueueDisc("ns3::RedQueueDisc")
        fair.SetRootQueueDisc(
            "ns3::FqCoDelQueueDisc",
            "MaxSize",
            ns.StringValue("1000000p"),
            "Target",
            ns.StringValue("1000s"),
            "Interval",
            ns.StringValue("1000s"),
            "DropBatchSize",
            ns.UintegerValue(1),
            "Flows",
            ns.UintegerValue(1024),
            "UseEcn",
            ns.BooleanValue(False),
        )
        at_a = fair if host_end and self.hosts_queue == "fq" else red
        at_a.Install(devices.Get(0))
        red.Install(devices.Get(1))
        for end in range(2):
            ns.cppyy.gbl.count_hops(devices.Get(end))
        addresses = ns.Ipv4AddressHelper()
        addresses.SetBase(ns.Ipv4Address(net), ns.Ipv4Mask("255.255.255.0"))
        interfaces = addresses.Assign(devices)
        return interfaces.GetAddress(0), interfaces.GetAddress(1)

    def route(self, node, net: str, mask: str, via) -> None:
        """Sends what `node` has for `net` to the neighbour with address `via`."""
        ns = self.ns
        ip = node.GetObject[ns.Ipv4]()
        out = [
            i
            for i in range(ip.GetNInterfaces())
            if ip.GetAddress(i, 0).GetLocal().CombineMask(ns.Ipv4Mask("255.255.255.0")).Get()
            == via.CombineMask(ns.Ipv4Mask("255.255.255.0")).Get()
        ]
        helper = ns.Ipv4StaticRoutingHelper()
        table = helper.GetStaticRouting(ip)
        table.AddNetworkRouteTo(ns.Ipv4Address(net), ns.Ipv4Mask(mask), via, out[0])


def configure(ns, resolved: dict) -> None:
    """Sets ns-3's defaults to the parameters of the resolved scenario."""
    dctcp = resolved["transport"]["dctcp"]
    if dctcp["mark"] == "auto":
        rate = min(quantity(resolved["topology"]["host_rate"]), 10e9)
        packets = 20 + (rate - 1e9) / 9e9 * 45
    else:
        packets = quantity(dctcp["mark"]) / 1538
    buffer = round(quantity(resolved["switch"]["buffer"]) / 1538)
    # Connections never wait for buffers of the hosts.
    plenty = 1 << 28

    def default(name: str, value) -> None:
        ns.Config.SetDefault(name, value)

    def times(key: str):
        return ns.StringValue(f"{picoseconds(dctcp[key])}ps")

    default("ns3::TcpL4Protocol::SocketType", ns.StringValue("ns3::TcpDctcp"))
    default("ns3::TcpL4Protocol::RecoveryType", ns.StringValue("ns3::TcpPrrRecovery"))
    default("ns3::TcpSocket::SegmentSize", ns.UintegerValue(1460))
    default("ns3::TcpSocket::InitialCwnd", ns.UintegerValue(dctcp["initial_window"]))
    default(
        "ns3::TcpSocket::DelAckCount",
        ns.UintegerValue(dctcp["ack_every"] if dctcp["ack"] == "delayed" else 1),
    )
    default("ns3::TcpSocket::DelAckTimeout", times("ack_delay"))
    default("ns3::TcpSocket::SndBufSize", ns.UintegerValue(plenty))
    default("ns3::TcpSocket::RcvBufSize", ns.UintegerValue(plenty))
    default("ns3::TcpSocketBase::MinRto", times("rto_min"))
    default("ns3::TcpSocketBase::Timestamp", ns.BooleanValue(False))
    default("ns3::TcpSocketBase::Sack", ns.BooleanValue(dctcp["sack"]))
    default("ns3::TcpSocketBase::ReTxThreshold", ns.UintegerValue(dctcp["dup_thresh"]))
    default("ns3::RttEstimator::InitialEstimation", times("rto_initial"))
    default("ns3::TcpDctcp::DctcpShiftG", ns.DoubleValue(dctcp["gain"]))
    default("ns3::TcpDctcp::DctcpAlphaOnInit", ns.DoubleValue(dctcp["alpha_initial"]))
    red = {
        "UseEcn": ns.BooleanValue(True),
        "UseHardDrop": ns.BooleanValue(False),
        "Gentle": ns.BooleanValue(False),
        "QW": ns.DoubleValue(1.0),
        "MinTh": ns.DoubleValue(packets - 1),
        "MaxTh": ns.DoubleValue(packets - 1),
        "MeanPktSize": ns.UintegerValue(1500),
        "MaxSize": ns.StringValue(f"{buffer}p"),
        "LinkBandwidth": ns.StringValue("10Gbps"),
    }
    for name, value in red.items():
        default(f"ns3::RedQueueDisc::{name}", value)


def simulate(resolved: dict, flows: list[dict], hosts_queue: str) -> list[int]:
    """Completion times in picoseconds; 0 where a message did not end."""
    from ns import ns  # noqa: PLC0415 - loading it takes ten seconds

    glue = ns.cppyy
    glue.cppdef(GLUE)
    glue = glue.gbl
    ns.Time.SetResolution(ns.Time.PS)
    configure(ns, resolved)
    network = Network(ns, resolved, hosts_queue)
    ports = {}
    for flow in flows:
        src, dst = int(flow["src"]), int(flow["dst"])
        port = ports[dst] = ports.get(dst, 1023) + 1
        glue.add(
            network.hosts.Get(src),
            network.hosts.Get(dst),
            network.addresses[dst],
            port,
            int(flow["size"]),
            int(flow["start_ps"]),
        )
    glue.schedule()
    ns.Simulator.Stop(ns.Seconds(picoseconds(resolved["run"]["until"]) / 1e12))
    began, cpu = time.monotonic(), time.process_time()
    ns.Simulator.Run()
    took, cpu = time.monotonic() - began, time.process_time() - cpu
    hops = int(glue.hops)
    print(
        json.dumps(
            {
                "ns3_seconds": round(took, 3),
                "cpu_seconds": round(cpu, 3),
                "packet_hops": hops,
                "ns_per_packet_hop": round(cpu / hops * 1e9),
            }
        )
    )
    return [int(glue.fct_ps(i)) for i in range(len(flows))]


def compare(flows: list[dict], times: list[int]) -> list[dict]:
    """Means and medians of both programs, in microseconds, by size."""
    rows = []
    for low, high in BUCKETS:
        ours = [int(f["fct_ps"]) / 1e6 for f in flows if low < int(f["size"]) <= high]
        theirs = [
            t / 1e6 for f, t in zip(flows, times, strict=True) if t and low < int(f["size"]) <= high
        ]
        if not theirs:
            continue
        for name, of in (("mean", statistics.fmean), ("median", statistics.median_low)):
            rows.append(
                {
                    "above": low,
                    "messages": len(theirs),
                    "of": name,
                    "ns3": round(of(theirs), 2),
                    "ours": round(of(ours), 2),
                    "ratio": round(of(ours) / of(theirs), 3),
                }
            )
    return rows


def main() -> None:
    """Runs one list."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", type=Path, help="folder of a tidegate run")
    parser.add_argument("--hosts", choices=["fq", "red"], default="fq", help="queue of a host")
    args = parser.parse_args()
    run = args.run.resolve()
    resolved = tomllib.loads((run / "resolved.toml").read_text())
    with (run / "flows.csv").open() as file:
        flows = list(csv.DictReader(file))
    times = simulate(resolved, flows, args.hosts)
    with (run / f"ns3-{args.hosts}.csv").open("w") as file:
        file.write("flow_id,fct_ps\n")
        file.writelines(f"{f['flow_id']},{t}\n" for f, t in zip(flows, times, strict=True))
    print(json.dumps({"unfinished": times.count(0)}))
    for row in compare(flows, times):
        print(json.dumps(row))


if __name__ == "__main__":
    main()
