#!/usr/bin/env bash
# usage: 09_ddp_inside.sh FOLDER: compare the tables that only lab 09 has, on the machine of round numbers (09_ddp_inside.csv), with values
# computed by hand, row by row. Milliseconds.
set -euo pipefail

awk -F, "$(<"$(dirname "$0")/table.awk")"'
    function ring(bytes) { return 6 + 6 * bytes / 785392 }
    function left(multiplications) { return 9.68 * multiplications / 325632 }     # of backward
    function left_by_formula(multiplications) { return 15.8 * multiplications / 521216 }
    # Buckets: six tensors; the last bias with its weights, then tensors; layers; the last two layers and the first; all in one.
    "cap_bytes" in at {
        caps++
        split("6 5 3 2 1", buckets, " ")
        n = buckets[caps]
        early = n == 1 ? 0 : n == 2 ? 65536 : 196608 # multiplications after the first bucket is ready
        differ("buckets", $at["buckets"], n, 0)
        differ("step_ms", $at["step_ms"], 20 + 6 * n + 6 - left(early), 0.005)
        differ("predicted_ms", $at["predicted_ms"], 20 + 6 * n + 6 - left_by_formula(early), 0.005)
    }
    "cap_factor" in at {
        rows++
        differ("predicted_cap_bytes", $at["predicted_cap_bytes"], 785392, 0)
        differ("found_cap_bytes", $at["found_cap_bytes"], 785392, 0)
        differ("cap_factor", $at["cap_factor"], 1, 0)
        differ("over_shortest", $at["over_shortest"], 0, 0)
        differ("ddp_regret", $at["ddp_regret"], 0, 1e-6) # less than 1 MiB: one bucket
        differ("gain_ms", $at["gain_ms"], 0, 0.002)
        differ("predicted_pair_ms", $at["predicted_pair_ms"], 32, 0.002) # no pair is better than one bucket
        differ("step_at_pair_ms", $at["step_at_pair_ms"], 32, 0.005)
        differ("pair_first_bytes", $at["pair_first_bytes"], 785392, 0)
        differ("pair_cap_bytes", $at["pair_cap_bytes"], 785392, 0)
        differ("attainable_ms", $at["attainable_ms"], left_by_formula(325632), 0.002) # backward is shorter than the sum
    }
    "exposed_ms" in at {
        cases++
        c = $at["case"]
        n = c == "per_tensor" ? 6 : c == "wrong_order" ? 4 : c ~ /ddp|one|best/ ? 1 : 3
        bytes = c == "bf16_wire" ? 785392 / 2 : c == "low_rank" ? 4 * (512 + 512 + 508 + 256 + 256 + 252) : 785392
        sums = c == "low_rank" ? 6 : n
        hidden = n == 1 || c == "wrong_order" ? 0 : left(196608)
        differ("buckets", $at["buckets"], n, 0)
        differ("sums", $at["sums"], sums, 0)
        differ("bytes", $at["bytes"], bytes, 0)
        differ("predicted_sums_ms", $at["predicted_sums_ms"], 6 * sums + 6 * bytes / 785392, 0.005)
        differ("sums_ms", $at["sums_ms"], 6 * sums + 6 * bytes / 785392, 0.005)
        differ("hidden_ms", $at["hidden_ms"], hidden, 0.002)
        differ("exposed_ms", $at["exposed_ms"], 6 * sums + 6 * bytes / 785392 - hidden, 0.005)
        differ("predicted_hidden_ms", $at["predicted_hidden_ms"], hidden > 0 ? left_by_formula(196608) : 0, 0.002)
    }
    "ready_ms" in at && $at["case"] == "small_buckets" {
        b = $at["bucket"]
        after = b == 0 ? 196608 : b == 1 ? 65536 : 0
        differ("ready_ms", $at["ready_ms"], 9.68 - left(after), 0.002)
        differ("start_ms", $at["start_ms"], 9.68 - left(after), 0.002)
        differ("backward_ms", $at["backward_ms"], 9.68, 0.002)
        differ("first_tensor", $at["first_tensor"], 4 - 2 * b, 0)
        differ("last_tensor", $at["last_tensor"], 5 - 2 * b, 0)
        # The network carries one bucket after another, from when the first is ready.
        bytes_so_far += $at["bytes"]
        sums_so_far = 6 * (b + 1) + 6 * bytes_so_far / 785392
        differ("end_ms", $at["end_ms"], 9.68 - left(196608) + sums_so_far, 0.005)
        differ("predicted_backward_ms", $at["predicted_backward_ms"], left_by_formula(325632), 0.002)
        differ("predicted_ready_ms", $at["predicted_ready_ms"], left_by_formula(325632 - after), 0.002)
        differ("predicted_end_ms", $at["predicted_end_ms"], left_by_formula(325632 - 196608) + sums_so_far, 0.005)
        buckets_seen++
    }
    # n ranks and A parts of their batches of 128; alone a rank has four batches of 15.8 + 0.2, and an update. Nothing is charged for adding.
    "way" in at {
        ways++
        A = $at["micro_batches"]
        part = 2 + 0.06 * $at["micro_batch"]                              # backward
        sums = $at["way"] == "one_rank" ? 0 : $at["way"] ~ /^sums/ ? A : 1
        exposed = 18 + 6 - part * 196608 / 325632
        differ("global_batch_size", $at["global_batch_size"], 512, 0)
        differ("summed_bytes", $at["summed_bytes"], sums * 785392, 0)
        differ("step_ms", $at["step_ms"], A * (0.2 + 3 + 0.1 * $at["micro_batch"]) + 4 + sums * exposed, 0.005 * (1 + sums))
    }
    # A sum more, behind the others or before the step; two sums of nearly half for one. Sums follow each other, so it does not matter here
    # that a bucket in the middle becomes ready at the end of backward.
    "cure" in at {
        cures_seen++
        c = $at["cure"]
        sums = c == "find_unused" || c == "join"
        price = c == "find_unused" ? ring(32) : c == "join" ? ring(16) : 0
        plain = c ~ /one_order|started_ahead/ ? 20 + 6 + 12 : 20 + 24 - left(196608)
        differ("sums_more", $at["sums_more"], sums, 0)
        differ("bytes_more", $at["bytes_more"], c == "find_unused" ? 32 : c == "join" ? 16 : 0, 0)
        differ("step_ms", $at["step_ms"], plain + price, 0.006)
        differ("price_ms", $at["price_ms"], price, 0.002)
        differ("predicted_price_ms", $at["predicted_price_ms"], price, 0.002)
        if (c !~ /none|started_ahead/) {
            differ("caused_price_ms", $at["caused_price_ms"], price, 0.002)
            differ("predicted_caused_ms", $at["predicted_caused_ms"], price, 0.002)
        }
    }
    # Batches × k: one rank alone; two ranks pass on halves twice, so a sum of x bytes takes 2 + x / 196348 ms, and three buckets are best: the first
    # hides, the second begins with 65536 multiplications of backward left; four ranks, one bucket; then micro-batches of these.
    "rate" in at {
        trained++
        k = $at["factor"]
        two = 20 - left_by_formula(65536) + 2 * (2 + 263168 / 196348)
        differ("predicted_step_ms", $at["predicted_step_ms"], k == 1 ? 20 : k == 2 ? two : k / 4 * (0.2 + 15.8) + 4 + 12, 0.002)
    }
    END {
        if (caps != 5 || ways != 6 || rows != 1 || cases != 9 || buckets_seen != 3 || cures_seen != 9 || trained != 39) { print caps " caps, " ways " ways, " rows ", " cases " cases, " buckets_seen " buckets"; bad = 1 }
        exit bad
    }' "$1/cap_sweep.csv" "$1/best.csv" "$1/overlap.csv" "$1/buckets.csv" \
    "$1/accumulation.csv" "$1/cures.csv" "$1/scaling.csv"
