# Facts for tests (facts.sh) about lab 10.
# shellcheck shell=bash disable=SC2034
cases=13 asked=recompute_all other=zero3
reordered='zero|kept|early' inseparable=ahead\|early
refused=(--every 9)
toy=(--batch-size 2 --hidden-dim 16 --num-heads 2 --num-blocks 3 --vocab-size 40 --min-seq-len 3 --max-seq-len 12 --fixed-seq-len 6)
smallest=(--cases zero3_recompute --cases recompute_attention --num-heads 1 --num-blocks 1 --vocab-size 2 --min-seq-len 1 --max-seq-len 1
    --fixed-seq-len 1)
largest=(--vocab-size 1048576 --hidden-dim 1024 --num-heads 64)
drawn=(recompute_attention recompute_all) shortest=(--num-blocks 1) longest=(--batch-size 64)
what_if_ms=23.6
own_tables() # FOLDER: memory in use returns to its first value; memory held is as predicted, except losses, and parts of sums on GPUs;
# all simulated ranks measure a block's collectives, because one alone sends nothing
{
    [ "$way" != sim ] || awk -F, '/^own_block_(sum|gather)_s,/ && $4 > 0 { measured++ } END { exit measured != 2 }' "$1/card.csv" || return
    [ ! -e "$1/growth.csv" ] || awk -F, -v gpu="$([[ $way == nccl || $way == shared || $way == staged ]] && echo 1)" '/^#/ || $1 == "twice" { next }
        { rows++; if ($7 - $6 < 0 || $7 - $6 > (gpu ? 0.1 : 0.01)) bad = 1 }
        END { exit bad || rows != 5 }' "$1/growth.csv" || return
    [ ! -e "$1/divided.csv" ] || awk -F, -v gpu="$([[ $way == nccl || $way == shared || $way == staged ]] && echo 1)" '/^#/ || $1 == "precision" { next }
        $8 != "" { rows++; if ($8 - $7 < 0 || $8 - $7 > (gpu ? 0.1 : 0.01)) bad = 1 }
        END { exit bad || rows != 4 }' "$1/divided.csv" || return
    [ ! -e "$1/calculator.csv" ] || awk -F, '/^#/ || $1 == "case" { next } { rows++; if (!($2 > 0) || ($3 != "" && !($3 > 0))) bad = 1 } END { exit bad || rows != 8 }' "$1/calculator.csv" || return
    [ ! -e "$1/timeline.csv" ] || awk -F, '/^#/ || $1 == "case" { next }
        { if (!($1 in first)) first[$1] = $7; last[$1] = $7; if ($2 < at[$1]) bad = 1; at[$1] = $2; if (!($1 in least) || $8 < least[$1]) least[$1] = $8; whole[$1] = $8 }
        $3 == "backward" { backward[$1] = 1 }
        END { for (c in last) { cases++; if (last[c] > first[c] || whole[c] > least[c] || !backward[c]) bad = 1 } exit bad || cases != 13 }' "$1/timeline.csv"
}
