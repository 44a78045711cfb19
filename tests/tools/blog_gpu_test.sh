#!/usr/bin/env bash
# usage: blog_gpu_test.sh BLOG_GPU SOURCE FOLDER: check the comparison with the post about profiling, its limits, and its four charts.
# Works in FOLDER/blog_gpu.
set -uo pipefail

# shellcheck source=tests/support/frame.sh
source "$(dirname "$0")/../support/frame.sh"
blog_gpu=$(realpath "$1")
source=$(realpath "$2")
work_in "$(realpath -m "$3")/blog_gpu"

exits 0 "$blog_gpu" --expected "$source/expected" --out drawn
says "5.83x and 14.21x" "4.01x and 5.87x" "bf16 is +4.1 % by means and -3.0 % by medians" "8 MiB" "samples per second by 2.57x" \
    "step 8  of data_workers8       420.40    432.24   +2.8 %"
[[ $(grep -cv '^slug' drawn/blog_gpu.csv) == 8 && $(grep -c , drawn/blog_gpu_series.csv) == 37 ]] || complain "rows of the tables"

# A published number that is another one is off by more than the limits; one that is missing is named.
mkdir other
cp "$source"/expected/blog_triage*.csv other/
sed -i 's/^data_workers4,8,609.12/data_workers4,8,660/' other/blog_triage_series.csv
exits 1 "$blog_gpu" --expected other
sed -i 's/^data_workers4,8,660/data_workers4,8,609.12/' other/blog_triage_series.csv
exits 0 "$blog_gpu" --expected other
sed -i 's/^\(kernel_bf16,12,512,2\),4.67/\1,5.67/' other/blog_triage.csv
exits 1 "$blog_gpu" --expected other
sed -i '/^kernel_bf16/d' other/blog_triage.csv
exits 2 "$blog_gpu" --expected other
says "has no kernel_bf16"
sed -i '/^data_workers8,0/d' other/blog_triage_series.csv
exits 2 "$blog_gpu" --expected other
says "has no step 0 of data_workers8"
said=

# platforms/blog_gpu.xml has the tool's parameters, in seconds.
exits 0 "$blog_gpu" --expected "$source/expected"
awk -F'"' -v said="$said" '
    function near(what, got, expected) {
        if (!(got > expected * 0.995 && got < expected * 1.005)) { print what " is " got ", not " expected; bad = 1 }
    }
    /<prop / { value[$2] = $4 }
    END { split(said, word, /[ \n]+/); step = word[8] * 1e-3; eager = word[10] * 1e-3; asleep = word[20] * 1e-3
          fixed = word[25] * 1e-3; sample = word[28] * 1e-6
          near("the step", value["mlp_forward_fixed_s"] + value["mlp_backward_fixed_s"] + value["mlp_update_fixed_s"], step)
          near("the fixed part of a batch", value["mlp_fetch_fixed_s"], fixed)
          near("a round of the transform", 1024 * value["own_transform_s"], sample)
          near("the slow batch", fixed + 256 * (6 * sample + 2e-3 * value["sleep_stretch"]), asleep)
          near("the eager step", step + 288 * (value["own_dispatch_s"] + value["own_dispatch_back_s"]), eager)
          exit bad }' "$source/platforms/blog_gpu.xml" || complain "platforms/blog_gpu.xml"
said=

"$source/plots/draw.sh" blog_gpu drawn >out 2>&1
status=$?
((status == 77)) || {
    ((status == 0)) || complain "charts" "$(<out)"
    for chart in data_pipeline data_jitter torch_throughput kernel_amp; do
        [[ -s drawn/$chart.svg && -s drawn/$chart.png ]] || complain "no chart $chart"
    done
    said=$(sed -E 's/<[^>]*>//g' drawn/data_pipeline.svg) # the letters of the chart
    says "107.0 ms (+0.3 %)" "5.8x and 14.2x"
    said=
}

((failed)) || echo "The post about profiling is recomputed within the limits, and its four charts are drawn."
exit "$failed"
