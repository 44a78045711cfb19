#!/usr/bin/env bash
# usage: platform_test.sh LAB CLAIMS FOLDER: the lab 01_straggler on variations of the machine of round numbers: in the long
# run, with two ranks, with a shared memory bus. Are machines that cannot be simulated refused in one line? Works in
# FOLDER/platform.
set -uo pipefail

# shellcheck source=tests/model/simulate.sh
source "$(dirname "$0")/model/simulate.sh"
path=$PATH # of the lab

refused() # STATUS TEXT OPTION...: and one line that holds TEXT
{
    local status said
    said=$(PATH=$path "$lab" --out "$folder/refused" "${@:3}" </dev/null 2>&1 >/dev/null)
    status=$?
    printf '%s\n' "$said"
    ((status == $1)) || complain "status $status, not $1, for ${*:3}"
    (($(grep -c . <<<"$said") == 1)) || complain "not one line for ${*:3}"
    [[ $said == "01_straggler: "*"$2"* ]] || complain "does not say '$2'"
}

platform() # SED-SCRIPT: the machine of round numbers, changed
{
    sed "$1" "$platform" >"$folder/changed.xml"
}

# Bad luck evens out in the long run.
cp "$tests/model/long_run.csv" expected/01_straggler.csv
simulate long --steps 402 --rounds 1 --cases roaming_prefetch --cases roaming_every_k --cases chance
judge long

# Two ranks: T = 2 (1 + 2) ms.
simulate two --ranks 2 --cases skew_ws4
awk -F, '/^skew_ws4|,skew_ws4,/ && !/^#/ { ok = ($14 > 65.99 && $14 < 66.01) } END { exit !ok }' \
    two/platforms/round_numbers/01_straggler/summary.csv || complain "two ranks: the straggler's step is not 40 + 20 + 6"

# One host with a memory bus for three: four ranks at 3/4 of the speed, and six messages over the host's own link.
platform 's/radical="0-3"/radical="0-0" core="3"/; s/loopback_bw="[^"]*"/loopback_bw="196348000Bps"/
    s/loopback_lat="0s"/loopback_lat="1ms"/; s|<prop id="device"|<prop id="ranks" value="4"/>&|'
simulate bus --platform changed.xml --cases skew_ws4
awk -F, -v step=38.66667 '
    /^01_straggler,baseline,/ { ok = $14 > step - 0.01 && $14 < step + 0.01 && $33 > step - 0.01 && $33 < step + 0.01 && $8 == 3 }
    END { exit !ok }' bus/platforms/changed/01_straggler/summary.csv || complain "a shared memory bus"

refused 2 "takes 4" "${job[@]}" --ranks 5
refused 2 "cannot be read" --platform nowhere.xml
refused 2 "Unexpected character" --platform "$tests/model/01_straggler.csv"
platform 's/forward_fixed_s/foward_fixed_s/'
refused 2 "foward_fixed_s" --platform changed.xml
platform 's/"4e-3"/"four"/'
refused 2 "'four'" --platform changed.xml
platform 's/value="model"/value="gpu"/'
refused 2 "cpu or model" --platform changed.xml
platform 's/speed="1Gf"/speed="quick"/'
refused 2 "quick" --platform changed.xml
platform '/<cluster/,/cluster>/d'
refused 2 "no host" --platform changed.xml
# Without SimGrid.
mkdir bin
path=$folder/bin
for program in sh mpirun; do ln -s "$(command -v "$program")" bin/; done
refused 77 "libsimgrid-dev" --backend sim
refused 77 "libsimgrid-dev" --platform "$platform"

((failed)) || echo "Platforms are simulated as they say, or refused."
exit "$failed"
