#!/usr/bin/env bash
# Run a lab at toy size, as a user does. usage: lab_test.sh LAB_BINARY RANKS SCRATCH_DIR mpi|sim|nccl|staged|shared
# The last three use GPUs: one per rank; one for all, staged through the host; one for all under NCCL.
# The arithmetic is real, only small. No check depends on the speed of the machine.
set -euo pipefail
lab=$1 ranks=$2 scratch=$3 way=$4
name=$(basename "$lab")
patience=${LOCKSTEP_PATIENCE:-1}
# shellcheck source=tests/support/csv.sh
source "$(dirname "$0")/../support/csv.sh"
# shellcheck source=tests/labs/facts.sh
source "$(dirname "$0")/facts.sh"
backend=$way device=cpu where=(--backend "$way") # columns of the tables, and the options for this way
case $way in
sim) ;;
mpi) where+=(--device cpu) ;;
nccl) device=cuda && [ "$ranks" -gt 1 ] || device='cuda (n=1: no communication)' ;;
staged) backend=mpi device='cuda (mpi-staged: communication on the CPU)' where=(--backend mpi --device cuda) ;;
shared) backend=nccl device='cuda (shared GPU: correctness only)' where=(--share-gpu) inseparable=. ;;
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
slowest_step_ms,median_step_ms,p95_step_ms,samples_per_s,useful_tokens_per_s,padded_tokens_per_s,padding_ratio,rank_skew_ms,\
rank_token_spread,epoch_steps,most_batches,dropped_samples,dropped_tokens,data_ms,local_ms,update_ms,host_ms,wait_ms,transfer_ms,\
exposed_ms,blog_compute_ms,blamed_rank,blamed_wait_ms,what_if_ms,efficiency,predicted_step_ms,predicted_kind,vs_baseline,\
vs_baseline_low,vs_baseline_high,loss,numerics,oversubscribed,wrong,predicted_then_ms,local_drift,transfer_drift,\
predicted_data_ms,predicted_local_ms,predicted_update_ms,predicted_host_ms,predicted_wait_ms,predicted_transfer_ms,label,\
bound_by,data_share,compute_share,host_share,wait_share,transfer_share,late_by,sent_mb,parameters_mb,gradients_mb,moments_mb,\
activations_mb,data_mb,communication_mb,measuring_mb,cached_mb,held_mb,predicted_held_mb
[ "$(grep -v '^#' "$folder/summary.csv" | head -n 1)" = "$expected" ] ||
    die "summary.csv has other columns; change them here, and raise TABLES_VERSION"
expected=case,round,slowest_step_ms,vs_baseline,launch,steps,samples_per_s,useful_tokens_per_s,padded_tokens_per_s,efficiency,rank_skew_ms,\
data_ms,local_ms,update_ms,host_ms,wait_ms,transfer_ms,exposed_ms,blog_compute_ms,predicted_step_ms,predicted_then_ms,local_drift,\
transfer_drift,larger_drift,taken_share,is_disturbed,redone,predicted_data_ms,predicted_local_ms,predicted_update_ms,\
predicted_host_ms,predicted_wait_ms,predicted_transfer_ms,charged_rank,charged_ms,charged_total_ms
[ "$(grep -v '^#' "$folder/rounds.csv" | head -n 1)" = "$expected" ] ||
    die "rounds.csv has other columns; change them here, and raise TABLES_VERSION"
grep -q '^# lockstep: [0-9.]*, tables [0-9]*$' "$folder/rounds.csv" || die "rounds.csv does not tell its version"

