# Facts for tests (facts.sh) about lab 09.
# shellcheck shell=bash disable=SC2034
cases=10 asked=per_tensor other=small_buckets
reordered='bucket|tensor|ddp|order|rebuilt' rounded='bf16|low_rank'
table=(cap_sweep.csv cap_bytes step_ms)
refused=(--num-layers 65)
toy+=(--bucket-kb 8)
smallest=(--cases per_tensor --cases low_rank --input-dim 1 --num-layers 1)
drawn=(per_tensor best_bucket) shortest=(--num-layers 2 --hidden-dim 64) longest=(--hidden-dim 2048)
what_if_ms=56.2
charted=('timeline best buckets' 'cap_sweep predicted' 'buckets backward')
own_tables() # FOLDER: buckets are numbered, begin with the last tensor, leave none out, and take time; a sum for each part sends as many times the bytes
{
    [ ! -e "$1/accumulation.csv" ] || awk -F, '/^#/ || $1 == "way" { next }
        { ways++; bytes[$1] = $6; if ($5 != global && ways > 1 || !($7 <= 1e-5)) bad = 1; global = $5 }
        END { exit bad || ways != 6 || bytes["no_sync_4"] != bytes["all_ranks"] || bytes["sums_4"] != 4 * bytes["all_ranks"] || bytes["one_rank"] != 0 }' \
        "$1/accumulation.csv" || return
    [ ! -e "$1/divergence.csv" ] || awk -F, -v ranks="${ranks:-0}" '/^#/ || $1 == "mistake" { next }
        { rows++; if ($1 == "nothing" ? $4 != "" : !($3 <= $4 && $4 < $3 + $2) || ranks > 2 && $5 != ranks - 1) bad = 1 }
        END { exit bad || rows != 4 }' "$1/divergence.csv" || return
    [ ! -e "$1/cures.csv" ] || awk -F, '/^#/ || $1 == "mistake" { next }
        { rows++; if ($3 != ($2 == "find_unused" || $2 == "join") || !($11 <= 1e-5)) bad = 1 }
        END { exit bad || rows != 9 }' "$1/cures.csv" || return
    # Rows of each optimizer, warm-up, rule and batch; × 1 has one rule. A batch is reached by ranks and micro-batches; its steps and their
    # time follow from the samples, and the rates from the rules.
    [ ! -e "$1/scaling.csv" ] || awk -F, "$(<"$(dirname "${BASH_SOURCE[0]}")/../sim/table.awk")"'
        "rate" in at {
            rows++; k = $at["factor"]; steps = $at["samples"] / (32 * k)
            if ($at["batch"] != 32 * k || $at["ranks"] * $at["micro_batches"] != k || $at["reached"] > $at["seeds"]) bad = 1
            if (k == 1) first[$at["optimizer"]] = $at["rate"]
            differ("rate", $at["rate"] / first[$at["optimizer"]], $at["rule"] == "linear" ? k : $at["rule"] == "square_root" ? sqrt(k) : 1, 1e-6)
            if ($at["samples"] != "") {
                met++
                differ("steps", $at["steps"], steps, 1e-4)
                if ($at["predicted_step_ms"] != "") differ("time", $at["time_ms"] / $at["predicted_step_ms"], steps, 1e-2 * steps)
            }
        }
        END { exit bad || rows != 39 || met < 20 }' "$1/scaling.csv" || return
    [ ! -e "$1/learning.csv" ] || awk -F, '/^#/ || $1 == "optimizer" { next }
        { rows++; if ($9 * 32 * $4 != $8 || $11 != "" && !($11 > 0)) bad = 1; if ($8 == 16384 && $11 != "" && $11 < 0.1) learnt++ }
        END { exit bad || rows != 39 * 16 || learnt < 15 }' "$1/learning.csv" || return
    [ ! -e "$1/buckets.csv" ] || awk -F, -v ranks="${ranks:-0}" '
        /^#/ || $1 == "case" { next }
        $2 != seen[$1]++ || ranks > 1 && !($7 > $6) { bad = 1 } # a sum takes time
        $2 == 0 { next_tensor[$1] = $4 }
        $1 != "wrong_order" { if ($4 != next_tensor[$1]) bad = 1; next_tensor[$1] = $3 - 1 }
        { bytes[$1] += $5 }
        END { for (c in seen) if (bytes[c] != bytes["small_buckets"]) bad = 1
              exit bad || seen["small_buckets"] < 3 || next_tensor["small_buckets"] != -1 || next_tensor["best_bucket"] != -1 }' "$1/buckets.csv"
}
