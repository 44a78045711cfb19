#!/usr/bin/env bash
# usage: shard_batches_test.sh LAB MAKE_SHARDS FOLDER: check that --print-batches of lab 08 prints the batches of an independent program
# (shard_batches.py), --certify what is missing, --state where to go on, and that bad shards are refused. Works in FOLDER/shard_batches.
set -uo pipefail

# shellcheck source=tests/support/frame.sh
source "$(dirname "$0")/../support/frame.sh"

lab=$(realpath "$1")
make=$(realpath "$2")
tests=$(dirname "$(realpath "$0")")
python=$(command -v python3) && "$python" -c 'import zlib' || { echo "skipped: no python3 with zlib, so there is nothing to compare with"; exit 77; }
work_in "$(realpath -m "$3")/shard_batches"

shards() { "$make" --out "$@" >said 2>&1 || complain "make_shards $*: $(<said)"; }

run() { alone "$1" "$lab" "${@:2}"; } # STATUS ARGUMENT...

refused() # TEXT ARGUMENT...: check for status 2 and one line with this text
{
    run 2 --print-batches --batch-size 2 --seq-len 8 "${@:2}"
    (($(wc -l <err) == 1)) && grep -qF -- "$1" err || complain "${*:2}: not one line with '$1': $(<err)"
    [[ ! -s out ]] || complain "${*:2}: speaks on standard output"
}

# Names whose order depends on the locale; all formats of 16 bits, and of 32.
shards mixed --name b --shards 2 --tokens 900
shards mixed --name B --shards 1 --tokens 801 --format llmc16
shards mixed --name _c --shards 1 --tokens 850 --format npy16
shards wide --name w --shards 1 --tokens 1000 --format llmc32
shards wide --name x --shards 1 --tokens 777 --format npy32
shards text --text "$tests/../../README.md" --text "$tests/../../LICENSE" --tokens 1500
compared=0
while read -r folder rows length ranks steps tail; do
    run 0 --shards "$folder/*" --batch-size "$rows" --seq-len "$length" --ranks "$ranks" --steps "$steps" --tail "$tail" --print-batches
    "$python" "$tests/shard_batches.py" "$folder/*" "$rows" "$length" "$ranks" "$steps" "$tail" >wanted 2>err || complain "$(<err)"
    cmp wanted out || complain "other batches: $folder $rows $length $ranks $steps $tail"
    (($(wc -l <out) == 1 + ranks * steps)) || complain "$(wc -l <out) lines"
    compared=$((compared + 1))
done <<'END'
mixed 2 8 1 300 published
mixed 2 8 4 100 published
mixed 1 100 8 30 published
mixed 3 7 5 200 published
mixed 2 8 1 300 exact
mixed 2 8 4 100 exact
mixed 1 400 3 40 exact
mixed 5 1 7 200 exact
mixed 8 1000 2 3 exact
wide 4 16 2 60 published
wide 4 16 3 60 exact
text 2 32 2 50 published
text 2 32 2 50 exact
END
((compared == 13)) || complain "compared $compared settings"
[[ ! -e results ]] || complain "made a folder for results"

# A document begins with 50256 and then has the bytes of its text.
[[ $(od -An -tu2 -N8 text/tokens_0000.bin | tr -s ' ') == " 50256 35 32 76" ]] || complain "not the text: $(od -An -tu2 -N8 text/tokens_0000.bin)"

