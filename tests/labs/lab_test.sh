#!/usr/bin/env bash
# A lab at toy size, as a user runs it. usage: lab_test.sh LAB_BINARY RANKS SCRATCH_DIR mpi|sim|nccl|staged|shared
# The last three are of GPUs: one for each rank; one for all, staged through the host; one for all under NCCL.
# The arithmetic is real; only its size is small. Nothing here depends on how fast the machine is.
set -euo pipefail
lab=$1 ranks=$2 scratch=$3 way=$4
name=$(basename "$lab")
patience=${LOCKSTEP_PATIENCE:-1}
toy=(--batch-size 8 --input-dim 48 --hidden-dim 40 --num-classes 10)
# What differs between labs: how many cases, the first, the one that is asked about, and another; then regular expressions
# for those that run on one rank or on half of them (else: on all), that cut a batch in four, that train alike but add in
# another order, train otherwise or round more coarsely (else: bit for bit the same), whose shortest window is four steps
# instead of two, whose waiting may not be told from transfer (apart), whose batches are of other sizes than the flag says
# (uneven), and by which efficiency is measured; two cases of one loss; steps of a quick round; a table that only this lab
# has where ranks communicate, with a column that rises and one that is positive; what is refused; and flags of its own.
none='^$' baseline=baseline one=$none half=$none cut=$none reordered=$none changed=$none rounded=$none long=$none apart=$none
uneven=$none measure=$none one_loss='' window=2 table=()
case $name in
01_straggler) cases=17 asked=skew_ws4 other=busy reordered='_share$' changed=every_k long=every_k
    refused=(--sleep-ms -1) toy+=(--sleep-ms 4) ;;
02_rank0_host) cases=11 asked=barrier_ws4 other=barrier_busy long=.
    refused=(--barrier-every 0) toy+=(--barrier-sleep-ms 2) ;;
03_comm_bound) cases=9 asked=comm_ws4 other=comm_buckets reordered='bucket$|ddp' rounded=bf16 long=every_k
    apart=no_progress table=(sweep.csv bytes time_ms) refused=(--bucket-mb 0)
    toy+=(--comm-mb 1 --bucket-mb 1 --sweep-mb 1) ;;
04_small_work) cases=10 baseline=weak_ws4 asked=small_ws4 other=small_accumulate one='ws1$' half='ws2$' measure='ws1$' cut='accumulate|sum_each'
    reordered='strong_ws[12]|accumulate|sum_each' changed='weak_ws[12]|small_ws4|larger' refused=(--micro-batches 3) ;;
05_token_skew) cases=11 baseline=fixed_sample_ws4 asked=variable_sample_ws4 other=variable_bucket_ws4 window=10
    changed='^[^f]' uneven='token|filled' measure='^fixed' one_loss='variable_sample_ws4 packed' refused=(--num-heads 3)
    toy=(--batch-size 2 --hidden-dim 8 --num-heads 2 --vocab-size 40 --min-seq-len 3 --max-seq-len 12 --fixed-seq-len 6)
    toy+=(--max-tokens-per-batch 30) ;;
06_ring_allreduce) cases=4 asked=by_gather other=by_ring reordered=. table=(sweep.csv bytes ring_ms) refused=(--sweep-mb -1)
    toy+=(--sweep-mb 1) ;;
*) echo "lab_test: says nothing of $name" >&2; exit 1 ;;
esac
backend=$way device=cpu where=(--backend "$way") # its columns, and the options that ask for it
case $way in
sim) ;;
mpi) where+=(--device cpu) ;;
nccl) device=cuda && [ "$ranks" -gt 1 ] || device='cuda (n=1: no communication)' ;;
staged) backend=mpi device='cuda (mpi-staged: communication on the CPU)' where=(--backend mpi --device cuda) ;;
shared) backend=nccl device='cuda (shared GPU: correctness only)' where=(--share-gpu) apart=. ;;
esac
quick=("${toy[@]}" --quick "${where[@]}")
rm -rf "$scratch"
mkdir -p "$scratch"
out="$scratch/results with spaces"

die() {
    echo "lab_test: $*" >&2
    exit 1
}

