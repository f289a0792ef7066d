# Runs the authors' SIRD, or their port of Homa, in their ns-2.34 for the experiment sird-ns2-messages, and writes what it
# traces: a line for each message that has arrived, with its time.
#
#   ns sird-ns2.tcl FLOWS sird|homa star HOSTS                      every host at one switch
#   ns sird-ns2.tcl FLOWS sird|homa tree LEAVES PER_LEAF SPINES     leaves under spines
#
# Further pairs like "rate 100", "up 200" or "end 0.005" change what stands in `set`: Gb/s, seconds of delay, when to stop,
# where to write. FLOWS is the flows.csv of a run of tidegate: its columns src, dst, size and start_ps are what is sent.
# Needs https://github.com/epfl-dcsl/SIRD-Simulator, f2be06a; for Homa the sizes of its workloads in config/homa-size-distributions.
#
# - Hosts, switches and transports are set to what config/nsdi25/large-scale-common.default says for simulation.tcl.
# - A message has arrived when its application is told so ("rrq" in OUT.d/applications_trace.str, in the order in which its
#   host sent them). The application answers with 4 bytes, where ours acknowledges.

lassign $argv file protocol kind hosts per spines
array set set {rate 100 up 400 delay 950e-9 up_delay 950e-9 end 0.1 out out.txt workload 4 overcommit 7 all_prio 8 rtt_bytes 100000 boost 0}
array set set [lrange $argv [expr {$kind eq "star" ? 4 : 6}] end]
set leaves 1
if {$kind eq "star"} { set per $hosts; set spines 0 } else { set leaves $hosts; set hosts [expr {$leaves * $per}] }

set ns [new Simulator]
$ns rtproto DV
Agent/rtProto/DV set advertInterval 200000000
Node set multiPath_ 1
Classifier/MultiPath set perflow_ 1
Node set shared_queue_len_pkts_ 300000
Queue set limit_ 300000
Queue set switch_shared_buffer_ 0
foreach q {DropTail RED} {
    Queue/$q set queue_in_bytes_ true
    Queue/$q set num_prios_ 8
    Queue/$q set mean_pktsize_ 1500
    Queue/$q set drop_prio_ false
    Queue/$q set deque_prio_ true
}
Queue/DropTail set bw_gbps_ $set(rate)
Queue/DropTail set keep_order_ [expr {$protocol eq "sird"}]
Queue/RED set bytes_ true
Queue/RED set gentle_ false
Queue/RED set q_weight_ 1.0
Queue/RED set mark_p_ 1.0
Queue/RED set thresh_ 82
Queue/RED set maxthresh_ 82
Queue/RED set setbit_ true
set core [expr {$protocol eq "sird" ? "RED" : "DropTail"}]

for {set i 0} {$i < $hosts} {incr i} { set host($i) [$ns node]; $host($i) set nodetype_ 1 }
for {set i 0} {$i < $leaves} {incr i} { set leaf($i) [$ns node]; $leaf($i) set nodetype_ 2 }
for {set i 0} {$i < $spines} {incr i} { set spine($i) [$ns node]; $spine($i) set nodetype_ 3 }
for {set i 0} {$i < $hosts} {incr i} {
    set l $leaf([expr {$i / $per}])
    $ns simplex-link $l $host($i) $set(rate)Gb $set(delay) DropTail
    $ns simplex-link $host($i) $l $set(rate)Gb $set(delay) DropTail
    $l attach-egress-queue [[$ns link $l $host($i)] queue]
    $host($i) attach-egress-queue [[$ns link $host($i) $l] queue]
    $host($i) set shared_queue_len_pkts_ 1000000000
    $ns queue-limit $host($i) $l 1000000000
    set q [[$ns link $host($i) $l] queue]
    if {$protocol eq "sird"} { $q set deque_prio_ true; $q set keep_order_ true
    } else { $q set drop_prio_ false; $q set deque_prio_ false; $q set keep_order_ false }
}
for {set i 0} {$i < $spines} {incr i} {
    for {set j 0} {$j < $leaves} {incr j} {
        $ns duplex-link $spine($i) $leaf($j) $set(up)Gb $set(up_delay) $core
        $spine($i) attach-egress-queue [[$ns link $spine($i) $leaf($j)] queue]
        $leaf($j) attach-egress-queue [[$ns link $leaf($j) $spine($i)] queue]
    }
}

