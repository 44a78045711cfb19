#!/usr/bin/env bash
# usage: platform_test.sh LAB CLAIMS FOLDER: run lab 01_straggler on variants of the machine of round numbers: a long run, two
# ranks, a shared memory bus. Machines that cannot be simulated must be refused in one line. Works in FOLDER/platform.
set -uo pipefail

# shellcheck source=tests/sim/simulate.sh
source "$(dirname "$0")/simulate.sh"
path=$PATH # PATH for the lab

refused() # STATUS TEXT OPTION...: check for this exit status and one line that holds TEXT
{
    local status said
    said=$(PATH=$path "$lab" --out "$folder/refused" "${@:3}" </dev/null 2>&1 >/dev/null)
    status=$?
    printf '%s\n' "$said"
    ((status == $1)) || complain "status $status, not $1, for ${*:3}"
    (($(grep -c . <<<"$said") == 1)) || complain "not one line for ${*:3}"
    [[ $said == "${lab##*/}: "*"$2"* ]] || complain "does not say '$2'"
}

platform() # SED-SCRIPT: write a changed machine of round numbers to changed.xml
{
    sed "$1" "$platform" >"$folder/changed.xml"
}

unfit() # TEXT SED-SCRIPT: check that the changed machine of round numbers is refused in a line that holds TEXT
{
    platform "$2"
    refused 2 "$1" --platform changed.xml
}

# Random stalls reach their mean in the long run.
cp "$tests/long_run.csv" expected/01_straggler.csv
simulate long --steps 402 --rounds 1 --cases roaming_prefetch --cases roaming_every_k --cases chance
judge long

# A lab's own cost is a number; one that is misspelled beyond recognition is no cost.
unfit "a lab's own cost is a number" 's/2e-6/soon/'
unfit "unknown property" 's/own_dispatch_s/dispatch_s/'

