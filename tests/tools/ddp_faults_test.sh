#!/usr/bin/env bash
# usage: ddp_faults_test.sh FOLDER: check tools/torch/ddp_faults.py: what it says without PyTorch and of unknown names, and with
# PyTorch that the profiler shows a slow loader as long all-reduces of the other rank. Exit status 77 without PyTorch.
# LOCKSTEP_TORCH_PYTHON names another Python than /usr/bin/python3.
set -uo pipefail
script=$(dirname "$(dirname "$(dirname "$(realpath "$0")")")")/tools/torch/ddp_faults.py
python=${LOCKSTEP_TORCH_PYTHON:-/usr/bin/python3}
export PYTHONDONTWRITEBYTECODE=1
die() {
    echo "ddp_faults_test: $*" >&2
    exit 1
}

rm -rf "$1"
mkdir -p "$1/no_torch"
cd "$1" || exit 1

# Without PyTorch: one line, and status 77. Lists and wrong names need none.
echo 'raise ImportError("no PyTorch here")' >no_torch/torch.py
without() { PYTHONPATH=$PWD/no_torch "$python" "$script" "$@" >said 2>&1; }
without --fault none
[ $? -eq 77 ] || die "no PyTorch, and no 77"
{ [ "$(wc -l <said)" -eq 1 ] && grep -q '^ddp_faults: needs PyTorch .*no PyTorch here' said; } || die "no PyTorch: $(cat said)"
without --list || die "--list, status $?"
{ grep -q '^slow_loader ' said && grep -q '^    workers ' said; } || die "--list: $(cat said)"
for wrong in "--fault nine" "--fault slow_loader --switch nine"; do
    # shellcheck disable=SC2086 # two words or four
    without $wrong
    [ $? -eq 2 ] || die "$wrong: no 2"
    { [ "$(wc -l <said)" -eq 1 ] && grep -q "'nine'; --list shows all" said; } || die "$wrong: $(cat said)"
done

if ! "$python" -c 'import torch.distributed as d; raise SystemExit(not d.is_available())' 2>why; then
    echo "ddp_faults_test: skipped, $python has no torch.distributed: $(tail -n 1 why)"
    exit 77
fi

# Rank 0's loader sleeps 40 ms: rank 1 waits about as long in its all-reduces, rank 0 hardly.
"$python" "$script" --fault slow_loader --switch none --steps 6 --csv rows.csv --traces traces >said 2>&1 || die "status $?: $(cat said)"
cat said
value() # RANK COLUMN: in whole ms
{
    awk -F, -v rank="$1" -v column="$2" '/^case,/ { for (i = 1; i <= NF; i++) at[$i] = i } $at["rank"] == rank { printf "%d", $at[column] }' rows.csv
}
[ "$(grep -c '^slow_loader,01,slow_loader,none,[01],1,' rows.csv)" -eq 2 ] || die "rows.csv: $(cat rows.csv)"
[ "$(value 0 data_ms)" -ge 40 ] || die "rank 0 sleeps, but not in its loader"
[ "$(value 1 wait_ms)" -ge 20 ] || die "rank 1 does not wait"
[ "$(value 1 wait_ms)" -gt "$((4 * $(value 0 wait_ms)))" ] || die "rank 0 waits as well"
[ "$(value 1 collectives_ms)" -gt "$(value 0 collectives_ms)" ] || die "the culprit's all-reduces are not shorter"
[ "$(value 1 exposed_ms)" -le "$(value 1 collectives_ms)" ] || die "more is exposed than there is"
grep -q '"gloo:all_reduce"' traces/slow_loader/rank1.json || die "no trace of rank 1"
echo "the profiler shows the slow loader on the rank that waits for it"
