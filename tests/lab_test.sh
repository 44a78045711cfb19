#!/usr/bin/env bash
# A lab at toy size, as a user runs it. usage: lab_test.sh LAB_BINARY RANKS SCRATCH_DIR mpi|sim
# The arithmetic is real; only its size is small. Nothing here depends on how fast the machine is.
set -euo pipefail
lab=$1 ranks=$2 scratch=$3 backend=$4
name=$(basename "$lab")
toy=(--batch-size 8 --input-dim 48 --hidden-dim 40 --num-classes 10)
# What differs between labs: how many cases --quick has, the first, the one that is asked about, another; those that train
# otherwise, whose loss must differ, whose batches are of other sizes than the flag says (regular expressions); steps of a
# quick run, and of those whose shortest window is twice as long; two cases of one loss; flags of its own.
base=baseline changed='^$' uneven='^$' steps=6 one_loss=
case $name in
01_straggler) cases=16 asked=skew_ws4 other=busy unlike='share|every_k' long=every_k toy+=(--sleep-ms 4) ;;
02_rank0_host) cases=11 asked=barrier_ws4 other=barrier_busy unlike='^$' long=. toy+=(--barrier-sleep-ms 2) ;;
05_token_skew)
    cases=11 base=fixed_sample_ws4 asked=variable_sample_ws4 other=variable_bucket_ws4 steps=30 long='^$'
    unlike='^[^f]' changed='^[^f]' uneven='token|filled' one_loss='variable_sample_ws4 packed'
    toy=(--batch-size 2 --hidden-dim 8 --num-heads 2 --vocab-size 40 --min-seq-len 3 --max-seq-len 12 --fixed-seq-len 6)
    toy+=(--max-tokens-per-batch 30)
    ;;
esac
quick=("${toy[@]}" --quick --backend "$backend")
rm -rf "$scratch"
mkdir -p "$scratch"
out="$scratch/results with spaces"

die() {
    echo "lab_test: $*" >&2
    exit 1
}

"$lab" "${quick[@]}" --ranks "$ranks" --out "$out" --guess "$asked=7" >"$scratch/stdout" 2>"$scratch/stderr" ||
    { cat "$scratch"/std*; die "exit status $?"; }
place=$out platform=here
[ "$backend" = mpi ] || place=$out/platforms/dedicated-cores platform=dedicated-cores
folder="$place/$name"

expected=lab,case,backend,platform,device,precision,ranks,cores,batch_size,global_batch_size,steps,rounds,slowest_rank,\
slowest_step_ms,median_step_ms,p95_step_ms,samples_per_s,useful_tokens_per_s,padded_tokens_per_s,padding_ratio,\
rank_skew_ms,rank_token_spread,data_ms,local_ms,host_ms,wait_ms,transfer_ms,exposed_ms,blog_compute_ms,blamed_rank,\
blamed_wait_ms,efficiency,predicted_step_ms,predicted_kind,vs_baseline,vs_baseline_low,vs_baseline_high,loss,numerics,\
oversubscribed,wrong
[ "$(grep -v '^#' "$folder/summary.csv" | head -n 1)" = "$expected" ] || die "summary.csv has other columns"

# Every case ran, was right, and its terms add up; what only shifts time leaves every bit of the loss alone.
awk -F, -v ranks="$ranks" -v backend="$backend" -v platform="$platform" \
    -v wanted="$cases" -v unlike="$unlike" -v changed="$changed" -v uneven="$uneven" -v all_steps="$steps" -v long="$long" \
    -v one_loss="$one_loss" '
    /^#/ { next }
    !seen { for (i = 1; i <= NF; i++) at[$i] = i; seen = 1; next }
    {
        cases++
        case_name = $at["case"]
        if (cases == 1) steps = $at["steps"] # of the baseline: only as many are comparable
        if ($at["backend"] != backend || $at["platform"] != platform) { print case_name ": from " $at["platform"]; bad = 1 }
        if ($at["oversubscribed"] != 0 && backend == "sim") { print case_name ": a core is shared"; bad = 1 }
        if ($at["wrong"] "" != "0") { print case_name ": wrong " $at["wrong"]; bad = 1 }
        parts = $at["local_ms"] + $at["host_ms"] + $at["wait_ms"] + $at["transfer_ms"]
        gap = parts - $at["blog_compute_ms"]
        if (gap > 1e-4 || gap < -1e-4) { print case_name ": terms do not add up, " gap; bad = 1 }
        if (case_name !~ uneven && $at["global_batch_size"] != ranks * $at["batch_size"]) { print case_name ": global batch"; bad = 1 }
        if ($at["rounds"] != 3) { print case_name ": " $at["rounds"] " rounds"; bad = 1 }
        if (case_name !~ unlike && $at["numerics"] != ($at["steps"] == steps ? "same" : "")) { print case_name ": numerics " $at["numerics"]; bad = 1 }
        if (case_name ~ changed && $at["numerics"] != "changed") { print case_name ": numerics " $at["numerics"]; bad = 1 }
        loss[case_name] = $at["loss"]
        if (case_name ~ /_share$/ && $at["numerics"] == "changed") { print case_name ": shares changed the loss"; bad = 1 }
        if ($at["loss"] <= 0 || $at["loss"] > 5) { print case_name ": loss " $at["loss"]; bad = 1 }
        if (ranks == 1 && ($at["wait_ms"] != 0)) { print case_name ": one rank waits"; bad = 1 }
        if ($at["steps"] != all_steps * (case_name ~ long ? 2 : 1)) { print case_name ": " $at["steps"] " steps"; bad = 1 }
    }
    END {
        if (cases != wanted) { print cases " cases"; bad = 1 }
        if (split(one_loss, of) == 2) {
            gap = loss[of[1]] - loss[of[2]]
            if (loss[of[1]] <= 0 || gap * gap > 1e-8 * loss[of[1]] ^ 2) { print one_loss ": differ by " gap; bad = 1 }
        }
        exit bad
    }' "$folder/summary.csv" || die "summary.csv"

