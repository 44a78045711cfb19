#!/usr/bin/env bash
# usage: bench_dedicated_test.sh BIN FOLDER: check the benchmark's part `dedicated` with stand-ins for the labs, whose times are known:
# which launches it makes, in which order, which phases it compares, and how it judges them. Works in FOLDER.
set -uo pipefail

# shellcheck source=tests/support/frame.sh
source "$(dirname "$0")/../support/frame.sh"
# shellcheck source=tests/support/bench_table.sh
source "$(dirname "$0")/../support/bench_table.sh"

bin=$(realpath "$1")
folder=$(realpath -m "$2")
rm -rf "$folder"
mkdir -p "$folder/bin" && cd "$folder" || exit 1
cp "$bin/bench" bin/
ln -s "$(dirname "$bin")/lib" lib
quiet_machine quiet

# A stand-in notes its options and writes the summary that such a lab would write. Simulated local work is 20 % too long in lab 01 and
# 5 % in all others; waiting is half of the real waiting; transfers are equal, and too short to compare in lab 02. Only lab 08 waits for data.
cat >bin/stand_in <<'END'
#!/usr/bin/env bash
out='' case='' where='' lab=$(basename "$0")
echo "$lab $* ${LOCKSTEP_TURNS-}" | sed 's| --out [^ ]*||' >>calls
local=100 wait=10 transfer=10 data=0
while (($#)); do
    case $1 in
    --out) out=$2; shift ;;
    --cases) case=$2; shift ;;
    --backend=sim) where=/platforms/dedicated-cores ;;
    --membus=1) where=/platforms/dedicated-cores-membus1 local=200 ;;
    esac
    shift
done
[[ -z $where ]] || wait=5
[[ $where != */dedicated-cores ]] || { [[ $lab == 01* ]] && local=120 || local=105; }
[[ $lab != 02* ]] || transfer=1
[[ $lab != 08* ]] || data=20
mkdir -p "$out$where/$lab"
case $lab in 04*) first=weak_ws4 ;; 05*) first=fixed_sample_ws4 ;; 08*) first=views ;; *) first=baseline ;; esac
printf 'case,slowest_step_ms,local_ms,wait_ms,transfer_ms,data_ms\n%s\n%s\n' "$first,120,$local,$wait,$transfer,$data" \
    "$case,120,$local,$wait,$transfer,$data" >"$out$where/$lab/summary.csv"
END
chmod +x bin/stand_in
for lab in 01_straggler 02_rank0_host 03_comm_bound 04_small_work 05_token_skew 06_ring_allreduce 07_triage 08_token_loader \
    09_ddp_inside 10_memory; do
    ln -s stand_in "bin/$lab"
done

exits 0 bin/bench --part dedicated --rounds 3 --root quiet --out results
[[ $said != *"none here"* && $said != *"a core each"* ]] || { echo "not tested: $said"; exit 77; }

value() # WHAT COLUMN: of the row that begins so
{
    paste -d'|' <(column results/bench.csv what) <(column results/bench.csv "$2") | grep -F "$1" | cut -d'|' -f2
}
judged() # WHAT RATIO HOLDS
{
    local ratio holds
    ratio=$(value "$1" ratio) holds=$(value "$1" holds)
    [[ $ratio == "$2"* && $holds == "$3" ]] || complain "$1: ratio '$ratio', holds '$holds', not $2 and $3"
}
judged "01_straggler baseline: local" 1.2 no
judged "03_comm_bound comm_kept_ws4: local" 1.05 yes
judged "04_small_work weak_ws4: wait" 0.5 no # too short is as wrong as too long
judged "05_token_skew variable_sample_ws4: transfer" 1 yes
judged "08_token_loader slow_disk: data" 1 yes
[[ -z $(value "07_triage baseline: data" ratio) ]] || complain "data are compared where there are none"
judged "whose turns are reversed" 1 yes
[[ $(value "06_ring_allreduce by_gather: local" least) == 0.909* ]] || complain "no lower limit"
[[ -z $(value "02_rank0_host barrier_ws4: transfer" ratio) ]] || complain "a phase of less than 2 % of a step is compared"
judged "with --membus 1" 1.66 ""
[[ $(column results/bench.csv what | wc -l) == 63 ]] || complain "$(column results/bench.csv what | wc -l) rows" "$(column results/bench.csv what)"

# One launch of each side measures the cards; after that sides take turns, the first side changing from start to start.
sides=$(grep '^03_comm_bound' calls | sed -E 's/.*--backend=([a-z]*).*/\1/' | paste -sd' ')
[[ $sides == "sim mpi sim mpi mpi sim sim mpi" ]] || complain "turns: $sides"
(($(grep -c 'reversed$' calls) == 3)) || complain "turns are reversed in other launches than three of one side: $(grep -c 'reversed$' calls)"
(($(grep -vc -- '--ranks=2 --rounds=1 --keep-card' calls) == 0)) || complain "options: $(grep -v -- '--ranks=2 --rounds=1 --keep-card' calls | head -n 1)"
exit "$failed"
