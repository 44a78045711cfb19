#!/usr/bin/env bash
# usage: flight_test.sh BLAME FOLDER: check `blame` on dumps of flight recorders: recorded ones (flight/, PyTorch 2.15, gloo), dumps
# written by hand, and files that must be refused in one line. With PyTorch 2.15 (LOCKSTEP_TORCH_PYTHON names its Python) also
# dumps of jobs that hang now.
set -uo pipefail

# shellcheck source=tests/support/frame.sh
source "$(dirname "$0")/../support/frame.sh"

blame=$(realpath "$1")
here=$(dirname "$(realpath "$0")")
python=${LOCKSTEP_TORCH_PYTHON:-/usr/bin/python3}
export PYTHONDONTWRITEBYTECODE=1
work_in "$2"

# Write dump_rankR.json: a call per line "GROUP SEQUENCE KIND ELEMENTS STATE", of groups 0 (all, `members`) and pair (0 and 2).
members='[0, 1, 2]'
dump() # R
{
    awk -v rank="$1" -v members="$members" '{
            call = call (NR > 1 ? "," : "") sprintf("{\"process_group\":[\"%s\",\"%s\"],\"collective_seq_id\":%d,\"profiling_name\":\"nccl:%s\"," \
                "\"input_sizes\":[[%d]],\"output_sizes\":[[%d]],\"input_dtypes\":[\"Float\"],\"state\":\"%s\",\"retired\":%s,\"is_p2p\":%s," \
                "\"time_created_ns\":%.0f000000}", $1, $1 == "0" ? "default_pg" : "undefined", $2, $3, $4, $4, $5, $5 == "completed" ? "true" : "false",
                $3 ~ /^(send|recv)/ ? "true" : "false", 1795442315000 + 100 * NR + (rank == 1 ? 40 : rank))
        }
        END { printf "{\"version\":\"2.10\",\"pg_config\":{\"0\":{\"ranks\":\"%s\"},\"pair\":{\"ranks\":\"[0, 2]\"}},\"entries\":[%s]}\n", members, call }' \
        >"dump_rank$1.json"
}

answers() # NAME STATUS TEXT...: blame on the three dumps exits with STATUS and prints each TEXT
{
    local name=$1 status=$2
    shift 2
    exits "$status" "$blame" dump_rank*.json
    says "$@"
    ((status == 10)) || ! grep -qE "^rank.* (missing|makes|left)" <<<"$said" || complain "$name" "names a rank: $said"
}

done_0="0 1 all_reduce 1000 completed"
open_0="0 2 all_reduce 1000 scheduled"

exits 10 "$blame" "$here"/flight/missing_rank*.json
says "rank 2 is missing in all_reduce 5 of 1000 Float in group 0 (default_pg)." "ranks 0 and 1 called it at 13:58:35.653 UTC, and wait" \
    "rank 2 called last all_reduce 4 of 1000 Float at 13:58:35.597 UTC, which ended"
exits 10 "$blame" --flight "$here"/flight/missing_rank*.json

for rank in 0 1 2; do printf '%s\n' "$done_0" "0 2 all_reduce 1000 completed" | dump $rank; done
answers healthy 0 "All of them called the same" "rank 1         100 %" "group 0: 2 collectives"
grep -qE 'rank 1 +100 % +38\.000' <<<"$said" || complain "healthy" "rank 1 is 38 ms after rank 2: $said"

for rank in 0 1 2; do printf '%s\n' "$done_0" "$open_0" | dump $rank; done
answers stalled 0 "ranks 0, 1 and 2, all members, have called all_reduce 2"
echo "$done_0" | dump 1
answers missing 10 "rank 1 is missing in all_reduce 2 of 1000 Float" "ranks 0 and 2 called it at"
printf '%s\n' "$done_0" "0 2 all_reduce 500 scheduled" | dump 1
answers sizes 10 "rank 1 makes another call than all_reduce 2 of 1000 Float" "rank 1 called all_reduce 2 of 500 Float"
printf '%s\n' "$done_0" "0 2 barrier 0 scheduled" | dump 1
answers kinds 10 "rank 1 makes another call than all_reduce 2" "rank 1 called barrier 2 at"
rm dump_rank2.json
answers tie 10 "ranks 0 and 1 make other calls than each other as number 2" "No dump of rank 2"
printf '%s\n' "$done_0" "$open_0" | dump 1
answers no_dump 10 "rank 2 left no dump, and all others have called all_reduce 2"

