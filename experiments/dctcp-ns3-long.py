#!/usr/bin/env python3
"""Long DCTCP flows over a dumbbell in ns-3, beside those of the experiment dctcp-ns2-long.

    pip install ns3==3.44.post0
    mkdir -p /tmp/empty && cd /tmp/empty    # the wheel searches the working directory, deeply
    python .../experiments/dctcp-ns3-long.py FLOWS SEED

Prints Jain's index, the share of packets marked and the goodput from 100 to 300 ms.

What is made equal to experiments/dctcp-ns2-long:

- Lines of 10 Gb/s, 20 us to hosts and 10 us between switches; flows begin at random within 1 ms.
- Frames. ns-3 counts 42 B around a payload, tidegate 78 B: rates are multiplied by 1502 / 1538.
- Queues. The device holds two packets, one of them on the line, and tidegate counts both: the RED queue disc
  marks from K - 2 on.
- Hosts have queues without limit. Timers are 10 ms, every second packet is acknowledged after 1 ms at most,
  windows begin with 10 packets and alpha with 1. `--each` acknowledges every packet, `--alpha` begins elsewhere.
"""

import argparse
import random

GLUE = r"""
#include "ns3/applications-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

uint64_t marked = 0, passed = 0, dropped = 0;
std::vector<uint64_t> got;

void on_mark(ns3::Ptr<const ns3::QueueDiscItem>, const char*) { marked++; }
void on_drop(ns3::Ptr<const ns3::QueueDiscItem>) { dropped++; }
void on_pass(ns3::Ptr<const ns3::QueueDiscItem>) { passed++; }

void watch(ns3::Ptr<ns3::QueueDisc> disc)
{
    disc->TraceConnectWithoutContext("Mark", ns3::MakeCallback(&on_mark));
    disc->TraceConnectWithoutContext("Drop", ns3::MakeCallback(&on_drop));
    disc->TraceConnectWithoutContext("Dequeue", ns3::MakeCallback(&on_pass));
}

void take(size_t flow, ns3::Ptr<ns3::Socket> socket)
{
    while (ns3::Ptr<ns3::Packet> packet = socket->Recv())
    {
        got[flow] += packet->GetSize();
    }
}

void refill(ns3::Ptr<ns3::Socket> socket, uint32_t)
{
    while (socket->GetTxAvailable() >= 1460000)
    {
        socket->Send(ns3::Create<ns3::Packet>(1460000));
    }
}

void start(ns3::Ptr<ns3::Node> from, ns3::Address at)
{
    auto socket = ns3::Socket::CreateSocket(from, ns3::TypeId::LookupByName("ns3::TcpSocketFactory"));
    socket->SetSendCallback(
        ns3::Callback<void, ns3::Ptr<ns3::Socket>, uint32_t>([](ns3::Ptr<ns3::Socket> s, uint32_t n) { refill(s, n); }));
    socket->SetConnectCallback(
        ns3::Callback<void, ns3::Ptr<ns3::Socket>>([](ns3::Ptr<ns3::Socket> s) { refill(s, 0); }),
        ns3::Callback<void, ns3::Ptr<ns3::Socket>>([](ns3::Ptr<ns3::Socket>) { std::abort(); }));
    socket->Bind();
    socket->Connect(at);
}

void flow(ns3::Ptr<ns3::Node> from, ns3::Ptr<ns3::Node> to, ns3::Ipv4Address address, uint64_t start_ns)
{
    size_t number = got.size();
    got.push_back(0);
    auto listen = ns3::Socket::CreateSocket(to, ns3::TypeId::LookupByName("ns3::TcpSocketFactory"));
    listen->Bind(ns3::InetSocketAddress(ns3::Ipv4Address::GetAny(), 1024));
    listen->Listen();
    listen->SetAcceptCallback(
        ns3::MakeNullCallback<bool, ns3::Ptr<ns3::Socket>, const ns3::Address&>(),
        ns3::Callback<void, ns3::Ptr<ns3::Socket>, const ns3::Address&>(
            [number](ns3::Ptr<ns3::Socket> s, const ns3::Address&) {
                s->SetRecvCallback(ns3::Callback<void, ns3::Ptr<ns3::Socket>>(
                    [number](ns3::Ptr<ns3::Socket> t) { take(number, t); }));
            }));
    ns3::Simulator::Schedule(ns3::NanoSeconds(start_ns), &start, from, ns3::Address(ns3::InetSocketAddress(address, 1024)));
}

std::vector<uint64_t> snapshot()
{
    std::vector<uint64_t> all = got;
    all.insert(all.end(), {marked, passed, dropped});
    return all;
}

std::vector<uint64_t> before, after;

void remember_before() { before = snapshot(); }
void remember_after() { after = snapshot(); }

void run()
{
    ns3::Simulator::Schedule(ns3::MilliSeconds(100), &remember_before);
    ns3::Simulator::Schedule(ns3::MilliSeconds(300), &remember_after);
    ns3::Simulator::Stop(ns3::MilliSeconds(301));
    ns3::Simulator::Run();
}
"""