# Certificates: 4 x 16 tokens a step; of each shard the published rule drops an end.
run 1 --shards 'mixed/*' --batch-size 2 --seq-len 8 --ranks 4 --certify
# Rank 0 reads 12 batches of B_0000.bin, with 801 tokens. Rank 3 reads 11, because 48 + 12 * 64 + 1 > 801: so the 12th step ends at 752.
cat >wanted <<'END'
epoch 0, 3451 tokens in 203 windows: 3248 read once, 203 missing, 0 repeated
missing: B_0000.bin, tokens 752 to 800
missing: _c_0000.npy, tokens 800 to 849
missing: b_0000.bin, tokens 848 to 899
missing: b_0001.bin, tokens 848 to 899
rank 3 goes on to _c_0000.npy in step 11, rank 0 in step 12: in between, they read different shards
END
cmp wanted out || complain "another certificate: $(<out)"
for shuffle in none shard global; do
    run 0 --shards 'mixed/*' --batch-size 3 --seq-len 7 --ranks 5 --certify --tail exact --shuffle "$shuffle"
    [[ $(<out) == "epoch 0, 3451 tokens in "*" windows: 3451 read once, 0 missing, 0 repeated" ]] || complain "$shuffle: $(<out)"
    # Rows of 8 do not end where an epoch does, nor do steps: the last row of epoch 1 begins epoch 2. Rows of 4000 are longer than an epoch.
    for length in 8 4000; do
        run 0 --shards 'mixed/*' --batch-size 3 --seq-len "$length" --ranks 5 --certify --tail exact --shuffle "$shuffle" --epoch 2
        [[ $(<out) == "epoch 2, 3451 tokens in "*" windows: 3451 read once, 0 missing, 0 repeated" ]] || complain "$shuffle $length: $(<out)"
    done
done
# Each pass of the published rule drops the same tokens.
run 1 --shards 'mixed/*' --batch-size 2 --seq-len 8 --ranks 4 --certify --epoch 3
sed 's/^epoch 0/epoch 3/' wanted | cmp - out || complain "another certificate of epoch 3: $(<out)"
run 0 --shards 'wide/*' --batch-size 3 --seq-len 7 --ranks 2 --certify --tail exact --shuffle global --epoch 1
run 0 --shards 'wide/*' --batch-size 3 --seq-len 7 --ranks 2 --certify --tail exact

# A full disk: one line, and no state.
for more in '' '--state full_state'; do
    # shellcheck disable=SC2086 # two words or none
    PATH=$PWD/none "$lab" --shards 'mixed/*' --batch-size 2 --seq-len 8 --ranks 2 --steps 9 --tail exact --print-batches $more >/dev/full 2>err
    status=$?
    ((status == 1 && $(wc -l <err) == 1)) && grep -q 'No space left on device' err || complain "a full disk: status $status: $(<err)"
done
[[ ! -e full_state ]] || complain "a state of batches that were not written"

# Resume: 6 steps of 2 ranks x 3 rows, then 9 of 4 ranks x 1 row, are the rows of 72 steps of one rank and row.
run 0 --shards 'mixed/*' --batch-size 1 --seq-len 8 --ranks 1 --steps 72 --tail exact --shuffle global --print-batches
tail -n +2 out | cut -d, -f3- | head -72 >whole
job=(--shards 'mixed/*' --seq-len 8 --tail exact --shuffle global --print-batches --state state)
run 0 "${job[@]}" --batch-size 3 --ranks 2 --steps 6
run 0 "${job[@]}" --batch-size 1 --ranks 4 --steps 9
tail -n +2 out | cut -d, -f3- | cmp - <(tail -n 36 whole) || complain "does not go on where the other job ended"
grep -q '^tokens_read rows=72 steps=15 ' state || complain "the state: $(<state)"
(($(wc -l <state) == 1)) || complain "a state of $(wc -l <state) lines"

# Steps count on.
[[ $(tail -n 1 out) == 3,14,* ]] || complain "steps are not counted on: $(tail -n 1 out)"

# The remainder of an epoch, by other ranks and batches, and what came before it: each token once.
certify=(--shards 'mixed/*' --seq-len 8 --tail exact --shuffle global --certify --state state)
while read -r ranks rows epoch; do
    run 0 "${certify[@]}" --ranks "$ranks" --batch-size "$rows" --epoch "$epoch"
    printf '%s\n' 'state: 72 rows in 15 steps, fetched again with the same checksum' \
        "epoch ${epoch/-1/0}, 3451 tokens in 4?? windows: 3451 read once, 0 missing, 0 repeated" >wanted
    # shellcheck disable=SC2053 # a pattern
    [[ $(<out) == $(<wanted) ]] || complain "resumed by $ranks ranks x $rows rows: $(<out)"