# Rank 1 waits for rank 0, which waits for rank 2 in another group: only the last is at fault.
echo "$done_0" | dump 2
printf '%s\n' "$done_0" "pair 1 all_reduce 10 scheduled" | dump 0
answers chain 10 "rank 0 waits elsewhere itself, in all_reduce 1 of 10 Float of group pair" "rank 2 is missing in all_reduce 1 of 10 Float in group pair"
! grep -q "in a circle" <<<"$said" || complain "chain" "is no circle: $said"
members='[0, 2]'
printf '%s\n' "$done_0" "$open_0" | dump 2
printf '%s\n' "$done_0" "pair 1 all_reduce 10 scheduled" | dump 0
rm dump_rank1.json
answers circle 10 "These ranks wait for each other in a circle"
members='[0, 1, 2]'

# A dump that is older than the others, a ring that has lost its beginning, a root that ends early, messages.
printf '%s\n' "$done_0" "0 2 all_reduce 1000 completed" | tee >(dump 0) | dump 1
sleep 0.1
echo "$done_0" | dump 2
answers older 1 "rank 2 has not called what ended on others" "of different moments"
echo "0 2 all_reduce 1000 completed" | dump 2
answers ring 0 "All of them called the same"
printf '%s\n' "$done_0" "0 2 broadcast 10 completed" | dump 0
printf '%s\n' "$done_0" "0 2 broadcast 10 scheduled" | dump 1
echo "$done_0" | dump 2
answers root 10 "rank 2 is missing in broadcast 2"
for rank in 0 1 2; do printf '%s\n' "$done_0" "0 1 send_0->1 10 scheduled" | dump $rank; done
answers messages 0 "3 messages (send, recv) are not compared."

# Refused in one line, with status 2.
refused() # TEXT [NAME]: the standard input as a dump
{
    local name=${2:-bad_rank0.json}
    cat >"$name"
    exits 2 "$blame" --flight "$name"
    says "$1"
    (($(wc -l <<<"$said") == 1)) || complain "$1" "more than one line: $said"
}
good=$(<dump_rank0.json)
refused "no JSON" <<<"${good%?}"
refused "no JSON" <<<"${good/1000/NaN}"
refused "no JSON" </dev/null
refused "stands twice" <<<"${good/\"version\"/\"entries\":[],\"version\"}"
refused "nested more than 64 deep" < <(printf '{"entries":'; printf '[%.0s' {1..100000})
refused "no 'entries' that is a list" <<<'{"entries":{}}'
refused "no 'profiling_name' that is a text" <<<'{"entries":[{}]}'
refused "has no collective_seq_id" <<<"${good/collective_seq_id/x}"
refused "no whole number" <<<"${good/\"collective_seq_id\":1/\"collective_seq_id\":-1}"
refused "size in entry 0 is no whole number" <<<"${good/\[\[1000/\[\[1.5}"
refused "the name has no rank" nobody.json <<<"$good"
refused "a pickled dump is converted first" < <(printf '\200\004\225\000x')
cp dump_rank0.json again_rank0.json
exits 2 "$blame" dump_rank0.json again_rank0.json
says "are both of rank 0"
exits 2 "$blame" --flight
says "needs the dumps"
((failed)) || echo "blame reads flight recorders"

if "$python" -c 'import torch; raise SystemExit(not hasattr(torch._C._distributed_c10d, "_dump_fr_trace_json"))' 2>/dev/null; then
    for mode in healthy missing kinds groups; do
        timeout $((60 * patience)) "$python" "$here/flight_job.py" "$mode" "$mode" >out 2>&1 || complain "$mode" "the job: $(<out)"
        wanted=10
        [[ $mode != healthy ]] || wanted=0
        exits $wanted "$blame" "$mode"/rank*.json
        case $mode in
            healthy) says "All of them called the same" ;;
            missing) says "rank 2 is missing in all_reduce 5 of 1000 Float" "ranks 0 and 1 called it" ;;
            kinds) says "rank 0 makes another call than all_reduce 5" "rank 0 called broadcast 5" ;;
            groups) says "ranks 0 and 2 are missing in all_reduce 5" "rank 0 waits elsewhere itself, in all_reduce 1 of 1000 Float" ;;
        esac
    done
    ((failed)) || echo "… also of jobs that hang now"
else
    echo "no jobs: $python has no PyTorch whose gloo records"
fi
exit $failed
