# Facts for tests (facts.sh) about lab 07.
# shellcheck shell=bash disable=SC2034
cases=15 asked=data_workers0 other=launch_eager
cycles=(many:4 workers0:1 mixture:1 .:2)
uneven='^launch_batch$'
changed='^(data_|busy_|launch_batch)'
refused=(--sleep-ms -1)
toy+=(--sleep-ms 0.2 --busy-ms 0.2 --launch-passes 2 --memory-rows 16 --memory-cols 128 --launch-blocks 16 --workers-few 2 --workers-many 4)
smallest=(--cases data_workers0 --cases launch_fused --input-dim 1 --sleep-ms 0 --launch-cols 1 --launch-blocks 1)
several=(--ranks 4)
drawn=(data_workers0 launch_eager) shortest=(--sleep-ms 0) longest=(--sleep-ms 100)
what_if_ms=74.8 # one rank: the case's own step
charted_measured=('series slow samples, no workers' 'series busy samples, 8 workers' 'series median 0.404 ms, mean 17.1 ms'
    'series mean of the steps under the line' 'roofline large tensors + bf16' 'roofline baseline, slow and busy samples' 'roofline memory: 8.60 GB/s' 'roofline matrix products: 48.0 GFLOP/s'
    'shares bound by' 'shares two claim the same time' 'shares tiny operations' 'launch_sweep replayed' 'launch_sweep dispatch: 31.9 ns' 'launch_sweep crossover predicted at 391 floats' 'launch_sweep at 381 floats')
candidates=(--cases data_workers0 --cases data_few --cases launch_eager)
verdict=' verdict.csv'

# A mixture may need no operation at all: by its shares, or because a noisy machine card says that launches cost nothing. Then its memory is
# that of the other cases, not the most that a mixture may take (a failure once seen).
mixture_of_no_operations()
{
    local out="$scratch/no operations"
    "$lab" "${quick[@]}" --ranks 1 --cases mixture --mix-launches 0 --out "$out" >"$scratch/mixture" 2>&1 || { cat "$scratch/mixture"; return 1; }
    awk -F, "$by_column"'
        { rows++; off = $at["held_mb"] - $at["predicted_held_mb"]; if (off * off > 0.25) { print "mixture of no operations holds", $at["held_mb"], "MB, not", $at["predicted_held_mb"]; bad = 1 } }
        END { exit bad || rows != 2 }' "$out/platforms/dedicated-cores/$name/summary.csv"
}

# operations.json has an event for each call that operations.csv counts.
traced_operations() # FOLDER
{
    awk -F, -v trace="$1/operations.json" '
        BEGIN {
            while ((getline line < trace) > 0) {
                pid = line; sub(/.*"pid":/, "", pid); sub(/,.*/, "", pid)
                name = line; sub(/.*"name":"/, "", name); sub(/".*/, "", name)
                if (line ~ /"process_name"/) { sub(/:.*/, "", name); of[pid] = name }
                if (line !~ /"cat":"(cpu_op|kernel)"/) continue
                sub(/^lockstep::/, "", name)
                direction = sub(/_backward$/, "", name) ? "backward" : "forward"
                events[of[pid], name, direction]++
            }
        }'"$by_column"'
        $at["operation"] == "product" { next }
        { rows++; got = events[$at["case"], $at["operation"], $at["direction"]] + 0
          if (got != $at["calls"]) { print "operations.json: " got " events of " $at["case"] ", " $at["operation"] " " $at["direction"] ", not " $at["calls"]; bad = 1 } }
        END { exit bad || rows < 10 }' "$1/operations.csv"
}

# A step is at least its data and at least its thread's processor time; reading the evidence costs a little of that too, and more on a busy
# machine, so half of the steps must show it. A process has its thread's time. Only branches dispatch operations, and move bytes in proportion
# to what they store.
own_tables()
{
    traced_operations "$1" || return 1
    [[ $way != sim ]] || { [[ ! -e $1/evidence.csv ]] && mixture_of_no_operations; return; }
    awk -F, "$by_column"'
        function complain(what) { print "evidence.csv: " $at["case"] ", step " $at["step"] ": " what; bad = 1 }
        {
            c = $at["case"]; rows++
            if ($at["data_ms"] > $at["step_ms"] || $at["queue_empty_ms"] > $at["data_ms"]) complain("data beyond the step")
            if ($at["thread_cpu_ms"] <= 0) complain("no processor time")
            within += $at["thread_cpu_ms"] < $at["step_ms"] + 0.5
            waited += $at["run_queue_ms"] < $at["step_ms"] + 0.1
            if ($at["process_cpu_ms"] < $at["thread_cpu_ms"]) complain("the process has less processor time than its thread")
            if (c ~ /^(baseline|data_|busy_)/ && $at["dispatched"] + $at["moved_bytes"] + $at["flops"] != 0) complain("operations of no branch")
            if (c ~ /^(launch_|memory_)/ && !($at["moved_bytes"] > 0 && $at["flops"] > 0)) complain("no work of its branch")
            # A mixture of this small step may round to none: its parts come from measured costs.
            if (c != "mixture" && ($at["dispatched"] > 0) != (c ~ /^(launch_eager|launch_batch|memory_fp32|memory_bf16)$/)) complain("dispatched " $at["dispatched"])
            bytes[c] = $at["moved_bytes"]
        }
        END {
            if (within * 2 < rows) { print "evidence.csv: " rows - within " of " rows " steps shorter than their thread ran"; bad = 1 }
            if (waited < 0.9 * rows) { print "evidence.csv: " rows - waited " of " rows " steps shorter than their thread waited for a core"; bad = 1 }
            if (bytes["memory_bf16"] * 2 != bytes["memory_fp32"]) { print "evidence.csv: bf16 does not halve the bytes"; bad = 1 }
            if (bytes["launch_replay"] != bytes["launch_eager"]) { print "evidence.csv: a replay moves other bytes"; bad = 1 }
            exit bad || rows == 0
        }' "$1/evidence.csv"
}
