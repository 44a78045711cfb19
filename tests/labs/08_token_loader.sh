# Facts for tests (facts.sh) about lab 08.
# shellcheck shell=bash disable=SC2034
cases=11 baseline=views asked=slow_disk other=windowed
refused=(--disk-ms -1)
toy=(--batch-size 2 --hidden-dim 8 --num-heads 2 --vocab-size 40 --seq-len 6 --own-tokens 4096 --ladder-tokens 256 --disk-ms 4)
smallest=(--cases windowed --cases prefetched --num-heads 1 --vocab-size 2 --min-seq-len 1 --max-seq-len 1 --seq-len 1 --own-tokens 4096
    --ladder-tokens 1)
largest=(--vocab-size 1048576)
drawn=(views slow_disk) shortest=(--disk-ms 0) longest=(--disk-ms 5000)
what_if_ms=53.5
judged_steps=(--skip-first-steps 25 --steps 35) # page faults and advice in step 32

# Check what steps that train add to crossover.csv: a row for each way, whose crossover is that of its exposed time at 1 %.
training_rows() # FOLDER
{
    awk -F, "$by_column"'
        function complain(what) { print "crossover.csv: " $at["way"] ", training: " what; bad = 1 }
        $at["beside"] != "training" { loops += $at["beside"] == "loop"; next }
        {
            rows[$at["way"]]++
            off = $at["crossover_ms"] - 100 * $at["exposed_ms"]
            if (off > 1e-4 || off < -1e-4) complain("crossover " $at["crossover_ms"] " with " $at["exposed_ms"] " ms exposed")
            if (!($at["step_ms"] > 0 && $at["predicted_exposed_ms"] > 0)) complain("a time is missing")
        }
        END {
            for (way in rows) { ways++; if (rows[way] != 1) { print "crossover.csv: " rows[way] " rows of " way; bad = 1 } }
            if (ways != 9 || loops < 9) { print "crossover.csv: " ways + 0 " ways beside training, " loops + 0 " rows beside a loop"; bad = 1 }
            exit bad
        }' "$1/crossover.csv"
}

# Check that shuffle.csv tells the first sixteenth of an epoch, in tokens of 2 bytes and batches of 256. The disk may be a memory.
first_sixteenth() # FOLDER
{
    awk -F, "$by_column"'
        {
            rows++
            off = $at["first_tokens_mb"] - int(int($at["rows"] * $at["row_tokens"] / 256) / 16) * 256 * 2 / 1e6
            if (off > 1e-9 || off < -1e-9 || !($at["first_tokens_mb"] > 0) || !($at["first_disk_mb"] >= 0)) {
                print "shuffle.csv: " $at["shuffle"] ": " $at["first_tokens_mb"] " and " $at["first_disk_mb"] " MB"
                bad = 1
            }
        }
        END { if (rows != 3) { print "shuffle.csv: " rows + 0 " rows"; bad = 1 }; exit bad }' "$1/shuffle.csv"
}

# Check copies.csv, on GPUs only: a row for each size, memory and moment of copying. Four sizes, each 16 times the one before, of x and y
# as int32. Brief cards take three turns: a copy alone, and eight steps without copies, with one of each batch, and with one ahead,
# each block after a copy of its own.
own_tables()
{
    [[ $way != sim ]] || return 0
    training_rows "$1" && first_sixteenth "$1" || return
    [[ $way == nccl || $way == shared || $way == staged ]] || { [[ ! -e $1/copies.csv ]]; return; }
    awk -F, "$by_column"'
        function complain(what) { print "copies.csv: " $at["memory"] ", " $at["copied"] ", " $at["tokens"] " tokens: " what; bad = 1 }
        {
            rows++
            kinds[$at["memory"] " " $at["copied"]]++
            if ($at["tokens"] != 2 * 6 * 16 ^ int((rows - 1) / 4)) complain("not the size of row " rows)
            if ($at["bytes"] != 2 * 4 * $at["tokens"]) complain($at["bytes"] " bytes")
            if ($at["copies"] != 3 * (1 + 1 + 9 + 9)) complain($at["copies"] " copies")
            if ($at["wrong"] != 0) complain($at["wrong"] " tokens did not arrive")
            if (!($at["issue_ms"] > 0 && $at["ready_ms"] > 0 && $at["step_ms"] > 0)) complain("a time is missing")
        }
        END {
            if (rows != 16) { print "copies.csv: " rows + 0 " rows"; bad = 1 }
            for (kind in kinds) if (kinds[kind] != 4 || kind !~ /^(pageable|pinned) (at_once|ahead)$/) { print "copies.csv: " kind ": " kinds[kind] " rows"; bad = 1 }
            exit bad
        }' "$1/copies.csv"
}