status=0
"$lab" "${quick[@]}" --ranks "$ranks" --out "$out" --guess "$asked=7" >"$scratch/stdout" 2>"$scratch/stderr" || status=$?
if [ "$status" -ne 0 ]; then
    cat "$scratch"/std*
    [ "$status" -ne 77 ] || [ "$device" = cpu ] || exit 77 # no GPU here
    die "exit status $status"
fi
place=$out platform=here
[ "$backend" != sim ] || place=$out/platforms/dedicated-cores platform=dedicated-cores
folder="$place/$name"

expected=lab,case,backend,platform,device,precision,ranks,cores,batch_size,global_batch_size,steps,rounds,slowest_rank,\
slowest_step_ms,median_step_ms,p95_step_ms,samples_per_s,useful_tokens_per_s,padded_tokens_per_s,padding_ratio,\
rank_skew_ms,rank_token_spread,data_ms,local_ms,host_ms,wait_ms,transfer_ms,exposed_ms,blog_compute_ms,blamed_rank,\
blamed_wait_ms,what_if_ms,efficiency,predicted_step_ms,predicted_kind,vs_baseline,vs_baseline_low,vs_baseline_high,loss,numerics,\
oversubscribed,wrong
[ "$(grep -v '^#' "$folder/summary.csv" | head -n 1)" = "$expected" ] || die "summary.csv has other columns"

# Every case ran on its ranks, was right, and its terms add up; what only shifts time leaves every bit of the loss alone.
awk -F, -v ranks="$ranks" -v backend="$backend" -v device="$device" -v platform="$platform" -v wanted="$cases" -v none="$none" -v one="$one" \
    -v half="$half" -v cut="$cut" -v reordered="$reordered" -v changed="$changed" -v rounded="$rounded" -v apart="$apart" -v long="$long" \
    -v uneven="$uneven" -v measure="$measure" -v one_loss="$one_loss" -v window="$window" '
    function complain(what) { print case_name ": " what; bad = 1 }
    /^#/ { next }
    !seen { for (i = 1; i <= NF; i++) at[$i] = i; seen = 1; next }
    {
        cases++
        case_name = $at["case"]
        crew = case_name ~ one ? 1 : case_name ~ half ? int((ranks + 1) / 2) : ranks
        if ($at["backend"] != backend || $at["platform"] != platform) complain("from " $at["platform"])
        if ($at["device"] != (crew == 1 && backend == "nccl" ? "cuda (n=1: no communication)" : device)) complain("on " $at["device"])
        if ($at["ranks"] != crew) complain($at["ranks"] " ranks")
        if ($at["oversubscribed"] != (crew > $at["cores"])) complain("oversubscribed " $at["oversubscribed"])
        if ($at["oversubscribed"] != 0 && backend == "sim") complain("a core is shared")
        if ($at["wrong"] "" != "0") complain("wrong " $at["wrong"])
        # Blank where they cannot be told apart; a case whose sums all get on has both.
        exposed = $at["wait_ms"] == "" ? $at["exposed_ms"] : $at["wait_ms"] + $at["transfer_ms"]
        gap = $at["local_ms"] + $at["host_ms"] + exposed - $at["blog_compute_ms"]
        if ($at["wait_ms"] == "" && case_name !~ apart) complain("wait is blank")
        if (gap > 1e-4 || gap < -1e-4) complain("terms do not add up, " gap)
        if (case_name !~ uneven && $at["global_batch_size"] != crew * $at["batch_size"] * (case_name ~ cut ? 4 : 1)) complain("global batch")
        turns = backend == "sim" || ranks > $at["cores"] # then a round is slow
        rounds = !turns ? ($at["rounds"] == 2 ? 2 : 3) : long == "." || window >= 4 ? 1 : 2 # four steps at least
        if ($at["rounds"] != rounds) complain($at["rounds"] " rounds")
        numerics = $at["numerics"]
        if (cases == 1) steps = $at["steps"] # of the baseline: losses after other numbers of them are not compared
        if ($at["steps"] != steps) { if (numerics != "") complain("numerics " numerics); numerics = case_name ~ changed ? "changed" : "same" }
        if (case_name ~ rounded) numerics = "same" # or reordered, or changed
        if (case_name !~ reordered && case_name !~ changed && numerics != "same") complain("numerics " numerics)
        if (case_name ~ reordered && numerics != "same" && numerics != "reordered") complain("numerics " numerics)
        if (ranks > 1 && case_name ~ changed && numerics != "changed") complain("trains otherwise, and numerics " numerics)
        if ($at["loss"] <= 0 || $at["loss"] > 5) complain("loss " $at["loss"])
        if (crew == 1 && $at["wait_ms"] != 0) complain("one rank waits")
        loss[case_name] = $at["loss"]
        if ($at["steps"] != rounds * (case_name ~ long ? 4 : window)) complain($at["steps"] " steps")
        efficiency = $at["efficiency"] ""
        if (measure == none ? efficiency != "" : case_name ~ measure ? efficiency != "1" : !(efficiency > 0)) complain("efficiency " efficiency)
    }
    END {
        if (cases != wanted) { print cases " cases"; bad = 1 }
        if (split(one_loss, of) == 2) {
            gap = loss[of[1]] - loss[of[2]]
            if (loss[of[1]] <= 0 || gap * gap > 1e-8 * loss[of[1]] ^ 2) { print one_loss ": differ by " gap; bad = 1 }
        }
        exit bad
    }' "$folder/summary.csv" || die "summary.csv"

