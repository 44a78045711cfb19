#!/usr/bin/env bash
# usage: blog_test.sh BIN FOLDER: check that platforms/blog.xml is what fit_blog computes from the published numbers, and that
# this machine gives the published steps, both for fitted and other cases. Also check that wrong machines are noticed. Works in
# FOLDER/blog.
set -uo pipefail

# shellcheck source=tests/support/frame.sh
source "$(dirname "$0")/../support/frame.sh"

bin=$1
source=$(cd "$(dirname "$0")/../.." && pwd)
folder=$2/blog
work_in "$folder"

published() # RESULTS PLATFORM: run the twelve cases, 20 rounds
{
    local each
    for each in "01_straggler skew_ws4" "02_rank0_host barrier_ws4" "03_comm_bound comm_ws4" \
        "04_small_work weak_ws1 weak_ws2 strong_ws1 strong_ws2" \
        "05_token_skew variable_sample_ws4 variable_bucket_ws4 variable_token_ws4"; do
        read -r lab cases <<<"$each"
        # shellcheck disable=SC2086 # one word per case
        "$bin/$lab" --platform "$2" --out "$1" $(printf -- '--cases %s ' $cases) >"$lab.log" 2>&1 </dev/null ||
            { complain "$lab on $2"; tail -3 "$lab.log"; }
    done
}

"$bin/fit_blog" --expected "$source/expected" >fitted.xml 2>parameters || complain "fit_blog"
diff "$source/platforms/blog.xml" fitted.xml || complain "platforms/blog.xml is not what fit_blog writes now"

published right "$source/platforms/blog.xml"
"$bin/blog_machine" --results right --expected "$source/expected" >said || complain "the blog's machine"
cat said
grep -q "(20 rounds" said || complain "not the band of 20 rounds"
(($(grep -vc '^#' right/platforms/blog/blog.csv) == 13)) || complain "blog.csv has not its 12 rows"
! grep -q "not run" said || complain "a case is missing"

# The guesses of the null model by hand, in milliseconds, from published numbers only: a sleep added plainly; ranks, samples and
# padded tokens on straight lines (2 of 4 ranks are a third of the way, 256 samples a third of that from 128 to 512).
weak_ws1=30.021127899817657 weak_ws4=70.24137309999787 strong_ws1=83.98703879938694
fixed=16.321364399482263 variable=38.04817199779791
while read -r slug guess; do
    awk -F, -v slug="$slug" -v guess="$(awk "BEGIN { printf \"%.12f\", $guess }")" '
        /^#/ { next }
        !names { for (i = 1; i <= NF; i++) at[$i] = i; names = 1; next }
        $1 == slug { found = 1; off = $at["null_ms"] - guess; error = $at["null_error"] - (guess / $at["published_ms"] - 1) }
        END { exit !(found && off * off < 1e-12 && error * error < 1e-16) }' right/platforms/blog/blog.csv ||
        complain "the null model of $slug is not $guess"
done <<END
skew_ws4 $weak_ws4 + 40
barrier_ws4 $weak_ws4 + 20
weak_ws2 $weak_ws1 + ($weak_ws4 - $weak_ws1) / 3
strong_ws2 $weak_ws1 + ($strong_ws1 - $weak_ws1) / 3 + ($weak_ws4 - $weak_ws1) / 3
variable_bucket_ws4 $fixed + ($variable - $fixed) * (1262.8 - 1024) / (1918.6 - 1024)
variable_token_ws4 $fixed + ($variable - $fixed) * (1216.5 - 1024) / (1918.6 - 1024)
END
awk -F, "$by_column"'
    ($at["role"] == "fitted") != ($at["null_ms"] == "") { exit 1 }' right/platforms/blog/blog.csv ||
    complain "not just the predicted rows have a guess"
# Means and worst of the null model follow from published numbers alone: worked out by another program.
for line in "step_rows: 6" "step_null_mean: 0.059329" "step_null_worst: 0.161245" "change_rows: 6" "change_null_mean: 0.183775" \
    "change_null_worst: 0.463340"; do
    grep -qx "# $line" right/platforms/blog/blog.csv || complain "blog.csv lacks the line: $line"
done
# Means, worst and skill above the names follow from the columns below them.
awk -F, '
    function size(x) { return x < 0 ? -x : x }
    function check(name, value) { if (!(size(said[name] - value) < 2e-6)) { print name, said[name], value; wrong = 1 } }
    /^#/ { split(substr($0, 3), pair, ": "); said[pair[1]] = pair[2]; next }
    !names { for (i = 1; i <= NF; i++) at[$i] = i; names = 1; next }
    $at["role"] == "predicted" {
        for (of in prefix) {
            error = size($at[prefix[of] "error"]); null = size($at["null_" prefix[of] "error"])
            sum[of] += error / 6; worst[of] = error > worst[of] ? error : worst[of]; by_null[of] += null / 6
        }
    }
    BEGIN { prefix["step"] = ""; prefix["change"] = "change_" }
    END {
        for (of in prefix) {
            check(of "_mean", sum[of]); check(of "_worst", worst[of]); check(of "_skill", 1 - sum[of] / by_null[of])
        }
        exit wrong
    }' right/platforms/blog/blog.csv || complain "the means above the names of blog.csv"
grep -q "^Steps *of 6 predicted rows: mean error 3.0 %, worst 6.1 %; null model 5.9 %, worst 16.1 %; skill 50 %" said ||
    complain "mean, worst and skill of steps"
