#!/usr/bin/env bash
# usage: blame_answer_test.sh BLAME FOLDER: test what tools/blame answers: exit status, fixes and their gains, hosts, --json and the
# page, with small files whose gains were computed by hand.
set -uo pipefail

# shellcheck source=tests/support/frame.sh
source "$(dirname "$0")/../support/frame.sh"
# shellcheck source=tests/support/blame.sh
source "$(dirname "$0")/../support/blame.sh"

blame=$(realpath "$1")
folder=$(realpath -m "$2")
work_without_gnuplot

# Print steps of ranks with these milliseconds of data; then forward takes 10, backward 20, the sum 5, update 4.
job() # STEPS DATA... [-- HOST...]
{
    awk -v steps="$1" -v words="${*:2}" 'BEGIN {
        n = split(words, word, " ")
        for (i = 1; i <= n && word[i] != "--"; i++) { data[i] = word[i]; last = data[i] > last ? data[i] + 0 : last }
        ranks = i - 1
        print "rank,step,kind,start_ms,end_ms" (ranks < n ? ",host" : "")
        for (rank = 1; rank <= ranks; rank++)
            for (step = 0; step < steps; step++) {
                begin = step * (last + 39); arrived = begin + data[rank] + 30; end = begin + last + 35
                host = ranks < n ? "," word[ranks + 1 + rank] : ""
                print rank - 1 "," step ",data," begin "," begin + data[rank] host
                print rank - 1 "," step ",forward," begin + data[rank] "," begin + data[rank] + 10 host
                print rank - 1 "," step ",backward," begin + data[rank] + 10 "," end host
                print rank - 1 "," step ",all_reduce," arrived "," end host
                print rank - 1 "," step ",update," end "," end + 4 host
            }
    }'
}

json() # STATUS FILE EXPRESSION...: check that these Python expressions of the object `a` hold
{
    local status=$1 file=$2 got
    env PATH="$PWD/bin" "$blame" --json --out results "$file" >answer.json 2>err
    got=$?
    ((got == status)) || complain "$file --json" "status $got, not $status: $(<err)"
    python3 -m json.tool answer.json >/dev/null || complain "$file --json" "no JSON: $(<answer.json)"
    python3 - "${@:3}" <<'END' || complain "$file --json" "$(<answer.json)"
import json, math, sys
def refuse(word):
    raise ValueError(word)
a = json.load(open("answer.json"), parse_constant=refuse)
fixes = {(f["rank"], f["host"], f["phase"]): f for f in a["fixes"] or []}
wrong = [text for text in sys.argv[1:] if not eval(text)]
print(*wrong, sep="\n", end="\n" if wrong else "")
sys.exit(bool(wrong))
END
}

# Rank 1 fetches for 41 ms, the others for 1: a step of 80, of 40 without the delay. Two of 18 steps are warm-up.
job 18 1 41 1 >late.csv
answers 10 "waited for rank 1." late.csv
says "fix this" "rank 1: data                                40.0 ms   40.0 ms  50 %" "Next: rank 1 is late in its data"
json 10 late.csv 'a["ranks"] == 3 and a["steps"] == 16 and a["rounds"] == 1 and a["first_step"] == 2' \
    'a["step_ms"] == 80 and a["clock_error_ms"] == 0 and a["failed_checks"] == 0 and a["warnings"] == []' \
    'a["per_rank"][1] == {"rank": 1, "host": None, "step_ms": 80, "data_ms": 41, "forward_ms": 10, "backward_ms": 20, "host_ms": 0, "update_ms": 4, "other_ms": 0, "wait_ms": 0, "transfer_ms": 5, "exposed_ms": 5, "caused_wait_ms": 80, "last_share": 1}' \
    'a["per_rank"][0]["wait_ms"] == 40 and a["per_rank"][2]["caused_wait_ms"] == 0' \
    'a["blamed"] == {"rank": 1, "host": None, "phase": "data", "wait_ms": 80, "share": 0.333333}' \
    'a["sentence"] == "Of every 100 rank-seconds of job, 33 waited for rank 1, late in its data."' \
    'list(fixes) == [(1, None, "data"), (1, None, None)]' \
    'fixes[1, None, "data"] == {"rank": 1, "host": None, "phase": "data", "step_ms": 40, "gain_ms": 40, "gain_share": 0.5}' \
    'a["lesson"] == "01_straggler" and "num_workers" in a["remedy"]'
[[ $(wc -l <answer.json) -eq 1 ]] || complain "--json" "more than the object"

# Ranks 2 and 3 of four are equally late: no rank is blamed, and fixing one gains nothing. Their host is blamed.
job 32 1 1 41 41 -- a a b b >host.csv
answers 10 "no rank stands out as the cause." host.csv
says "25 waited for host b (ranks 2 and 3), late in its data." \
    "host b: data                                40.0 ms   40.0 ms  50 %" "Next: host b (ranks 2 and 3) is late in its data"
json 10 host.csv 'a["blamed"] == {"rank": None, "host": "b", "phase": "data", "wait_ms": 80, "share": 0.25}' \
    'list(fixes) == [(None, "b", "data"), (None, "b", None)]' 'fixes[None, "b", None]["gain_ms"] == 40' \
    '[r["host"] for r in a["per_rank"]] == ["a", "a", "b", "b"]'