# A row per case and rank of it; what the ranks have per step, samples and tokens, is what all have together.
awk -F, '
    /^#/ { next }
    $1 == "lab" || $1 == "case" { delete at; for (i = 1; i <= NF; i++) at[$i] = i; next }
    function differ(part, whole, tolerance) { return part > whole * (1 + tolerance) || part < whole * (1 - tolerance) }
    "lab" in at {
        ranks[$at["case"]] = $at["ranks"]
        global[$at["case"]] = $at["global_batch_size"]
        useful[$at["case"]] = $at["useful_tokens_per_s"] * $at["slowest_step_ms"] / 1000
        next
    }
    { rows[$at["case"]]++; samples[$at["case"]] += $at["samples"]; tokens[$at["case"]] += $at["tokens"] }
    END {
        for (c in ranks) {
            if (rows[c] != ranks[c]) { print c ": " rows[c] " rows"; bad = 1 }
            if (differ(samples[c], global[c], 1e-9)) { print c ": " samples[c] " samples"; bad = 1 }
            if (differ(tokens[c], useful[c], 1e-3)) { print c ": " tokens[c] " tokens"; bad = 1 }
        }
        for (c in rows)
            if (!(c in ranks)) { print c ": in no summary"; bad = 1 }
        exit bad
    }' "$folder/summary.csv" "$folder/ranks.csv" || die "ranks.csv"
rows=$(grep -vc '^#' "$folder/rounds.csv")
owed=$(awk -F, '/^#/ || $1 == "lab" { next } { rounds += $12 } END { print rounds }' "$folder/summary.csv")
[ "$rows" -eq $((1 + owed)) ] || die "rounds.csv has $rows lines"