# Every case ran on its ranks, without failed checks, and its terms add up. Cases that only shift time keep every bit of the loss.
awk -F, -v ranks="$ranks" -v backend="$backend" -v device="$device" -v platform="$platform" -v wanted="$cases" -v none="$none" -v one="$on_one_rank" \
    -v half="$on_half_the_ranks" -v cut="$micro_batches" -v reordered="$reordered" -v changed="$changed" -v rounded="$rounded" \
    -v apart="$inseparable" -v cycles="${cycles[*]}" -v uneven="$uneven" -v measure="$reference" -v one_loss="$one_loss" -v window="$quick_window" "$by_column"'
    function complain(what) { print case_name ": " what; bad = 1 }
    function cycle_of(name,    rules, rule, i) {
        split(cycles, rules, " ")
        for (i = 1; i in rules; i++) {
            split(rules[i], rule, ":")
            if (name ~ rule[1]) return rule[2] + 0
        }
        return 1
    }
    {
        cases++
        case_name = $at["case"]
        case_ranks = case_name ~ one ? 1 : case_name ~ half ? int((ranks + 1) / 2) : ranks
        if ($at["backend"] != backend || $at["platform"] != platform) complain("from " $at["platform"])
        if ($at["device"] != (case_ranks == 1 && backend == "nccl" ? "cuda (n=1: no communication)" : device)) complain("on " $at["device"])
        if ($at["ranks"] != case_ranks) complain($at["ranks"] " ranks")
        if ($at["oversubscribed"] != (case_ranks > $at["cores"])) complain("oversubscribed " $at["oversubscribed"])
        if ($at["oversubscribed"] != 0 && backend == "sim") complain("a core is shared")
        if ($at["wrong"] "" != "0") complain("wrong " $at["wrong"])
        # Wait and transfer are blank where they are indistinguishable. A case with progress calls has both.
        exposed = $at["wait_ms"] == "" ? $at["exposed_ms"] : $at["wait_ms"] + $at["transfer_ms"]
        gap = $at["local_ms"] + $at["host_ms"] + exposed - $at["blog_compute_ms"]
        if ($at["wait_ms"] == "" && case_name !~ apart) complain("wait is blank")
        if (gap > 1e-4 || gap < -1e-4) complain("terms do not add up, " gap)
        if (case_name !~ uneven && $at["global_batch_size"] != case_ranks * $at["batch_size"] * (case_name ~ cut ? 4 : 1)) complain("global batch")
        turns = backend == "sim" || ranks > $at["cores"] # ranks take turns on cores, so rounds are slow
        measured = backend == "sim" && window == 2 ? 1 : window
        rounds = !turns ? ($at["rounds"] ~ /^[23]$/ ? $at["rounds"] : 4) : measured >= 4 ? 1 : 4 / measured # at least four steps
        if ($at["rounds"] != rounds) complain($at["rounds"] " rounds")
        numerics = $at["numerics"]
        if (case_name ~ rounded) numerics = "same" # any value is right
        if (case_name !~ reordered && case_name !~ changed && numerics != "same") complain("numerics " numerics)
        if (case_name ~ reordered && numerics != "same" && numerics != "reordered") complain("numerics " numerics)
        if (ranks > 1 && case_name ~ changed && numerics != "changed") complain("trains otherwise, and numerics " numerics)
        if ($at["loss"] <= 0 || $at["loss"] > 5) complain("loss " $at["loss"])
        if (case_ranks == 1 && $at["wait_ms"] != 0) complain("one rank waits")
        loss[case_name] = $at["loss"]
        steps = measured < cycle_of(case_name) ? cycle_of(case_name) : measured
        if ($at["steps"] != rounds * steps) complain($at["steps"] " steps")
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

# ranks.csv has a row per case and rank. Samples and tokens of the ranks add up to those of the summary, which has the fewest and
# the most batches.
awk -F, '
    /^#/ { next }
    $1 == "lab" || $1 == "case" { delete at; for (i = 1; i <= NF; i++) at[$i] = i; next }
    function differ(part, whole, tolerance) { return part > whole * (1 + tolerance) || part < whole * (1 - tolerance) }
    "lab" in at {
        ranks[$at["case"]] = $at["ranks"]
        global[$at["case"]] = $at["global_batch_size"]
        useful[$at["case"]] = $at["useful_tokens_per_s"] * $at["slowest_step_ms"] / 1000
        batches[$at["case"]] = $at["epoch_steps"] " to " $at["most_batches"]
        next
    }
    {
        c = $at["case"]
        rows[c]++; samples[c] += $at["samples"]; tokens[c] += $at["tokens"]
        if (rows[c] == 1 || $at["batches"] < fewest[c]) fewest[c] = $at["batches"]
        if (rows[c] == 1 || $at["batches"] > most[c]) most[c] = $at["batches"]
    }
    END {
        for (c in ranks) {
            if (rows[c] != ranks[c]) { print c ": " rows[c] " rows"; bad = 1 }
            if (differ(samples[c], global[c], 1e-9)) { print c ": " samples[c] " samples"; bad = 1 }
            if (fewest[c] " to " most[c] != batches[c]) { print c ": " fewest[c] " to " most[c] " batches"; bad = 1 }
            if (differ(tokens[c], useful[c], 1e-3)) { print c ": " tokens[c] " tokens"; bad = 1 }
        }
        for (c in rows)
            if (!(c in ranks)) { print c ": in no summary"; bad = 1 }
        exit bad
    }' "$folder/summary.csv" "$folder/ranks.csv" || die "ranks.csv"
rows=$(grep -vc '^#' "$folder/rounds.csv")
owed=$(awk -F, '/^#/ || $1 == "lab" { next } { rounds += $12 } END { print rounds }' "$folder/summary.csv")
[ "$rows" -eq $((1 + owed)) ] || die "rounds.csv has $rows lines"

# Check the lab's own table. One rank does not communicate and has none.
if [ ${#table[@]} -gt 0 ] && [ "$ranks" -eq 1 ]; then
    [ ! -e "$folder/${table[0]}" ] || die "${table[0]} of one rank"
elif [ ${#table[@]} -gt 0 ]; then
    awk -F, -v rising="${table[1]}" -v positive="${table[2]}" "$by_column"'
        { rows++; if (!($at[rising] > before && $at[positive] > 0)) { print; bad = 1 } before = $at[rising] }
        END { exit bad || rows < 2 }' "$folder/${table[0]}" || die "${table[0]}"
fi

own_tables "$folder" || die "its own tables"

# Phases of a rank have no gaps within a block, and no measured step is missing.
owed=$(awk -F, '/^#/ || $1 == "lab" { next } { steps += $7 * $11 } END { print steps }' "$folder/summary.csv")
awk -F, -v owed="$owed" '
    /^#/ || $1 == "rank" { next }
    $6 != "" { next } # a collective
    {
        block = $1 "," $2 "," $3
        if (block == before && $7 != end) { print "gap before", $0; bad = 1 }
        before = block; end = $9
        if ($12 == 1) steps[block "," $4] = 1
    }
    END { for (s in steps) n++; if (n != owed) { print n " steps, not " owed; bad = 1 } exit bad }' "$folder/spans.csv" || die "spans.csv"

for trace in "$folder"/{trace,operations}.json; do
    [ ! -e "$trace" ] && [ "${trace##*/}" = operations.json ] || "$(dirname "$lab")/../tests/test_trace" "$trace" || die "${trace##*/}"
done

# The guess is shown next to formula and measurement, and is kept on disk.
grep -qE "^$asked +7\\.0+ " "$scratch/stdout" || die "the table does not show the guess"
[ "$(grep -c ",$asked,$backend,$platform,7" "$out/guesses.csv")" -eq 1 ] || die "guesses.csv"
[ -s "$place/machine.csv" ] || die "no machine card"
! compgen -G "$folder/.*.tmp" >/dev/null || die "temporary files were left"

# Claims that must hold on every machine, from the lab's file of claims.
"$(dirname "$lab")/claims" --results "$out" --expected "$(dirname "$0")/../../expected" --only "$name" --gate >"$scratch/stdout" 2>&1 ||
    { cat "$scratch/stdout"; die "claims that must hold"; }

# Invalid flags are refused before ranks start.
status=0
"$lab" "${toy[@]}" "${refused[@]}" --out "$scratch/refused" >"$scratch/stdout" 2>"$scratch/stderr" || status=$?
[ "$status" -eq 2 ] || die "${refused[*]}: exit status $status"
[ ! -e "$scratch/refused" ] || die "${refused[*]}: something was written"

loss_of() # FOLDER
{
    cell "$1/$name/summary.csv" "$baseline" loss
}

# A GPU trains like a core: after the same steps the loss is equal up to rounding.
if [[ $device == cuda* ]]; then
    "$lab" "${toy[@]}" --quick --backend mpi --ranks "$ranks" --out "$out/cores" --cases "$other" --rounds 1 \
        >"$scratch/stdout" 2>"$scratch/stderr" || { cat "$scratch"/std*; die "the same on cores"; }
    awk -v gpu="$(loss_of "$place")" -v core="$(loss_of "$out/cores")" \
        'BEGIN { gap = gpu / core - 1; exit !(gpu > 0 && gap < 1e-4 && gap > -1e-4) }' ||
        die "the loss is $(loss_of "$place"), and $(loss_of "$out/cores") on cores"
fi

# The rest tests the frame, which on GPUs is the same for all labs and ways.
[[ $device == cpu || $name-$way-$ranks == 01_straggler-nccl-2 ]] || { echo "lab_test: $name on $ranks ranks of $way holds"; exit 0; }

# --cases runs only the baseline and the named case. --algorithm selects the algorithm.
algorithm=(--algorithm recursive-doubling)
[ "$backend" != nccl ] || algorithm=() # NCCL chooses its algorithm itself
"$lab" "${quick[@]}" --ranks "$ranks" --out "$out" --cases "$other" "${algorithm[@]}" >"$scratch/stdout" 2>"$scratch/stderr" || die "second run"
[ "$(grep -vc '^#' "$folder/summary.csv")" -eq 3 ] || die "--cases ran more than the baseline and the case"
[ "$backend" = nccl ] || grep -qx '# algorithm: recursive doubling all-reduce' "$folder/summary.csv" || die "--algorithm is not told"

# The machine card is measured again if it comes from another GPU or another matrix kernel.
if [[ $device == cuda* ]]; then
    grep -q '^# kernel: cuBLAS' "$place/machine.csv" || die "the card does not name its kernel"
    sed -i 's/^# kernel: .*/# kernel: cuBLAS of another GPU/' "$place/machine.csv"
    "$lab" "${quick[@]}" --ranks "$ranks" --out "$out" --card-only >"$scratch/stdout" 2>"$scratch/stderr" || die "--card-only"
    grep -q 'measuring the machine card' "$scratch/stderr" || die "the card of another GPU was believed"
fi

# Launching is the same for all labs.
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
    # The lab also runs under a launcher that the user started. A contradicting --ranks is refused.
    "${under_mpirun[@]}" --cases "$other" --rounds 1 >"$scratch/stdout" 2>"$scratch/stderr" ||
        { cat "$scratch"/std*; die "under mpirun"; }
    # mpirun gives ranks a terminal, but the output here is a file.
    ! grep -q $'\e' "$scratch/stdout" || die "under mpirun: colours, though it writes into a file"
    refused_under_mpirun 'launcher started' --ranks $((ranks + 1))
else
    refused_under_mpirun 'starts its own ranks'

    # Test ranks that share the memory bandwidth of one core, then a machine with too few cores, where `--backend auto` runs
    # both simulated and real ranks.
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
    both_are() { # COLUMN VALUE: check the baseline of the real ranks
        [ "$(cell "$out/both/$name/summary.csv" "$baseline" "$1")" = "$2" ] || die "two ranks on one core: $1 is not $2"
    }
    both_are backend mpi
    both_are platform here
    both_are oversubscribed 1
    both_are wrong 0
    both_are label "$baseline"
    for column in predicted_then_ms predicted_local_ms predicted_held_mb held_mb; do
        [[ $(cell "$out/both/$name/summary.csv" "$baseline" $column) =~ ^[0-9.]+$ ]] || die "two ranks on one core: no $column"
    done
    both_are bound_by undetermined
    [ "$(grep -c "^$baseline" "$scratch/stdout")" -ge 2 ] || die "two ranks on one core: not two tables"
    # Real ranks that share a core have run-queue delay; simulated ranks have none.
    queued() { # FOLDER CONDITION: check that it holds for all ranks of the baseline there
        awk -F, "/^#/ { next } !seen { for (i = 1; i <= NF; i++) at[\$i] = i; seen = 1; next }
            \$1 != \"$baseline\" { next }
            { queued = \$at[\"queued_ms\"]; step = \$at[\"step_ms\"]; rows++; if (!($2)) { print; bad = 1 } } END { exit bad || !rows }" \
            "$1/$name/ranks.csv"
    }
    [ ! -r /proc/thread-self/schedstat ] || queued "$out/both" 'queued > 0.1 * step && queued < 1.1 * step' || die "two ranks on one core: queued_ms"
    queued "$out/both/platforms/dedicated-cores" 'queued == ""' || die "simulated ranks stand in a queue"
fi
echo "lab_test: $name on $ranks ranks of $way holds"
