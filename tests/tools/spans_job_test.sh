#!/usr/bin/env bash
# usage: spans_job_test.sh BLAME FOLDER: check tools/blame/lockstep_spans.py with a DistributedDataParallel job whose buckets overlap
# backward: blame names a sleeping rank with the phase in which it sleeps, and no rank of a healthy job. Exit status 77 without
# PyTorch 2. LOCKSTEP_TORCH_PYTHON names another Python than /usr/bin/python3.
set -uo pipefail

# shellcheck source=tests/support/frame.sh
source "$(dirname "$0")/../support/frame.sh"

blame=$(realpath "$1")
job=$(dirname "$(realpath "$0")")/spans_job.py
python=${LOCKSTEP_TORCH_PYTHON:-/usr/bin/python3}
export PYTHONDONTWRITEBYTECODE=1
work_in "$2"
if ! "$python" -c 'import torch.distributed as d; from torch.optim import Optimizer as o
raise SystemExit(not d.is_available() or not hasattr(o, "register_step_pre_hook"))' 2>why; then
    echo "spans_job_test: skipped, $python has no torch.distributed of PyTorch 2: $(tail -n 1 why)"
    exit 77
fi

recorded() # NAME ARGUMENT...: run the job, and blame on its spans; store what blame prints in `said`
{
    local name=$1
    shift
    "$python" "$job" --out "$name.csv" "$@" >out 2>&1 || complain "$name" "the job: $(<out)"
    PATH=$PWD "$blame" "$name.csv" --out results >said.txt 2>&1
    status=$?
    said=$(<said.txt)
}

for phase in data forward host; do
    recorded "$phase" --late 1 --phase "$phase"
    [[ $status == 0 || $status == 10 ]] || complain "$phase" "blame ends with status $status"
    says "waited for rank 1." "rank 1 is late in its $phase"
done

# Four buckets a step (the first step has one: DDP rebuilds its buckets), and only whole steps.
awk -F, '/^[0-9]/ && $1 == 0 && $4 == "all_reduce" { all++; late += $6 > $5; overlap += $5 < last; last = $7; bytes[$9] = 1 }
    /^[0-9]/ && $1 == 0 && $4 == "update" { steps++ }
    END { for (size in bytes) sizes++; exit !(steps == 34 && all >= 3 * 33 && late > 33 && overlap > 33 && sizes > 1) }' data.csv ||
    complain "buckets" "$(grep -c all_reduce data.csv) sums, or no overlap: $(grep all_reduce data.csv | head -n 6)"
grep -q 'a step would take [0-9.]* ms' said.txt || complain "what-if" "no number"

# Chance and other programs may make a rank late for a while, but not in each of three jobs.
for _ in 1 2 3; do
    recorded healthy
    ! grep -q "waited for rank" <<<"$said" || continue
    echo "blame names the rank that sleeps, in its phase, and nobody in a healthy job"
    exit $failed
done
complain "healthy" "blame names a rank in three of three jobs"
exit $failed
