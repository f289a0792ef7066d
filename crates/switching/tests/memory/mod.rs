//! Memory that ports share: what one hot port takes, what it knows of others, and what waits beside it.

use super::*;

#[test]
fn one_hot_port_of_an_idle_switch_takes_its_part_of_the_shared_memory() {
    for (alpha, part) in [(0.5, 1.0 / 3.0), (1.0, 0.5), (4.0, 0.8)] {
        let spec = SwitchSpec {
            memory: Memory::Shared {
                size: Bytes(1_000_000),
                alpha,
            },
            ..SwitchSpec::default()
        };
        // The port's own buffer would hold two frames: it is not read.
        let mut switch = switch(&spec, &PortSpec::fifo(Bytes(3_000)), None);
        let flood: Vec<_> = (0..2_000)
            .map(|n| (Time(n), 2, packet(0, 1, 1000)))
            .collect();
        let seen = run(&mut switch, &flood);
        let most = switch.ports[0].counters().queue_max as f64 / 1e6;
        assert!((most - part).abs() < 0.003, "alpha {alpha}: {most}");
        assert!(!seen.lost.is_empty());
    }
}

#[test]
fn a_full_memory_knows_what_has_left_other_ports_meanwhile() {
    let ports = [
        PortSpec::fifo(Bytes(0)),
        PortSpec::fifo(Bytes(0)).with(QueueSpec::credit(CREDIT)),
        PortSpec::fifo(Bytes(0)).prioritised(8),
    ];
    for (form, port) in ports.iter().enumerate() {
        for (seed, size) in (0..20).flat_map(|seed| [(seed, 9_000), (seed, 20_000)]) {
            let spec = SwitchSpec {
                memory: Memory::Shared {
                    size: Bytes(size),
                    alpha: 2.0,
                },
                ..SwitchSpec::default()
            };
            let [fast, slow] = [false, true].map(|slowly| {
                let mut switch = switch(&spec, port, None);
                switch.slowly(slowly, slowly);
                run(&mut switch, &traffic(seed)).sorted()
            });
            assert!(fast.1.len() > 10, "the memory is full at times");
            assert_eq!(fast, slow, "form {form}, seed {seed}, {size} B");
        }
    }
}

#[test]
fn credits_wait_beside_a_full_memory() {
    let spec = SwitchSpec {
        memory: Memory::Shared {
            size: Bytes(10_000),
            alpha: 8.0,
        },
        ..SwitchSpec::default()
    };
    let port = PortSpec::fifo(Bytes(0)).with(QueueSpec::credit(CREDIT));
    let mut switch = switch(&spec, &port, None);
    let mut packets: Vec<_> = (0..20).map(|n| (Time(n), 2, packet(0, 1, 1538))).collect();
    let mut credit = packet(0, 2, 84);
    credit.set_class(Class::Credit);
    packets.push((Time(30), 3, credit));
    let seen = run(&mut switch, &packets);
    assert!(seen.lost.len() > 5, "the memory is full");
    assert!(
        seen.sent
            .iter()
            .any(|(_, packet, _)| packet.class() == Class::Credit)
    );
}
