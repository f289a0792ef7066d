# Runs the authors' ExpressPass in ns-2 for the experiment xpass-ns2-messages, and prints what it compares.
#
#   ns xpass-ns2.tcl FLOWS star HOSTS             every host at one switch
#   ns xpass-ns2.tcl FLOWS tree LEAVES PER_LEAF   leaves under one spine
#
# Further pairs like "rate 40e9" or "delay 10e-6" change what stands in `set`; a star's PER_LEAF is any number then.
#
# FLOWS is the flows.csv of a run of tidegate: its columns src, dst, size and start_ps are what is sent. Needs ns-2 with
# the authors' agent (Agent/XPass): https://github.com/kaist-ina/ns2-xpass, head f4e38bc.
#
# - All lines have 10 Gb/s and 2 us unless `set` says otherwise; what a host, a port and an agent are set to is that of the authors'
#   scripts/large-scale-fattree.tcl, and of profile ns2xpass here.
# - A message ends with its last byte at its receiver, read from the trace of the last link. The agent notes the
#   arrival of its STOP instead, from its latest request on.
# - The agent draws from the C library's rand(), which nothing seeds. Runs that differ need a library, loaded before, that
#   calls srand().

lassign $argv file kind hosts per
array set set {rate 10e9 delay 2e-6}
array set set [lrange $argv 4 end]
set rate $set(rate)
set delay $set(delay)
set credits [expr {int($rate / 8 * 84 / (84 + 1538))}]
foreach {key value} [list \
    min_credit_size_ 76 max_credit_size_ 92 min_ethernet_size_ 84 max_ethernet_size_ 1538 xpass_hdr_size_ 78 \
    max_credit_rate_ $credits alpha_ 0.5 w_init_ 0.0625 min_w_ 0.01 target_loss_scaling_ 0.125 \
    retransmit_timeout_ 0.0001 default_credit_stop_timeout_ 0.002 min_jitter_ -0.1 max_jitter_ 0.1] {
    Agent/XPass set $key $value
}
foreach {key value} [list \
    credit_limit_ 672 max_tokens_ 168 token_refresh_rate_ $credits data_limit_ [expr {250 * 1538}]] {
    Queue/XPassDropTail set $key $value
}

set ns [new Simulator]
file mkdir outputs
set name outputs/trace.[pid]
set trace [open $name w]

proc cable {from to} {
    global ns rate delay
    $ns simplex-link $from $to $rate $delay XPassDropTail
    $ns simplex-link $to $from $rate $delay XPassDropTail
}

proc host {number switch} {
    global ns host trace
    set host($number) [$ns node]
    cable $host($number) $switch
    $ns trace-queue $switch $host($number) $trace
}

if {$kind eq "star"} {
    set switch [$ns node]
    for {set i 0} {$i < $hosts} {incr i} { host $i $switch }
} else {
    set spine [$ns node]
    for {set i 0} {$i < $hosts} {incr i} {
        set leaf [$ns node]
        cable $leaf $spine
        for {set j 0} {$j < $per} {incr j} { host [expr {$i * $per + $j}] $leaf }
    }
}

set from [open $file]
set columns [split [gets $from] ,]
foreach name_of {src dst size start_ps} { set column($name_of) [lsearch $columns $name_of] }
set count 0
set latest 0
while {[gets $from line] >= 0} {
    set cells [split $line ,]
    foreach field [array names column] { set $field [lindex $cells $column($field)] }
    set begun($count) [expr {$start_ps / 1e12}]
    set latest [expr {max($latest, $begun($count))}]
    foreach {role place} [list sender $src receiver $dst] {
        set agent($role) [new Agent/XPass]
        $agent($role) set fid_ $count
        $ns attach-agent $host($place) $agent($role)
    }
    $ns connect $agent(sender) $agent(receiver)
    $ns at $begun($count) "$agent(sender) advance-bytes $size"
    incr count
}

proc finish {} {
    global ns trace name count begun
    $ns flush-trace
    close $trace
    set dropped 0
    set trace [open $name]
    while {[gets $trace line] >= 0} {
        if {[lindex $line 4] ne "XPASS_DATA"} continue
        if {[lindex $line 0] eq "d"} { incr dropped }
        if {[lindex $line 0] eq "r"} { set ended([lindex $line 7]) [lindex $line 1] }
    }
    file delete $name
    set sum 0.0
    set last 0.0
    for {set i 0} {$i < $count} {incr i} {
        set took [expr {($ended($i) - $begun($i)) * 1e6}]
        lappend times $took
        set sum [expr {$sum + $took}]
        set last [expr {max($last, $ended($i) * 1e6)}]
    }
    set times [lsort -real $times]
    puts [format "FCT us: mean %.1f median %.1f p99 %.1f; last byte %.1f; dropped %d" [expr {$sum / $count}] \
        [lindex $times [expr {int(ceil($count * 0.5)) - 1}]] [lindex $times [expr {int(ceil($count * 0.99)) - 1}]] \
        $last $dropped]
    exit 0
}
$ns at [expr {$latest + 0.1}] finish
$ns run
