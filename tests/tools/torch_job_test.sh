#!/usr/bin/env bash
# usage: torch_job_test.sh BLAME FOLDER: check that tools/blame reads the spans of a PyTorch job, written by the lesson's ten
# lines. The straggler depends on the machine, so only blame_test.sh checks it, with the recorded spans in this folder.
# LOCKSTEP_TORCH_PYTHON names another Python than /usr/bin/python3.
set -uo pipefail
blame=$(realpath "$1")
job=$(dirname "$(realpath "$0")")/torch_job.py
python=${LOCKSTEP_TORCH_PYTHON:-/usr/bin/python3}
die() {
    echo "torch_job_test: $*" >&2
    exit 1
}

rm -rf "$2"
mkdir -p "$2"
cd "$2" || exit 1
if ! "$python" -c 'import torch.distributed as d; raise SystemExit(not d.is_available())' 2>why; then
    echo "torch_job_test: skipped, $python has no torch.distributed: $(tail -n 1 why)"
    exit 77
fi
"$python" "$job" --ranks 2 --steps 5 --uncached 1 --out spans.csv >said 2>&1 || { cat said; die "the job"; }
PATH=$PWD "$blame" spans.csv --out results >said 2>&1 || { cat said; die "blame, status $?"; }
cat said
grep -q '^spans.csv: 2 ranks, 1 case; of job 3 steps measured, from step 2 on, in 1 round' said || die "other steps"
[ "$(grep -vc '^#' results/ranks.csv)" -eq 3 ] || die "ranks.csv"
for what in machine cores date command backend; do
    grep -q "^# $what: ." results/summary.csv || die "summary.csv has no $what"
done
[ "$(grep -c ',all_reduce,' spans.csv)" -eq 20 ] || die "not two sums of two ranks in five steps"
echo "blame understands the job"
