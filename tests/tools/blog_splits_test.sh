#!/usr/bin/env bash
# usage: blog_splits_test.sh BIN FOLDER: check that platforms/blog_splits.csv is what blog_splits computes from the published
# numbers, its structure, links worked out by hand, the distribution above its names, and what happens if no machine meets a row.
# Works in FOLDER/blog_splits.
set -uo pipefail

# shellcheck source=tests/support/frame.sh
source "$(dirname "$0")/../support/frame.sh"

bin=$1
source=$(cd "$(dirname "$0")/../.." && pwd)
folder=$2/blog_splits
work_in "$folder"

"$bin/blog_splits" --expected "$source/expected" >splits.csv 2>words || complain "blog_splits" "$(<words)"
diff "$source/platforms/blog_splits.csv" splits.csv || complain "platforms/blog_splits.csv is not what blog_splits writes now"

# Six rows of a split are fitted and have no error; a kept split has six errors, their mean and the worst; others have none.
awk -F, '
    function wrong(what) { print "split " $1 ": " what; failed = 1 }
    function size(x) { return x < 0 ? -x : x }
    /^# kept/ || /^# unmet/ || /^# ill_conditioned/ { said[$0] = 1; next }
    /^#/ { next }
    !names { for (i = 1; i <= NF; i++) { at[$i] = i; row_of[i] = substr($i, 7) }; names = 1; next } # 7: after error_
    {
        split("weak_ws1 strong_ws1", rows, " ")
        delete fitted; fitted["weak_ws1"]; fitted["strong_ws1"]
        for (i = 2; i <= 5; i++) fitted[$i]
        count = 0; for (row in fitted) count++
        if (count != 6) wrong("fits " count " rows")
        errors = 0; sum = 0; worst = 0
        for (i = at["error_weak_ws4"]; i <= NF; i++) {
            if (($i == "") != ($at["verdict"] != "kept" || row_of[i] in fitted)) wrong("error of " row_of[i])
            if ($i != "") { errors++; sum += size($i); worst = size($i) > worst ? size($i) : worst }
        }
        verdicts[$at["verdict"]]++
        if ($at["verdict"] == "kept" && (errors != 6 || size(sum / 6 - $at["step_mean"]) > 1.1e-4)) wrong("mean")
        if ($at["verdict"] == "kept" && size(worst - $at["step_worst"]) > 1e-9) wrong("worst")
        if ($at["verdict"] == "kept" && !($at["amplification"] <= 10)) wrong("ill-conditioned, yet kept")
        if ($at["verdict"] == "ill-conditioned" && $at["amplification"] != "" && $at["amplification"] <= 10) wrong("dropped")
        if (($at["verdict"] == "unmet") != ($at["link_gb_s"] == "")) wrong("unmet")
        ours += $at["ours"]
        key = $2 "," $3 "," $4 "," $5
        if (seen[key]++) wrong("is there twice")
    }
    END {
        if (verdicts["kept"] + verdicts["unmet"] + verdicts["ill-conditioned"] != 54 || ours != 1) {
            print "not 54, one of them ours"; failed = 1
        }
        if (!(("# kept: " verdicts["kept"]) in said && ("# unmet: " verdicts["unmet"]) in said &&
              ("# ill_conditioned: " verdicts["ill-conditioned"]) in said)) { print "counts above the names"; failed = 1 }
        exit failed
    }' splits.csv || complain "the splits"

column() # NAME [VERDICT]: the values of a column that are not blank
{
    awk -F, -v name="$1" -v verdict="${2-kept}" '/^#/ { next } !at { for (i = 1; i <= NF; i++) { if ($i == name) at = i; if ($i == "verdict") v = i }; next }
        $v == verdict && $at != "" { print $at }' splits.csv
}

near() # WHAT VALUE EXPECTED TOLERANCE
{
    awk -v a="$2" -v b="$3" -v most="$4" 'BEGIN { off = a - b; exit !(off <= most && -off <= most) }' || complain "$1" "$2, not $3"
}

# Our split is that of platforms/blog.xml: its rows, link and bus.
ours=$(grep -E '^1,' splits.csv)
[[ $ours == 1,comm_ws4,weak_ws4,fixed_sample_ws4,variable_sample_ws4,1,kept,*,1.0005,2.3634,* ]] || complain "our split" "$ours"
grep -q 'bandwidth="1.0005e+09Bps"' "$source/platforms/blog.xml" && grep -q 'speed="2.3634Gf"' "$source/platforms/blog.xml" ||
    complain "link or bus of platforms/blog.xml"