def defaults(ns, args: argparse.Namespace) -> None:
    """Sets the hosts and the queue that marks."""
    plenty = 1 << 24
    values = {
        "TcpL4Protocol::SocketType": ns.StringValue("ns3::TcpDctcp"),
        "TcpL4Protocol::RecoveryType": ns.StringValue("ns3::TcpPrrRecovery"),
        "TcpSocket::SegmentSize": ns.UintegerValue(1460),
        "TcpSocket::InitialCwnd": ns.UintegerValue(10),
        "TcpSocket::DelAckCount": ns.UintegerValue(1 if args.each else 2),
        "TcpSocket::DelAckTimeout": ns.StringValue("1ms"),
        "TcpSocket::SndBufSize": ns.UintegerValue(plenty),
        "TcpSocket::RcvBufSize": ns.UintegerValue(plenty),
        "TcpSocketBase::MinRto": ns.StringValue("10ms"),
        "TcpSocketBase::Timestamp": ns.BooleanValue(False),
        "RttEstimator::InitialEstimation": ns.StringValue("10ms"),
        "TcpDctcp::DctcpShiftG": ns.DoubleValue(0.0625),
        "TcpDctcp::DctcpAlphaOnInit": ns.DoubleValue(args.alpha),
        "RedQueueDisc::UseEcn": ns.BooleanValue(True),
        "RedQueueDisc::UseHardDrop": ns.BooleanValue(False),
        "RedQueueDisc::Gentle": ns.BooleanValue(False),
        "RedQueueDisc::QW": ns.DoubleValue(1.0),
        "RedQueueDisc::MinTh": ns.DoubleValue(args.mark - 2),
        "RedQueueDisc::MaxTh": ns.DoubleValue(args.mark - 2),
        "RedQueueDisc::MeanPktSize": ns.UintegerValue(1500),
        "RedQueueDisc::MaxSize": ns.StringValue("2600p"),
        "RedQueueDisc::LinkBandwidth": ns.StringValue("10Gbps"),
    }
    for name, value in values.items():
        ns.Config.SetDefault(f"ns3::{name}", value)


def dumbbell(ns, args: argparse.Namespace) -> None:
    """Builds the dumbbell and its flows."""
    stack = ns.InternetStackHelper()
    stack.SetIpv6StackInstall(False)
    switches, left, right = ns.NodeContainer(), ns.NodeContainer(), ns.NodeContainer()
    switches.Create(2)
    left.Create(args.flows)
    right.Create(args.flows)
    for nodes in (switches, left, right):
        stack.Install(nodes)
    rate = round(10e9 * (1460 + 42) / (1460 + 78))
    red, long = ns.TrafficControlHelper(), ns.TrafficControlHelper()
    red.SetRootQueueDisc("ns3::RedQueueDisc")
    long.SetRootQueueDisc("ns3::FifoQueueDisc", "MaxSize", ns.StringValue("1000000p"))

    def cable(a, b, net: str, delay: str, marks: bool):  # noqa: FBT001 - of two kinds
        helper = ns.PointToPointHelper()
        helper.SetDeviceAttribute("DataRate", ns.StringValue(f"{rate}bps"))
        helper.SetDeviceAttribute("Mtu", ns.UintegerValue(1500))
        helper.SetChannelAttribute("Delay", ns.StringValue(delay))
        helper.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", ns.StringValue("1p"))
        devices = helper.Install(a, b)
        discs = (red if marks else long).Install(devices.Get(0))
        long.Install(devices.Get(1))
        if marks:
            ns.cppyy.gbl.watch(discs.Get(0))
        addresses = ns.Ipv4AddressHelper()
        addresses.SetBase(ns.Ipv4Address(net), ns.Ipv4Mask("255.255.255.0"))
        return addresses.Assign(devices)

    cable(switches.Get(0), switches.Get(1), "10.9.0.0", "10us", marks=True)
    draw = random.Random(args.seed)  # noqa: S311 - a seed of an experiment
    ends = []
    for i in range(args.flows):
        cable(left.Get(i), switches.Get(0), f"10.1.{i}.0", "20us", marks=False)
        there = cable(switches.Get(1), right.Get(i), f"10.2.{i}.0", "20us", marks=False)
        ends.append((left.Get(i), right.Get(i), there.GetAddress(1)))
    ns.Ipv4GlobalRoutingHelper.PopulateRoutingTables()
    for source, sink, address in ends:
        ns.cppyy.gbl.flow(source, sink, address, draw.randrange(1_000_000))


def main() -> None:
    """Runs one dumbbell."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("flows", type=int)
    parser.add_argument("seed", type=int)
    parser.add_argument("--each", action="store_true", help="acknowledge every packet")
    parser.add_argument("--alpha", type=float, default=1.0, help="first alpha")
    parser.add_argument("--mark", type=int, default=65, help="K in packets")
    args = parser.parse_args()
    from ns import ns  # noqa: PLC0415 - loading it takes ten seconds

    ns.cppyy.cppdef(GLUE)
    ns.Time.SetResolution(ns.Time.PS)
    defaults(ns, args)
    dumbbell(ns, args)
    glue = ns.cppyy.gbl
    glue.run()
    moved = [int(b) - int(a) for a, b in zip(glue.before, glue.after, strict=True)]
    got, (marked, passed, _) = moved[: args.flows], moved[args.flows :]
    jain = sum(got) ** 2 / len(got) / sum(x * x for x in got)
    goodput = sum(got) * 8 / 0.2 / 1e9
    print(
        f"flows {args.flows} seed {args.seed}: jain {jain:.4f} marked {marked / passed:.4f} "
        f"goodput {goodput:.3f} Gb/s; dropped in all {int(glue.after[args.flows + 2])}"
    )


if __name__ == "__main__":
    main()