set agent_type [expr {$protocol eq "sird" ? "Agent/UDP/R2P2" : "Agent/UDP/HOMA"}]
for {set i 0} {$i < $hosts} {incr i} {
    for {set j 0} {$j < $hosts} {incr j} {
        if {$i != $j} { set agent($i,$j) [new $agent_type]; $ns attach-agent $host($i) $agent($i,$j) }
    }
}
for {set i 0} {$i < $hosts} {incr i} {
    for {set j 0} {$j < $hosts} {incr j} { if {$i < $j} { $ns connect $agent($i,$j) $agent($j,$i) ; $ns connect $agent($j,$i) $agent($i,$j) } }
}
if {$protocol eq "sird"} {
    foreach {k v} [list debug_ 0 urpc_sz_bytes_ 1500 single_path_per_msg_ 0 pace_uplink_ 0 uplink_deque_policy_ 0 ecn_capable_ 1 link_speed_gbps_ $set(rate) \
        ce_new_weight_ 0.08 ecn_mechanism_influence_ 1.0 ecn_init_slash_mul_ 0.5 ecn_min_mul_ 0.1] { R2P2_CC_MICRO set $k $v }
    foreach {k v} [list ecn_min_mul_nw_ 0.03 state_polling_ival_s_ 0.00001 budget_bytes_ 150000 unsolicited_thresh_bytes_ 100000 \
        unsolicited_limit_senders_ 0 unsolicited_burst_when_idle_ 0 priority_flow_ 0 data_prio_ 1 sender_policy_ratio_ 0.5 \
        receiver_policy_ 3 account_unsched_ 1 max_srpb_ 100000 ecn_thresh_pkts_ 33 reset_after_x_rtt_ -1 pace_grants_ 1 \
        additive_incr_mul_ 1 sender_policy_ 1 sender_algo_ 0 eta_ 1.5 wai_ 1550 max_stage_ 1] { R2P2_CC_MICRO/HYBRID set $k $v }
    for {set i 0} {$i < $hosts} {incr i} { set cc($i) [new R2P2_CC_MICRO/HYBRID]; set layer($i) [new R2P2] }
    for {set i 0} {$i < $hosts} {incr i} {
        for {set j 0} {$j < $hosts} {incr j} { if {$i != $j} { $cc($i) attach-agent $agent($i,$j) } }
        $layer($i) attach-cc-module $cc($i)
    }
} else {
    foreach {k v} [list debug_ 0 nicLinkSpeed $set(rate) rttBytes $set(rtt_bytes) maxOutstandingRecvBytes $set(rtt_bytes) grantMaxBytes 1472 allPrio $set(all_prio) \
        adaptiveSchedPrioLevels $set(overcommit) numSendersToKeepGranted $set(overcommit) accountForGrantTraffic 1 prioResolverPrioLevels [expr {$set(all_prio) - $set(overcommit)}] \
        unschedPrioUsageWeight 1 isRoundRobinScheduler 0 linkCheckBytes -1 cbfCapMsgSize $set(rtt_bytes) boostTailBytesPrio $set(boost) defaultReqBytes 1442 \
        defaultUnschedBytes [expr {$set(rtt_bytes) - 1442}] useUnschRateInScheduler 0 workloadType $set(workload)] { HOMA set $k $v }
    for {set i 0} {$i < $hosts} {incr i} { set layer($i) [new HOMA] }
    for {set i 0} {$i < $hosts} {incr i} {
        for {set j 0} {$j < $hosts} {incr j} { if {$i != $j} { $layer($i) attach-agent $agent($i,$j) } }
    }
}
foreach {k v} [list request_size_B_ 1000 response_size_B_ 4 request_interval_sec_ 1 incast_interval_sec_ 0 enable_incast_ 0 incast_size_ 0 incast_request_size_ 0 \
    num_clients_ $hosts num_servers_ $hosts service_time_sec_ 1e-12 debug_ 0] { Generic_app set $k $v }

# the flow list
set from [open $file]
set columns [split [gets $from] ,]
foreach n {src dst size start_ps} { set column($n) [lsearch $columns $n] }
for {set i 0} {$i < $hosts} {incr i} { set last($i) 0; set row($i) $i; set n_of($i) 0 }
set all {}
while {[gets $from line] >= 0} {
    set cells [split $line ,]
    lappend all [list [lindex $cells $column(start_ps)] [lindex $cells $column(src)] [lindex $cells $column(dst)] [lindex $cells $column(size)]]
}
foreach f [lsort -integer -index 0 $all] {
    lassign $f at src dst size
    append row($src) [format ",%.15e|%d|%d" [expr {($at - $last($src)) / 1e12}] $dst $size]
    set last($src) $at
    incr n_of($src)
}
set manual $set(out).manual
set to [open $manual w]
for {set i 0} {$i < $hosts} {incr i} {
    if {!$n_of($i)} { append row($i) ",1000000|0|4" }
    puts $to $row($i)
}
close $to
file mkdir $set(out).d
for {set i 0} {$i < $hosts} {incr i} {
    foreach role {client server} thread {100 0} {
        set a [new Generic_app/R2P2_APP]
        $a set-resp-dstr fixed [expr {$i + 1}]
        if {$role eq "client"} {
            $a set-load-pattern fixed
            $a set-req-dstr manual $manual $i
            $a set-req-sz-dstr manual $manual $i
            set client($i) $a
        } else {
            $a set-resp-sz-dstr fixed 1
            set server($i) $a
        }
        $a set thread_id_ $thread
        $a attach-r2p2-layer $layer($i)
    }
}
for {set i 0} {$i < $hosts} {incr i} {
    for {set j 0} {$j < $hosts} {incr j} {
        if {$i != $j} { $client($i) attach-agent $agent($i,$j) 1; $server($j) attach-agent $agent($j,$i) 1 }
    }
    $client($i) set-target-distr manual $manual $i
}
for {set i 0} {$i < $hosts} {incr i} {
    $ns at 9.99 "$client($i) start-tracing $set(out).d"
    $ns at 9.99 "$server($i) start-tracing $set(out).d"
    $ns at 10.0 "$client($i) start"
}
proc finish {} {
    global client server hosts ns
    $ns flush-trace
    for {set i 0} {$i < $hosts} {incr i} { catch {$client($i) stop-tracing} ; catch {$server($i) stop-tracing} }
    exit 0
}
$ns at [expr {10.0 + $set(end)}] finish
$ns run