# Links by hand, in GB/s. Gradients: 4 x 3124200 bytes. The later of two ranks is 1 / sqrt(pi) of the jitter, 2.961 %, above the
# mean; 2000 draws know it to 0.1 %, which is 0.3 % of a link.
link_of() { awk -F, -v row="$1" '$2 == row && $3 == "weak_ws4" && $6 == (row == "comm_ws4") { print $9; exit }' splits.csv; }
near "link of comm_ws4" "$(link_of comm_ws4)" "$(awk 'BEGIN { print 1.5 * 134.217728 / (271.4609857997857 - 70.24137309999787) }')" 0.0001
later='(1 + 0.02961 / sqrt(3.14159265))'
near "link of weak_ws2" "$(link_of weak_ws2)" "$(awk "BEGIN { print 12.4968 / (42.63799479958834 - 30.021127899817657 * $later) }")" 0.004
near "link of strong_ws2" "$(link_of strong_ws2)" \
    "$(awk "BEGIN { print 12.4968 / (61.959514399495674 - (30.021127899817657 + (83.98703879938694 - 30.021127899817657) / 3) * $later) }")" 0.004
# The texts of our split give back fixed_sample_ws4: 1024 padded tokens x 128 and 1.65 MB among four ranks, the last of which is
# 1.0294 of the jitter above the mean; fetch 0.149 ms.
texts=$(awk -F, '$1 == 1 { print $11 " + " $12 " * 1024 * 128 / 1e6" }' splits.csv)
near "fixed_sample_ws4" "$(awk "BEGIN { print (0.14902 + $texts) * (1 + 1.0294 * 0.02961) + 1.5 * 4 * 0.41296 / 1.0005 }")" 16.321364399482263 0.02

# The distribution above the names, from the rounded errors below them.
for row in weak_ws4 skew_ws4 barrier_ws4 comm_ws4 weak_ws1 weak_ws2 strong_ws1 strong_ws2 fixed_sample_ws4 variable_sample_ws4 \
    variable_bucket_ws4 variable_token_ws4; do column "error_$row"; done | tr -d - | sort -g >errors
column step_mean | sort -g >means
for kind in errors: means:mean_; do
    for part in lower_quartile:0.25 median:0.5 upper_quartile:0.75 worst:1; do
        mine=$(awk -v p="${part#*:}" '{ x[NR] = $1 } END { at = 1 + p * (NR - 1); low = int(at)
            print low == NR ? x[NR] : x[low] + (at - low) * (x[low + 1] - x[low]) }' "${kind%:*}")
        name=step_${kind#*:}${part%:*}
        near "$name" "$(sed -n "s/^# $name: //p" splits.csv)" "$mine" 0.00011
    done
done
(($(wc -l <errors) == $(sed -n 's/^# step_errors: //p' splits.csv))) || complain "the number of errors"
worse=$(awk -v ours="$(awk -F, '$1 == 1 { print $13 }' splits.csv)" '$1 > ours { n++ } END { print n }' means)
grep -qx "# step_splits_worse_than_ours: $worse" splits.csv || complain "splits worse than ours" "$worse"
said=$(<words)
says "54 splits: 26 kept, 12 unmet, 16 ill-conditioned" "step    156 held-out errors: median 3.9 %, quartiles 2.2 and 5.2 %, worst 35.0 %" \
    "change  129 held-out errors: median 14.5 %, quartiles 5.3 and 18.1 %, worst 154.8 %"
unset said

# If comm_ws4 leaves no time for 128 MiB, nothing can be fitted to it: 18 more splits are unmet, and there is no platform file.
cp -r "$source/expected" faster
sed -i 's/,271\.4609857997857,/,60,/' faster/blog.csv
"$bin/blog_splits" --expected faster >splits.csv 2>words || complain "a row that no machine meets" "$(<words)"
grep -qx "# unmet: 30" splits.csv || complain "a row that no machine meets" "$(grep unmet splits.csv)"
exits 2 "$bin/fit_blog" --expected faster
says "no machine meets these rows"

((failed)) || echo "54 choices of rows, and what each makes of the others."
exit "$failed"
