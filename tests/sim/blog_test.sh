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
rm -rf "$folder"
mkdir -p "$folder"
cd "$folder" || exit 1

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
(($(grep -c . right/platforms/blog/blog.csv) == 14)) || complain "blog.csv has not its 12 rows"
! grep -q "not run" said || complain "a case is missing"

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
"$bin/blog_machine" --results nowhere --expected "$source/expected" 2>said
(($? == 2)) && grep -q "platform blog" said || complain "results that are not there"

((failed)) || echo "The blog's machine comes to what the blog printed, as far as it claims."
exit "$failed"
