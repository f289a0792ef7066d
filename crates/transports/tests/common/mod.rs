//! The forms of the transports that are tested.

/// Forms besides the defaults: a transport and what its table in a scenario says.
pub(crate) const FORMS: [(&str, &str); 29] = [
    ("expresspass", "profile = \"ns2xpass\""),
    ("expresspass", "profile = \"b\""),
    ("expresspass", "profile = \"paper2017\""),
    ("dctcp", "profile = \"dctcp2010\""),
    ("dctcp", "profile = \"ns3\""),
    ("dctcp", "sack = false"),
    (
        "homa",
        "profile = \"sigcomm18\"\nrecovery = true\nlinger = \"25s\"",
    ),
    ("homa", "priorities = 1"),
    (
        "homa",
        "profile = \"sigcomm18\"\nrecovery = true\ngranted_by = \"own\"\nlevels = \"kept\"\novercommitment = 2",
    ),
    ("homa", "granted_by = \"own\""),
    ("homa+aeolus", "profile = \"sigcomm18\""),
    (
        "homa+aeolus",
        "profile = \"sigcomm18\"\ngranted_by = \"own\"\nlevels = \"kept\"",
    ),
    (
        "homa+aeolus",
        "profile = \"sigcomm18\"\npriorities = 1\ndrop_by = \"ecn\"",
    ),
    ("homa+gaps", "profile = \"sigcomm18\""),
    ("ndp", "window = 8"),
    ("ndp", "profile = \"htsim\"\nprefer = 0"),
    ("ndp+aeolus", "window = 8\ndrop_by = \"ecn\""),
    ("fastpass", "profile = \"yaps\""),
    (
        "fastpass",
        "batch = 1\nguard = 0.0\nclock = \"shared\"\nlate = 1\nack_every = 32",
    ),
    ("phost", "profile = \"artefact\""),
    ("phost", "free = 0\ntoken_life = 4"),
    (
        "phost",
        "sender = \"turns\"\nreceiver = \"turns\"\nhold = false\nlevels = false",
    ),
    ("sird", "profile = \"artefact\""),
    ("sird", "unasked = 0\nlevels = \"one\"\nshortest = 0"),
    ("sird", "receiver = \"turns\""),
    ("sird", "unasked = 1000"),
    ("dcpim", "short = 0"),
    (
        "dcpim",
        "skew = \"200ns\"\nalpha = 2.5\nchannels = 7\nsmallest = 0\nshort = 2",
    ),
    (
        "dcpim",
        "rounds = 2\nchannels = 1\nprompt = false\nhold = false\npriorities = 1\nshort = 0",
    ),
];