cut -d, -f1-5 host.csv >nohost.csv # without hosts no rank is named; the phase is known nevertheless
json 0 nohost.csv 'a["blamed"] is None' 'list(fixes) == [(None, None, "data")]' 'fixes[None, None, "data"]["gain_ms"] == 40'
# Two hosts may be late by luck in four stretches of steps; one of three is not.
job 18 1 1 41 41 -- a a b b >few.csv
json 0 few.csv 'a["blamed"] is None'
job 18 1 1 41 41 1 -- a a b b c >three.csv
json 10 three.csv 'a["blamed"]["host"] == "b"'
# A rank that is late alone is named itself, and so is not its host.
job 32 1 1 1 41 -- a a b b >alone.csv
json 10 alone.csv 'a["blamed"]["rank"] == 3 and a["blamed"]["host"] is None' 'list(fixes) == [(3, None, "data"), (3, None, None)]'
# Rank 3 later than rank 2 by 10: fixing rank 3 gains 10, the host 50.
job 32 1 1 41 51 -- a a b b >both.csv
json 10 both.csv 'fixes[3, None, "data"]["gain_ms"] == 10 and fixes[None, "b", "data"]["gain_ms"] == 50'

# All ranks are equal: no rank is named, and no fix gains anything.
job 18 1 1 1 >even.csv
answers 0 "No single fix gains more than noise." even.csv
json 0 even.csv 'a["blamed"] is None and a["fixes"] == []'
# Four steps are too few.
job 4 1 41 1 >short.csv
answers 0 "as far as so few steps can tell" short.csv
# Unknown arrivals: no gains, no waits; a contradiction: status 1 and no times; bad input: 2, and no half an object.
answers 0 "" late.csv --hides-arrivals
[[ $said != *"fix this"* ]] || complain "hidden arrivals" "gains are shown"
sed 's/^0,5,all_reduce,.*/0,5,all_reduce,431,435/; s/^0,5,backward,411,.*/0,5,backward,411,435/; s/^0,5,update,475/0,5,update,435/' late.csv >early.csv
json 1 early.csv 'a["blamed"] is None and a["fixes"] is None and a["step_ms"] is None and a["failed_checks"] == 1' \
    'a["per_rank"][0]["data_ms"] is None and len(a["warnings"]) == 1 and "leaves all_reduce 5 of step 5" in a["warnings"][0]'
grep -q '<h2>' results/page.html && complain "a contradiction" "the page shows results"
sed '3s/forward/fore/' late.csv >bad.csv
env "$blame" bad.csv --json --out results >answer.json 2>err
(($? == 2)) && [[ ! -s answer.json ]] || complain "bad input" "$(<answer.json)"

# Names of hosts are any text; they are escaped.
job 32 1 1 41 41 -- a a odd odd | sed 's/,odd$/,"b""\\<i>"/' >odd.csv
json 10 odd.csv 'a["blamed"]["host"] == "b" + chr(34) + chr(92) + "<i>"'
grep -qF 'host b&quot;\&lt;i&gt;' results/page.html || complain "odd names" "not escaped on the page"
! grep -q '<i>' results/page.html || complain "odd names" "a tag on the page"
sed '7s/,a$/,c/' host.csv >bad.csv
answers 2 "bad.csv:7: host is 'c' here and 'a' in line 2, both of rank 0; a rank stays on its host" bad.csv
sed 's/^3,\(.*\),b$/3,\1,/' host.csv >bad.csv
answers 2 "bad.csv:2: rank 0 has a host here, but rank 3 has none; write the hosts of all ranks, or none" bad.csv

# The page is one file, with the sentence, a lane per rank, tables, gains and what to try.
answers 10 "waited for rank 1." late.csv
for text in 'Of every 100 rank-seconds of job, 33 waited for rank 1, late in its data.' 'rank 1: comes last</text>' \
    'ranks 0 and 2 wait 40.0 ms for rank 1: its data took 41.0 ms, theirs 1.00 ms' '<rect class="wait" x="38.750%"' \
    '<td>rank 1: data</td><td class="n">40.0</td><td class="n">40.0</td><td class="n">50</td>' 'DataLoader(num_workers=' \
    'notebooks-md/01_straggler.md' 'prefers-color-scheme: dark'; do
    grep -qF -- "$text" results/page.html || complain "the page" "has no $text"
done
(($(grep -c '<rect class="data"' results/page.html) == 4)) || complain "the page" "not three lanes and a legend with data"
! grep -q 'src=\|http' results/page.html || complain "the page" "it needs the network"
python3 - <<'END' || complain "the page" "tags do not match"
from html.parser import HTMLParser
class Tags(HTMLParser):
    open = []
    def handle_starttag(self, tag, attributes):
        if tag not in ("meta", "link", "rect", "line", "br", "tr", "td", "th"):
            self.open.append(tag)
    def handle_startendtag(self, tag, attributes):
        pass
    def handle_endtag(self, tag):
        if tag not in ("tr", "td", "th"):
            assert self.open.pop() == tag, tag
tags = Tags()
tags.feed(open("results/page.html").read())
assert not tags.open, tags.open
END

((failed)) || echo "blame answers what was worked out by hand"
exit "$failed"
