#!/usr/bin/env bash
# usage: 06_ring_allreduce.sh FOLDER: compare the tables that only lab 06 has, on the machine of round numbers
# (06_ring_allreduce.csv), with values computed by hand, row by row. Milliseconds and bytes.
set -euo pipefail

awk -F, "$(<"$(dirname "$0")/table.awk")"'
    function message(bytes) { return 1 + bytes / 196348 }
    "library_ms" in at {
        sizes++
        bytes = $at["bytes"]
        part = bytes == 4 ? 4 : bytes / 4 # one float cannot be split: the ring passes it on as a whole
        # SMPI sends messages below 4 KiB eagerly (limit: the platform file, or job_command.c), so rank 0 sends all three at once.
        back = bytes < 4096 ? 1 + 3 * bytes / 196348 : 3 * message(bytes)
        differ("bytes", bytes, 4 ^ sizes, 0)
        if (bytes > 1000) differ("library_ms", $at["library_ms"], 6 * message(part), 0.002)
        differ("gather_ms", $at["gather_ms"], 3 * message(bytes) + back, 0.002)
        differ("gather_predicted_ms", $at["gather_predicted_ms"], 6 * message(bytes), 0.002)
        for (of_both = 0; of_both < 2; of_both++) {
            said = of_both ? "_predicted_ms" : "_ms"
            differ("doubling" said, $at["doubling" said], 2 * message(bytes), 0.002)
            differ("ring" said, $at["ring" said], 6 * message(part), 0.002)
        }
    }
    "found_bytes" in at { # 2 (1 + x) = 6 (1 + x / 4)
        crossed++
        differ("predicted_bytes", $at["predicted_bytes"], 8 * 196348, 300)
        differ("found_bytes", $at["found_bytes"], 8 * 196348, 300)
    }
    "sent_bytes" in at {
        rows++
        root = $at["algorithm"] == "gather" && $at["rank"] == 0
        messages = $at["algorithm"] == "ring" ? 6 : $at["algorithm"] == "doubling" ? 2 : root ? 3 : 1
        bytes = messages * ($at["algorithm"] == "ring" ? 785392 / 4 : 785392)
        differ("sent_bytes", $at["sent_bytes"], bytes, 0)
        differ("formula_sent_bytes", $at["formula_sent_bytes"], bytes, 0)
        differ("sent_messages", $at["sent_messages"], messages, 0)
        differ("formula_sent_messages", $at["formula_sent_messages"], messages, 0)
        differ("received_bytes", $at["received_bytes"], bytes, 0)
    }
    END {
        if (sizes != 12) { print "sweep.csv: " sizes " sizes"; bad = 1 }
        if (crossed != 1) { print "crossover.csv: " crossed " rows"; bad = 1 }
        if (rows != 12) { print "traffic.csv: " rows " rows"; bad = 1 }
        exit bad
    }' "$1/sweep.csv" "$1/crossover.csv" "$1/traffic.csv"