# More simulated processes than the kernel lets a program map, where it has its usual limit: lab 07 has workers beside each rank.
if (($(</proc/sys/vm/max_map_count) <= 65530)); then
    platform 's/radical="0-3"/radical="0-1023"/'
    lab=${lab%/*}/07_triage refused 2 "memory mappings, and the kernel allows $(</proc/sys/vm/max_map_count); start at most " --platform changed.xml --ranks 1024
fi

# Two ranks: T = 2 (1 + 2) ms.
simulate two --ranks 2 --cases skew_ws4
awk -F, '/^skew_ws4|,skew_ws4,/ && !/^#/ { ok = ($14 > 65.99 && $14 < 66.01) } END { exit !ok }' \
    two/platforms/round_numbers/01_straggler/summary.csv || complain "two ranks: the straggler's step is not 40 + 20 + 6"

# One host with a parallel capacity of three: four ranks run at 3/4 of the speed; six messages use the host's loopback link.
platform 's/radical="0-3"/radical="0-0" core="3"/; s/loopback_bw="[^"]*"/loopback_bw="196348000Bps"/
    s/loopback_lat="0s"/loopback_lat="1ms"/; s|<prop id="device"|<prop id="ranks" value="4"/>&|'
simulate bus --platform changed.xml --cases skew_ws4
awk -F, -v step=38.66667 "$by_column"'
    function near(ms) { return ms > step - 0.01 && ms < step + 0.01 }
    $at["case"] == "baseline" { ok = near($at["slowest_step_ms"]) && near($at["predicted_step_ms"]) && $at["cores"] == 3 }
    END { exit !ok }' bus/platforms/changed/01_straggler/summary.csv || complain "a shared memory bus"

step() # FOLDER CASE STEP TEXT: check that simulated and predicted step take STEP milliseconds, without oversubscription
{
    awk -F, -v name="$2" -v step="$3" "$by_column"'
        $at["case"] == name { near = 1
            for (i = 1; i <= 2; i++) { off = $at[i == 1 ? "slowest_step_ms" : "predicted_step_ms"] - step; near *= off < 0.01 && off > -0.01 }
            ok = near && $at["oversubscribed"] == 0 && $at["predicted_kind"] == "platform"
            if (!ok) print name, $at["slowest_step_ms"], $at["predicted_step_ms"], "not", step }
        END { exit !ok }' "$1"/platforms/changed/01_straggler/summary.csv || complain "$4"
}

# Twelve cores with a memory bus for two and a half ranks: four ranks take 1.6 times as long. The sleeping rank runs alone until
# the update of all ranks. A cost with the prefix of a model overrides the general cost.
bus='s/radical="0-3"/radical="0-0" core="12"/; s/loopback_bw="[^"]*"/loopback_bw="196348000Bps"/
    s/loopback_lat="0s"/loopback_lat="1ms"/; s|<prop id="device"|<prop id="ranks" value="12"/><prop id="mlp_memory_bus" value="memory"/>&|
    s|<cluster|<zone id="all" routing="Full">&|
    s|</cluster>|&<zone id="bus" routing="None"><host id="memory" speed="2.5Gf"><prop id="ranks" value="0"/></host></zone></zone>|
    s|<prop id="update_fixed_s" value="4e-3"/>|<prop id="update_fixed_s" value="1"/><prop id="mlp_update_fixed_s" value="4e-3"/>|'
platform "$bus"
simulate memory --platform changed.xml --cases skew_ws4
step memory baseline 44 "a memory bus for two and a half"
step memory skew_ws4 74.4 "a sleeper that has the memory bus for itself: 40 + 16 + 12 + 4 x 1.6"

# Ten ranks on three cores: rounding errors of thirds must not look like a memory bus.
platform 's/radical="0-3"/radical="0-0" core="3"/; s|<prop id="device"|<prop id="ranks" value="10"/>&|'
simulate thirds --platform changed.xml --ranks 10 --cases busy --rounds 1
awk -F, "$by_column"'
    { off = $at["predicted_step_ms"] / $at["slowest_step_ms"] - 1; if (off > 0.05 || off < -0.05) exit 1 }' \
    thirds/platforms/changed/01_straggler/summary.csv || complain "ten ranks on three cores"

# Sleeps that take 1.5 times as long.
platform 's|<prop id="device"|<prop id="sleep_stretch" value="1.5"/>&|'
simulate sleepy --platform changed.xml --cases skew_ws4
step sleepy skew_ws4 92 "40 ms of sleep that take 60"

# Jitter: reproducible from its seed, of the requested size, equal for all cases of a round.
platform 's|<prop id="device"|<prop id="jitter" value="0.05"/>&|'
for run in one again other; do
    simulate "$run" --platform changed.xml --cases skew_ws4 --rounds 4 --noise-seed "$([[ $run == other ]] && echo 9 || echo 4)"
done
same() { cmp -s <(sed '/^#/d' "one/platforms/changed/01_straggler/rounds.csv") <(sed '/^#/d' "$1/platforms/changed/01_straggler/rounds.csv"); }
# Without sleep a case equals the baseline, so it must have the same steps.
simulate still --platform changed.xml --cases skew_ws4 --rounds 4 --sleep-ms 0
cmp -s <(sed -n 's/^baseline,\([^,]*,[^,]*\),.*/\1/p' still/platforms/changed/01_straggler/rounds.csv) \
    <(sed -n 's/^skew_ws4,\([^,]*,[^,]*\),.*/\1/p' still/platforms/changed/01_straggler/rounds.csv) ||
    complain "the cases of a round do not have the same jitter"
same again || complain "a seed of jitter gives other steps the second time"
! same other || complain "another seed of jitter gives the same steps"
awk -F, '/^baseline,/ { steps += $3; n++ } END { mean = steps / n; exit !(n == 4 && mean > 32.4 && mean < 34) }' \
    one/platforms/changed/01_straggler/rounds.csv || complain "20 ms of jitter 0.05, the largest of four, are not about 21"

# Properties of the outermost zone apply to every host.
platform 's|<cluster|<zone id="all" routing="Full">\n&|; s|  </cluster>|&\n</zone>|; /<prop id=".*_s"\|<prop id="device"/d'
sed -n '/<prop id=".*_s"\|<prop id="device"/p' "$platform" >"$folder/properties"
sed -i "/<zone/r $folder/properties" "$folder/changed.xml"
simulate zone --platform changed.xml
cp "$tests/01_straggler.csv" expected/
"$claims" --results "zone/platforms/changed" --expected "$folder/expected" --gate || complain "costs of the outermost zone"

# At a terminal the lab asks for a guess first, and keeps the answer.
if command -v script >/dev/null; then
    echo 90 | script -qec "'$lab' --platform '$platform' --cases skew_ws4 --rounds 1 --out '$folder/asked'" /dev/null >said
    grep -q "A step of all 4 will take" said || complain "no question was asked"
    (($(grep -c "^machine card" said) == 1)) || complain "the card that was measured for the question is not shown once"
    grep -q ",skew_ws4,sim,round_numbers,90" asked/guesses.csv || complain "the answer was not kept"
fi

refused 2 "takes 4" "${job[@]}" --ranks 5
refused 2 "cannot be read" --platform nowhere.xml
refused 2 "cannot be read" --platform no/where
# A name without a file of this name is a machine of this project.
refused 2 "slow_nod: no such machine (available: blog, blog_gpu, gpu_cluster_100g, gpu_cluster_400g, gpu_node" --platform slow_nod
refused 2 "slow_node takes 4" --platform slow_node --ranks 5
mkdir gpu_node
refused 2 "gpu_node takes 8" --platform gpu_node --ranks 9
echo "no machine" >two_hosts
refused 2 "Unexpected character" --platform two_hosts
refused 2 "Unexpected character" --platform "$tests/01_straggler.csv"
unfit "did you mean forward_fixed_s?" 's/forward_fixed_s/foward_fixed_s/'
unfit "did you mean mlp_forward_fixed_s?" 's/forward_fixed_s/mlp_forwrd_fixed_s/'
unfit "did you mean jitter?" 's|<prop id="device"|<prop id="jiter" value="0.1"/>&|'
unfit "mpl_update_fixed_s" 's/update_fixed_s/mpl_update_fixed_s/'
unfit "jitter is a share" 's|<prop id="device"|<prop id="jitter" value="5"/>&|'
unfit "1 or more" 's|<prop id="device"|<prop id="sleep_stretch" value="0"/>&|'
unfit "no host of this name" 's|<prop id="device"|<prop id="memory_bus" value="nowhere"/>&|'
platform "$bus"
sed -i 's|<prop id="ranks" value="0"/>|<prop id="ranks" value="1"/>|' changed.xml
refused 2 "takes ranks itself" --platform changed.xml
unfit "as many ranks as it has cores" "$bus; s/core=\"12\"/core=\"3\"/"
unfit "another host has this bus" "$bus; s/radical=\"0-0\"/radical=\"0-1\"/"
unfit "'four'" 's|<prop id="update_fixed_s" value="4e-3"/>|<prop value="four" id="update_fixed_s"/>|'
unfit "outermost zone" 's|<cluster|<zone id="all" routing="Full"><zone id="within" routing="Full"><prop id="jitter" value="0.1"/>&|; s|</cluster>|&</zone></zone>|'
refused 2 "is a folder" --platform "$folder/"
cp "$platform" dedicated-cores.xml
refused 2 "give the file another name" --platform dedicated-cores.xml
unfit "'four'" 's/"4e-3"/"four"/'
unfit "update_fixd_s" 's|<cluster|<zone id="all" routing="Full">\n<prop id="update_fixd_s" value="1"/>\n&|; s|  </cluster>|&\n</zone>|'
unfit "does not say what work of this lab's mlp costs" '/_s"/d'
unfit "cpu or model" 's/value="model"/value="gpu"/'
unfit "quick" 's/speed="1Gf"/speed="quick"/'
unfit "speed = '0'" 's/speed="1Gf"/speed="0Gf"/'
unfit "no host" '/<cluster/,/cluster>/d'
# Without SimGrid.
mkdir bin
path=$folder/bin
for program in sh mpirun; do ln -s "$(command -v "$program")" bin/; done
refused 77 "libsimgrid-dev" --backend sim
refused 77 "libsimgrid-dev" --platform "$platform"

((failed)) || echo "Platforms are simulated as they say, or refused."
exit "$failed"