done <<'END'
1 1 -1
3 2 -1
7 5 0
2 4 1
END
# Other tokens in the shards: neither the checksum nor the certificate holds for what was read.
mv mixed saved
cp -r saved mixed
printf '\1' | dd of=mixed/b_0000.bin bs=1 seek=600 conv=notrunc status=none
for ((i = 0; i < 3; i++)); do run 0 "${job[@]}" --batch-size 30 --ranks 2 --steps 1; done
run 0 "${certify[@]}" --ranks 1 --batch-size 1
rm -r mixed
mv saved mixed
run 1 "${certify[@]}" --ranks 1 --batch-size 1
grep -q '^state: 252 rows in 18 steps, but now their checksum is another$' out || complain "a checksum of other tokens: $(<out)"
run 2 "${certify[@]}" --ranks 1 --batch-size 1 --seq-len 9
refused 'cannot be read: No such file' --shards 'mixed/*' --certify --state none/state

# The published rule: a remainder by the same ranks and batches.
rm -f published_state
published=(--shards 'mixed/*' --batch-size 2 --seq-len 8 --ranks 4 --state published_state)
run 0 "${published[@]}" --print-batches --steps 60
run 1 "${published[@]}" --certify --epoch 0
grep -q '^state: 480 rows in 60 steps, fetched again with the same checksum$' out || complain "published: $(<out)"
grep -q '^epoch 0, 3451 tokens in 203 windows: 3248 read once, 203 missing, 0 repeated$' out || complain "published: $(<out)"
run 1 "${published[@]}" --certify
grep -q '^epoch 1, .* 203 missing, 0 repeated$' out || complain "published, next: $(<out)"

# Killed at any moment while it appends batches to a file: the file is that of a run that was never killed, row by row.
job=(--shards 'mixed/*' --seq-len 8 --tail exact --shuffle global --batch-size 3 --ranks 2 --print-batches)
lives=0 mid_step=0 steps=0 most=1000
rm -f state
: >killed
while ((steps < most && lives < 40)); do
    PATH=$PWD/none "$lab" "${job[@]}" --state state --steps $((most - steps)) >>killed 2>err &
    sleep "0.0$((RANDOM % 90 + 10))"
    kill -9 $! 2>/dev/null
    wait $! 2>/dev/null
    [[ ! -s err ]] || complain "killed, then: $(<err)"
    steps=$(sed -n 's/^tokens_read rows=[0-9]* steps=\([0-9]*\) .*/\1/p' state 2>/dev/null)
    steps=${steps:-0}
    (($(stat -c %s killed) == $(sed -n 's/.* output=[0-9:]*-\([0-9]*\) .*/\1/p' state))) || mid_step=$((mid_step + 1))
    lives=$((lives + 1))
done
((steps >= most)) || PATH=$PWD/none "$lab" "${job[@]}" --state state --steps $((most - steps)) >>killed || complain "the last life"
run 0 "${job[@]}" --steps "$most"
cmp out killed || complain "killed $lives times, $mid_step of them within a step: other rows"
echo "killed $lives times, $mid_step of them between printing a step and noting it"

# What others wrote behind the rows stays. A file that is shorter than the state says has lost rows.
append() { PATH=$PWD/none "$lab" "${job[@]}" --state state --steps 1 >>killed; }
echo 'a line of another program' >>killed
cp killed before
exits 2 append
says 'another program wrote them'
cmp killed before || complain "cut what others wrote"
truncate -s 1000 killed
exits 2 append
says 'which now has 1000'
said=''

# Bad input.
printf 'abc' >odd.bin
head -c 1500 mixed/B_0000.bin >cut.bin
{ printf '\x93NUMPY\x01'; } >head.npy
refused 'needs --shards'
run 2 --epoch 1 --shards 'mixed/*' --tail exact
grep -q 'belongs to --certify' err || complain "--epoch alone: $(<err)"
refused 'no such file' --shards 'none/*.bin'
refused '3 bytes are no whole number' --shards odd.bin
refused 'truncated' --shards cut.bin
refused 'ends within its .npy header' --shards head.npy
refused 'read them in separate runs' --shards '[mw]i[xd]e*/*_0000.[bn]*'
refused 'take --tail exact' --shards 'mixed/*' --shuffle global
refused 'too few for --tail published' --shards 'mixed/*' --seq-len 500
refused 'out of range' --shards 'mixed/*' --seq-len 0
run 2 --shards odd.bin --ranks 1
grep -q '3 bytes are no whole number' err || complain "a run: $(<err)"
((failed)) || echo "The batches are those of the rules."
exit "$failed"
