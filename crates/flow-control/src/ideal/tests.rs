//! Ladders of one switch: queue 1 is that of data.

use super::*;
use crate::bench::Bench;

#[test]
fn each_flow_is_paused_by_itself_above_its_part() {
    // 4584 B for one that is alone, 2292 for each of two.
    let mut bench = Bench::new(&IDEAL, "threshold = 1");
    bench.come(7, 4);
    bench.come(8, 3);
    bench.say(Signal::PauseFlow(ConnId(8)), Span::ZERO);
    bench.leave(1, 4);
    bench.say(Signal::ResumeFlow(ConnId(8)), Span::ZERO);
    bench.leave(1, 3);
    assert_eq!(
        bench.ladder(),
        [
            "0us 8 comes to queue 1: port 0: PauseFlow(ConnId(8))",
            "0us hears PauseFlow(ConnId(8)): port 1 closes flow 8",
            "0us hears ResumeFlow(ConnId(8)): port 1 opens flow 8",
            "0us 8 leaves queue 1: port 0: ResumeFlow(ConnId(8))",
        ]
    );
}