# What the ranks have per step adds up to what all have together.
awk -F, '
    FNR == 1 { seen = 0 }
    /^#/ { next }
    !seen { split("", at); for (i = 1; i <= NF; i++) at[$i] = i; seen = 1; next }
    FILENAME ~ /ranks.csv$/ { samples[$at["case"]] += $at["samples"]; tokens[$at["case"]] += $at["tokens"]; next }
    {
        gap = samples[$at["case"]] / $at["global_batch_size"] - 1
        if (gap > 1e-9 || gap < -1e-9) { print $at["case"] ": samples of ranks"; bad = 1 }
        together = $at["useful_tokens_per_s"] * $at["slowest_step_ms"] / 1000
        if (together > 0) gap = tokens[$at["case"]] / together - 1
        if (gap > 1e-3 || gap < -1e-3) { print $at["case"] ": tokens of ranks"; bad = 1 }
        rows++
    }
    END { exit bad || rows == 0 }' "$folder/ranks.csv" "$folder/summary.csv" || die "ranks.csv"
rows=$(grep -vc '^#' "$folder/ranks.csv")
[ "$rows" -eq $((1 + cases * ranks)) ] || die "ranks.csv has $rows lines"
rows=$(grep -vc '^#' "$folder/rounds.csv")
[ "$rows" -eq $((1 + cases * 3)) ] || die "rounds.csv has $rows lines"

# The phases of a rank leave no gap within a block, and no measured step is missing.
awk -F, '
    /^#/ || $1 == "rank" { next }
    $5 == "sum" || $5 == "barrier" { next }
    {
        block = $1 "," $2 "," $3
        if (block == before && $7 != end) { print "gap before", $0; bad = 1 }
        before = block; end = $9
        if ($12 == 1) steps[block "," $4] = 1
    }
    END { for (s in steps) n++; exit bad || n == 0 }' "$folder/spans.csv" || die "spans.csv"

# The trace is one JSON object with an event per line.
awk 'NR == 1 && !/^\{/ { bad = 1 }
     /^\{"ph"/ && !/^\{"ph":"[XM]".*\},?$/ { bad = 1; print }
     { last = $0 }
     END { exit bad || last != "]}" }' "$folder/trace.json" || die "trace.json"

# The guess came back beside formula and measurement, in the table and on disk.
grep -qE "^$asked +7\\.0 " "$scratch/stdout" || die "the table does not show the guess"
[ "$(grep -c ",$asked,$backend,$platform,7" "$out/guesses.csv")" -eq 1 ] || die "guesses.csv"
[ -s "$place/machine.csv" ] || die "no machine card"
! compgen -G "$folder/.*.tmp" >/dev/null || die "temporary files were left"

# --cases runs the baseline and the named case alone.
"$lab" "${quick[@]}" --ranks "$ranks" --out "$out" --cases "$other" >"$scratch/stdout" 2>"$scratch/stderr" || die "second run"
[ "$(grep -vc '^#' "$folder/summary.csv")" -eq 3 ] || die "--cases ran more than the baseline and the case"

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
under_mpirun=(timeout 60 mpirun --quiet --oversubscribe --bind-to none -np "$ranks" "$lab" "${quick[@]}" --out "$out")
refused_under_mpirun() { # TEXT OPTION...
    local status=0
    "${under_mpirun[@]}" "${@:2}" >"$scratch/stdout" 2>"$scratch/stderr" || status=$?
    [ "$status" -eq 2 ] || die "under mpirun, ${*:2}: exit status $status"
    [ "$(grep -c "$1" "$scratch/stderr")" -eq 1 ] || die "under mpirun, ${*:2}: not one line"
}
if [ "$backend" = mpi ]; then
    # Under a launcher of the user's own it just runs; a contradicting --ranks is refused.
    "${under_mpirun[@]}" --cases "$other" --rounds 1 >"$scratch/stdout" 2>"$scratch/stderr" ||
        { cat "$scratch"/std*; die "under mpirun"; }
    refused_under_mpirun 'launcher started' --ranks $((ranks + 1))
else
    refused_under_mpirun 'starts its own ranks'

    # Ranks that share what one core takes from memory; and a machine too small, on which a lab that decides does both.
    "$lab" "${quick[@]}" --ranks "$ranks" --out "$out" --membus 1 --cases "$other" --rounds 1 >"$scratch/stdout" 2>"$scratch/stderr" ||
        { cat "$scratch"/std*; die "--membus"; }
    grep -q "^$name,$base,sim,dedicated-cores-membus1,cpu,fp32,$ranks,1," \
        "$out/platforms/dedicated-cores-membus1/$name/summary.csv" || die "--membus: summary.csv"
    taskset -c "$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')" "$lab" "${toy[@]}" --ranks 2 --out "$out/both" --backend auto \
        --cases "$other" --rounds 1 >"$scratch/stdout" 2>"$scratch/stderr" || { cat "$scratch"/std*; die "two ranks on one core"; }
    grep -q "^$name,$base,sim,dedicated-cores," "$out/both/platforms/dedicated-cores/$name/summary.csv" ||
        die "two ranks on one core: not simulated"
    grep -q "^$name,$base,mpi,here,.*,1,0$" "$out/both/$name/summary.csv" || die "two ranks on one core: not marked"
    [ "$(grep -c "^$base " "$scratch/stdout")" -ge 2 ] || die "two ranks on one core: not two tables"
fi
echo "lab_test: $name on $ranks ranks of $backend holds"
