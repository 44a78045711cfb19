#!/usr/bin/env bash
# usage: 03_comm_bound.sh FOLDER: compare the tables that only lab 03 has, on the machine of round numbers (03_comm_bound.csv),
# with values computed by hand, row by row. Milliseconds.
set -euo pipefail

awk -F, "$(<"$(dirname "$0")/table.awk")"'
    function ring(bytes) { return 6 + 6 * bytes / 785392 }
    "bytes" in at {
        sizes++
        bytes = $at["bytes"]
        ms = bytes == 4 ? 2 * (1 + 4 / 196348) : ring(bytes) # one float cannot be split in four: it is sent twice as a whole
        differ("bytes", bytes, 4 ^ sizes, 0)
        differ("ranks", $at["ranks"], 4, 0)
        differ("time_ms", $at["time_ms"], ms, 0.002)
        if (bytes > 4) differ("card_ms", $at["card_ms"], ms, 0.002)
        differ("algbw_GB_per_s", $at["algbw_GB_per_s"], bytes / ms / 1e6, 1e-3 * bytes / ms / 1e6)
        differ("busbw_GB_per_s", $at["busbw_GB_per_s"], 1.5 * $at["algbw_GB_per_s"], 1e-9)
    }
    "bucket_mb" in at {
        buckets++
        n = $at["buckets"]
        differ("bucket_mb", $at["bucket_mb"], buckets == 1 ? 1 : 4, 0)
        differ("buckets", n, buckets == 1 ? 4 : 1, 0)
        early = n > 1 ? 196608 : 0 # multiplications after the first bucket is ready
        differ("exposed_ms", $at["exposed_ms"], n * ring(4 * 1048576 / n) - 9.68 * early / 325632, 0.005) # SMPI adds 16 bytes per message
        differ("predicted_ms", $at["predicted_ms"], n * ring(4 * 1048576 / n) - 15.8 * early / 521216, 0.002)
    }
    END {
        if (sizes != 12) { print "sweep.csv: " sizes " sizes"; bad = 1 }
        if (buckets != 2) { print "exposed.csv: " buckets " bucket sizes"; bad = 1 }
        exit bad
    }' "$1/sweep.csv" "$1/exposed.csv"