# The lab's own table; one rank has nobody to communicate with.
if [ ${#table[@]} -gt 0 ] && [ "$ranks" -eq 1 ]; then
    [ ! -e "$folder/${table[0]}" ] || die "${table[0]} of one rank"
elif [ ${#table[@]} -gt 0 ]; then
    awk -F, -v rising="${table[1]}" -v positive="${table[2]}" '
        /^#/ { next }
        !seen { for (i = 1; i <= NF; i++) at[$i] = i; seen = 1; next }
        { rows++; if (!($at[rising] > before && $at[positive] > 0)) { print; bad = 1 } before = $at[rising] }
        END { exit bad || rows < 2 }' "$folder/${table[0]}" || die "${table[0]}"
fi

# The phases of a rank leave no gap within a block, and no measured step of a rank is missing.
owed=$(awk -F, '/^#/ || $1 == "lab" { next } { steps += $7 * $11 } END { print steps }' "$folder/summary.csv")
awk -F, -v owed="$owed" '
    /^#/ || $1 == "rank" { next }
    $5 == "all_reduce" || $5 == "barrier" { next }
    {
        block = $1 "," $2 "," $3
        if (block == before && $7 != end) { print "gap before", $0; bad = 1 }
        before = block; end = $9
        if ($12 == 1) steps[block "," $4] = 1
    }
    END { for (s in steps) n++; if (n != owed) { print n " steps, not " owed; bad = 1 } exit bad }' "$folder/spans.csv" || die "spans.csv"

"$(dirname "$lab")/../tests/test_trace" "$folder/trace.json" || die "trace.json"

# The guess came back beside formula and measurement, in the table and on disk.
grep -qE "^$asked +7\\.0+ " "$scratch/stdout" || die "the table does not show the guess"
[ "$(grep -c ",$asked,$backend,$platform,7" "$out/guesses.csv")" -eq 1 ] || die "guesses.csv"
[ -s "$place/machine.csv" ] || die "no machine card"
! compgen -G "$folder/.*.tmp" >/dev/null || die "temporary files were left"

# What must hold of it anywhere, as its own file of claims has it.
"$(dirname "$lab")/claims" --results "$out" --expected "$(dirname "$0")/../../expected" --only "$name" --gate >"$scratch/stdout" 2>&1 ||
    { cat "$scratch/stdout"; die "claims that must hold"; }

# What makes no sense is refused before anything starts.
status=0
"$lab" "${toy[@]}" "${refused[@]}" --out "$scratch/refused" >"$scratch/stdout" 2>"$scratch/stderr" || status=$?
[ "$status" -eq 2 ] || die "${refused[*]}: exit status $status"
[ ! -e "$scratch/refused" ] || die "${refused[*]}: something was written"

loss_of() # FOLDER
{
    awk -F, -v name="$baseline" '/^#/ { next } !seen { for (i = 1; i <= NF; i++) at[$i] = i; seen = 1; next }
        $at["case"] == name { print $at["loss"] }' "$1/$name/summary.csv"
}

# A GPU trains as a core does: after the same steps the loss is the same but for roundings.
if [[ $device == cuda* ]]; then
    "$lab" "${toy[@]}" --quick --backend mpi --ranks "$ranks" --out "$out/cores" --cases "$other" --rounds 1 \
        >"$scratch/stdout" 2>"$scratch/stderr" || { cat "$scratch"/std*; die "the same on cores"; }
    awk -v gpu="$(loss_of "$place")" -v core="$(loss_of "$out/cores")" \
        'BEGIN { gap = gpu / core - 1; exit !(gpu > 0 && gap < 1e-4 && gap > -1e-4) }' ||
        die "the loss is $(loss_of "$place"), and $(loss_of "$out/cores") on cores"
fi

# What follows is the frame's, and on GPUs alike for all labs and ways.
[[ $device == cpu || $name-$way-$ranks == 01_straggler-nccl-2 ]] || { echo "lab_test: $name on $ranks ranks of $way holds"; exit 0; }

# --cases runs the baseline and the named case alone; --algorithm, that one.
algorithm=(--algorithm recursive-doubling)
[ "$backend" != nccl ] || algorithm=() # which chooses for itself
"$lab" "${quick[@]}" --ranks "$ranks" --out "$out" --cases "$other" "${algorithm[@]}" >"$scratch/stdout" 2>"$scratch/stderr" || die "second run"
[ "$(grep -vc '^#' "$folder/summary.csv")" -eq 3 ] || die "--cases ran more than the baseline and the case"
[ "$backend" = nccl ] || grep -qx '# algorithm: recursive doubling all-reduce' "$folder/summary.csv" || die "--algorithm is not told"

# A card of other GPUs, or of other products on them, is measured anew.
if [[ $device == cuda* ]]; then
    grep -q '^# kernel: cuBLAS' "$place/machine.csv" || die "the card does not name its kernel"
    sed -i 's/^# kernel: .*/# kernel: cuBLAS of another GPU/' "$place/machine.csv"
    "$lab" "${quick[@]}" --ranks "$ranks" --out "$out" --card-only >"$scratch/stdout" 2>"$scratch/stderr" || die "--card-only"
    grep -q 'measuring the machine card' "$scratch/stderr" || die "the card of another GPU was believed"
fi

# How it is started is alike for all labs.
[ "$name" = 01_straggler ] || { echo "lab_test: $name on $ranks ranks of $way holds"; exit 0; }
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export RES_OPTIONS="timeout:1 attempts:1" # one host needs no name server
under_mpirun=(timeout $((60 * patience)) mpirun --oversubscribe --bind-to none -np "$ranks" "$lab" "${quick[@]}" --out "$out")
refused_under_mpirun() { # TEXT OPTION...
    local status=0
    "${under_mpirun[@]}" "${@:2}" >"$scratch/stdout" 2>"$scratch/stderr" || status=$?
    [ "$status" -eq 2 ] || die "under mpirun, ${*:2}: exit status $status"
    [ "$(grep -c "$1" "$scratch/stderr")" -eq 1 ] || die "under mpirun, ${*:2}: not one line"
}
if [ "$backend" != sim ]; then
    # Under a launcher of the user's own it just runs; a contradicting --ranks is refused.
    "${under_mpirun[@]}" --cases "$other" --rounds 1 >"$scratch/stdout" 2>"$scratch/stderr" ||
        { cat "$scratch"/std*; die "under mpirun"; }
    # It gives its ranks a terminal, and this is a file.
    ! grep -q $'\e' "$scratch/stdout" || die "under mpirun: colours, though it writes into a file"
    refused_under_mpirun 'launcher started' --ranks $((ranks + 1))
else
    refused_under_mpirun 'starts its own ranks'

    # Ranks that share what one core takes from memory; and a machine too small, on which a lab that decides does both.
    "$lab" "${quick[@]}" --ranks "$ranks" --out "$out" --membus 1 --cases "$other" --rounds 1 >"$scratch/stdout" 2>"$scratch/stderr" ||
        { cat "$scratch"/std*; die "--membus"; }
    grep -q "^$name,$baseline,sim,dedicated-cores-membus1,cpu,fp32,$ranks,1," \
        "$out/platforms/dedicated-cores-membus1/$name/summary.csv" || die "--membus: summary.csv"
    both=(taskset -c "$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')" "$lab" "${toy[@]}" --ranks 2 --out "$out/both" --backend auto
        --cases "$other" --rounds 1)
    "${both[@]}" --dry-run | grep -q "into $out/both/platforms/dedicated-cores/$name, then into $out/both/$name\$" ||
        die "two ranks on one core: --dry-run does not name both folders"
    "${both[@]}" >"$scratch/stdout" 2>"$scratch/stderr" || { cat "$scratch"/std*; die "two ranks on one core"; }
    grep -q "^$name,$baseline,sim,dedicated-cores," "$out/both/platforms/dedicated-cores/$name/summary.csv" ||
        die "two ranks on one core: not simulated"
    grep -q "^$name,$baseline,mpi,here,.*,1,0$" "$out/both/$name/summary.csv" || die "two ranks on one core: not marked"
    [ "$(grep -c "^$baseline" "$scratch/stdout")" -ge 2 ] || die "two ranks on one core: not two tables"
    # Each stands in the queue for it, where all work alike; simulated ones know of none.
    queued() { # FOLDER CONDITION: holds for all ranks of the baseline there
        awk -F, "/^#/ { next } !seen { for (i = 1; i <= NF; i++) at[\$i] = i; seen = 1; next }
            \$1 != \"$baseline\" { next }
            { queued = \$at[\"queued_ms\"]; step = \$at[\"step_ms\"]; rows++; if (!($2)) { print; bad = 1 } } END { exit bad || !rows }" \
            "$1/$name/ranks.csv"
    }
    [ ! -r /proc/thread-self/schedstat ] || queued "$out/both" 'queued > 0.1 * step && queued < 1.1 * step' || die "two ranks on one core: queued_ms"
    queued "$out/both/platforms/dedicated-cores" 'queued == ""' || die "simulated ranks stand in a queue"
fi
echo "lab_test: $name on $ranks ranks of $way holds"