grep -q "^Changes *of 6 predicted rows: mean error 10.5 %, worst 18.4 %; null model 18.4 %, worst 46.3 %; skill 43 %" said ||
    complain "mean, worst and skill of changes"

# The link is fitted to 128 MiB among four ranks. By hand: its time of 4 x 3124200 bytes between two, where a
# ring sends 2/3 as much as among four; and the time of two ranks beyond a lone rank's: with 256 samples, a third of the way.
while read -r key value; do
    wanted=$(awk "BEGIN { printf \"%.6f\", $value }")
    grep -qx "# $key: $wanted" right/platforms/blog/blog.csv || complain "the held-out link" "$key is not $wanted"
done <<END
link_weak_ws2_predicted_ms 2 / 3 * 12.4968 / 134.217728 * (271.4609857997857 - $weak_ws4)
link_strong_ws2_predicted_ms 2 / 3 * 12.4968 / 134.217728 * (271.4609857997857 - $weak_ws4)
link_weak_ws2_ms 42.63799479958834 - $weak_ws1
link_strong_ws2_ms 61.959514399495674 - (2 * $weak_ws1 + $strong_ws1) / 3
END
grep -q "^weak_ws2 *12.62 more than a lone rank's 30.02; predicted 12.49 (-1.0 %), with the wait .* 12.99 (+3.0 %)" said ||
    complain "the link between two ranks"
grep -q "^strong_ws2 *13.95 more than a lone rank's 48.01; predicted 12.49 (-10.5 %), with the wait .* 13.29 (-4.7 %)" said ||
    complain "the link between two ranks at 256 samples"

# The errors of this split in platforms/blog_splits.csv come from the formula. They are the simulated ones within half a percent.
awk -F, "$by_column"'
    $at["role"] == "predicted" { print $1, $at["error"] }' right/platforms/blog/blog.csv | sort >simulated
awk -F, '/^#/ { next } !names { for (i = 1; i <= NF; i++) { name[i] = $i; at[$i] = i }; names = 1; next }
    $at["ours"] { for (i = 1; i <= NF; i++) if (sub(/^error_/, "", name[i]) && $i != "") print name[i], $i }' \
    "$source/platforms/blog_splits.csv" | sort >by_formula
join simulated by_formula | awk '{ off = $2 - $3; wrong += off * off > 0.005 ^ 2 } END { exit wrong || NR != 6 }' ||
    complain "formula and simulation differ by more than half a percent"

# The chart has means, worst and skill, and this fit among the others; a part of the rows has no cross among whole splits.
chart() # RESULTS: draw, and keep the texts of the chart in `said`
{
    gnuplot -e "results='$1/platforms/blog'" "$source/plots/blog.gp" >drawn 2>&1 || complain "the chart of $1" "$(<drawn)"
    said=$(sed -E 's/<[^>]*>//g' "$1/platforms/blog/blog_machine.svg")
}
if command -v gnuplot >/dev/null; then
    chart right
    says "Predicted steps miss by 3.0 % (worst 6.1), changes by 10.5 % (18.4)" "skill: 1 − 3.0 / 5.9 = 50 %" \
        "skill: 1 − 10.5 / 18.4 = 43 %" "Had other rows been fitted" "25 other choices of fitted rows"
    mkdir -p part/platforms/blog
    cp -r right/platforms/blog/0[12]* part/platforms/blog/
    "$bin/blog_machine" --results part --expected "$source/expected" >part.txt || complain "two labs alone"
    chart part
    says "2 of 6 predicted rows: steps miss by 4.3 % (worst 5.0)"
    unset said
fi

# Check the trace of every lab, which holds all cases of the posts.
"$bin/../tests/test_trace" right/platforms/blog/*/trace.json || complain "a trace"

# A network with twice the bandwidth, and a memory bus without limits, must both be noticed.
mkdir other
sed -E 's/bandwidth="1\.0005e\+09Bps"/bandwidth="2e9Bps"/' "$source/platforms/blog.xml" >other/blog.xml
published fast other/blog.xml
"$bin/blog_machine" --results fast --expected "$source/expected" >said && complain "a network too fast is right"
grep -q "comm_ws4 is off by" said || complain "a network too fast is not named"
sed -E 's/speed="[0-9.]+Gf"><prop id="ranks" value="0"/speed="12Gf"><prop id="ranks" value="0"/' "$source/platforms/blog.xml" >other/blog.xml
published wide other/blog.xml
"$bin/blog_machine" --results wide --expected "$source/expected" >said && complain "a memory bus too wide is right"
grep -q "weak_ws4 is off by" said || complain "a memory bus too wide is not named"
# One lab alone has no baseline here to compare with, which is no error.
mkdir -p alone/platforms/blog
cp -r right/platforms/blog/02_rank0_host alone/platforms/blog/
"$bin/blog_machine" --results alone --expected "$source/expected" >said || complain "one lab alone: $(grep -v 'not run' said)"
grep -q "^Steps *of 1 predicted row: mean error 3.5 %" said || complain "the mean of one lab alone"
! grep -q "^Changes" said || complain "changes without a baseline"
"$bin/blog_machine" --results nowhere --expected "$source/expected" 2>said
(($? == 2)) && grep -q "platform blog" said || complain "results that are not there"

((failed)) || echo "The blog's machine comes to what the blog printed, as far as it claims."
exit "$failed"
