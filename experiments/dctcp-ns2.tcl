# Runs DCTCP in ns-2 for the experiments dctcp-ns2-*, and prints what they compare.
#
#   ns dctcp-ns2.tcl long FLOWS SEED        long flows over a dumbbell, from 100 ms to 300 ms
#   ns dctcp-ns2.tcl incast SENDERS BYTES   one message of each sender to one host of a star
#
# Needs ns-2.35 with the DCTCP of its authors (dctcp_ of Agent/TCP): https://github.com/HKUST-SING/MQ-ECN-NS2
# carries it as a patch and says how to apply it. Further pairs like "segsperack 2" change what stands in `set`.
#
# What is made equal:
#
# - Frames. ns-2 counts 40 B around a payload of 1460 B, tidegate 78 B: rates are multiplied by 1500 / 1538. An
#   acknowledgement then takes half as long here. In an incast that decides who loses what: connections that begin together
#   open half as far apart. There the header has 84 B (`header`), as packets without payload have here, and rates are
#   multiplied by 1544 / 1538.
# - Queues. ns-2 does not count the packet on the line, tidegate does: K and the limit are one packet less here.
#   ns-2's RED drops what is not ECN-capable above K, SYNs among it (switch.mark.drop_others).
# - Hosts' links in an incast are equally long unless `spread` says by how many seconds at most they are longer, each by
#   chance: "spread 1e-6 seed 3". A message is done when its last byte was read in order.
# - Hosts have queues without limit. Timers are those of tidegate's default profile.

array set set {
    rate 10e9 k 64 segsperack 1 delack 1e-3 gain 0.0625 alpha 0 window 10 windowoption 0 minrto 0.01 limit 249
    spread 0 seed 1
}
set mode [lindex $argv 0]
set count [lindex $argv 1]
set third [lindex $argv 2]
set set(header) [expr {$mode eq "incast" ? 84 : 40}]
array set set [lrange $argv 3 end]

set line [expr {$set(rate) * ($set(header) + 1460.0) / 1538.0}]
foreach {of key value} [list \
    TCP windowInit_ $set(window) TCP window_ 100000 TCP windowOption_ $set(windowoption) \
    TCP ecn_ 1 TCP old_ecn_ 1 TCP dctcp_ true TCP dctcp_g_ $set(gain) TCP dctcp_alpha_ $set(alpha) \
    TCP packetSize_ 1460 TCP tcpip_base_hdr_size_ $set(header) TCP slow_start_restart_ false TCP tcpTick_ 1e-6 \
    TCP minrto_ $set(minrto) TCP rtxcur_init_ $set(minrto) TCP maxrto_ 1 \
    TCP/FullTcp segsize_ 1460 TCP/FullTcp segsperack_ $set(segsperack) TCP/FullTcp interval_ $set(delack) \
    TCP/FullTcp spa_thresh_ 0 TCP/FullTcp nodelay_ true] {
    Agent/$of set $key $value
}
foreach {key value} [list \
    bytes_ false queue_in_bytes_ true mean_pktsize_ [expr {$set(header) + 1460}] setbit_ true gentle_ false q_weight_ 1.0 \
    mark_p_ 1.0 use_mark_p_ true drop_tail_ true thresh_ $set(k) maxthresh_ $set(k)] {
    Queue/RED set $key $value
}
Queue set limit_ 100000

set ns [new Simulator]
set rng [new RNG]
$rng seed [expr {$mode eq "long" ? $third : $set(seed)}]

# A connection from $from to $to that begins at $start.
proc connection {number from to start what} {
    global ns tcp sink
    set tcp($number) [new Agent/TCP/FullTcp/Sack]
    set sink($number) [new Agent/TCP/FullTcp/Sack]
    set source [new Application/FTP]
    $sink($number) listen
    $ns attach-agent $from $tcp($number)
    $ns attach-agent $to $sink($number)
    $ns connect $tcp($number) $sink($number)
    $source attach-agent $tcp($number)
    $ns at $start "$source $what"
}

proc long {} {
    global ns mode count line set rng mon
    set left [$ns node]
    set right [$ns node]
    $ns simplex-link $left $right $line 10e-6 RED
    $ns simplex-link $right $left $line 10e-6 DropTail
    set mon [$ns monitor-queue $left $right ""]
    for {set i 0} {$i < $count} {incr i} {
        set from [$ns node]
        set to [$ns node]
        $ns duplex-link $from $left $line 20e-6 DropTail
        $ns duplex-link $right $to $line 20e-6 DropTail
        connection $i $from $to [$rng uniform 0 1e-3] start
    }
    $ns at 0.1 begin
    $ns at 0.3 finish
}

proc begin {} {
    global mon sink count before
    foreach i [array names sink] { set before($i) [$sink($i) set bytes_] }
    set before(marks) [$mon set pmarks_]
    set before(sent) [$mon set pdepartures_]
}

proc finish {} {
    global mon sink before count
    set sum 0.0
    set squares 0.0
    foreach i [array names sink] {
        set got [expr {double([$sink($i) set bytes_] - $before($i))}]
        set sum [expr {$sum + $got}]
        set squares [expr {$squares + $got * $got}]
    }
    set sent [expr {double([$mon set pdepartures_] - $before(sent))}]
    puts [format "jain %.4f marked %.4f goodput %.3f Gb/s" [expr {$sum * $sum / $count / $squares}] \
        [expr {([$mon set pmarks_] - $before(marks)) / $sent}] [expr {$sum * 8 / 0.2e9}]]
    exit 0
}

proc incast {} {
    global ns count third line set mon rng sink
    set middle [$ns node]
    set to [$ns node]
    $ns simplex-link $middle $to $line 20e-6 RED
    $ns simplex-link $to $middle $line 20e-6 DropTail
    $ns queue-limit $middle $to $set(limit)
    set mon [$ns monitor-queue $middle $to ""]
    for {set i 0} {$i < $count} {incr i} {
        set from [$ns node]
        set delay [expr {20e-6 + [$rng uniform 0 $set(spread)]}]
        $ns duplex-link $from $middle $line $delay DropTail
        connection $i $from $to 0 "send $third"
        set reader [new Reader]
        $reader set got 0
        $reader attach-agent $sink($i)
        $reader start
    }
}

# Reads what has arrived in order, and notes when that is all.
Class Reader -superclass Application
Reader instproc recv {bytes} {
    global ns third took count
    $self instvar got
    incr got $bytes
    if {$got >= $third} {
        lappend took [expr {[$ns now] * 1e6}]
        if {[llength $took] == $count} {
            report
        }
    }
}

proc report {} {
    global tcp took count mon
    set timers 0
    foreach i [array names tcp] {
        incr timers [$tcp($i) set nrexmit_]
    }
    set times [lsort -real $took]
    puts [format "FCT us: mean %.1f median %.1f p99 %.1f longest %.1f; dropped %d; timers %d" \
        [expr ([join $times +]) / $count] [lindex $times [expr {($count - 1) / 2}]] \
        [lindex $times [expr {int(ceil($count * 0.99)) - 1}]] [lindex $times end] [$mon set pdrops_] $timers]
    exit 0
}

$mode
$ns run
