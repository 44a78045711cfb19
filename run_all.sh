#!/usr/bin/env bash
# Lockstep, from a bare machine to the last table: sets up what is missing, builds, runs every lab, and shows the
# published numbers beside this machine's.
#
# Exit status: 0 all is well; 1 set-up, build, a lab, a chart or a check failed; 2 bad usage, nothing was started;
# 77 --scale or --platform without what simulates ranks; 130, 143 or 129 ended by Ctrl-C or a signal.
set -uo pipefail

# One row per option: the flag, its value if it takes one, and what it does.
readonly option_rows=(
    "--test          | set up, build, run every test"
    "--scale         | many ranks instead: up to 256 on simulated GPU clusters, up to 16384 by formula"
    "--bench [WORD]  | measure how close to the limit the labs are: training steps, all-reduces and the harness, beside raw"
    "                | MPI, PyTorch and the peak of a GPU (about 25 minutes). With the word  faults : break runs on purpose,"
    "                | some hundred times, and count failures (more than an hour)"
    "--lesson-figures| run what the lessons show (notebooks-md/, a minute of real ranks per lab), and put its pictures and"
    "                | numbers into them"
    "--report        | only make charts and pages again, from existing results"
    "--quick         | only a look: two to four short rounds of each lab, without intervals"
    "--only NN_name  | run this lab only"
    "--all-cases     | measure all cases of a lab, not only those that its lesson shows, and its own tables also on simulated"
    "                | cores; simulated machines always run all"
    "--backend WORD  | where ranks run: mpi (cores of this machine), nccl (GPUs), sim (simulated cores), auto (each lab decides)"
    "--platform WORD | run the labs on this simulated machine only: a name from --list, or a SimGrid file"
    "--ranks N       | how many ranks train together [4]; for your own cluster, enough to fill more than one node"
    "--minutes M     | how long all labs together may measure: rounds are added while claims are undecided [10]"
    "--seconds S     | instead, measure each lab once, for S seconds"
    "--out DIR       | folder of the results [results]"
    "--list          | show the labs with their questions, and the simulated machines"
    "--yes           | install missing packages without asking"
    "--help          | this text"
)

# shellcheck source=tools/packages.sh
source "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/tools/packages.sh" # set_up

# Expected seconds of a lab at one place: start, machine card and charts, and a quick look. If there are more ranks than cores,
# a lab has two places: simulated cores, and as many real ranks as there are cores. The blog's machine computes nothing.
readonly overhead_seconds=6 quick_seconds=4 blog_seconds=3
# A lab that goes on measuring does so for this long at a time, at most and at least.
readonly longest_seconds=45 shortest_seconds=5
readonly lesson_seconds=60 # of a lab on real ranks, for --lesson-figures
readonly usual_minutes=10

# Labs that tell what bounds a step by changing it (--verdict), with the cases to tell it of: causes without their fixes. For how long.
readonly verdict_rows=("07_triage data_workers0 launch_eager memory_fp32 mixture")
readonly verdict_seconds=16

# The many ranks of --scale: a world size, and the steps of lab 01 there, of which two warm up. A straggler by chance needs
# many for a mean, and what a step takes to simulate grows with the square of the ranks. Each run has a seed of its own: with
# one for all they would share their luck.
readonly scale_rows=("1 402" "2 402" "4 402" "8 402" "16 202" "32 102" "64 42" "128 22" "256 7")
readonly scale_platforms=(gpu_cluster_400g gpu_cluster_100g)
# With 1024 samples the work of a GPU and the all-reduce of many are of one order; a stall of 5 ms is a few such steps.
readonly scale_options=(--batch-size 1024 --rounds 1)
readonly scale_weak=(--cases weak_ws4 --steps 5) scale_late=(--cases skew_ws4 --cases chance --sleep-ms 5 --chance 0.01)

declare -A value=()     # of each option that was given; blank for a switch
declare -a labs=()      # to be run
declare -A pace=()      # seconds of a round of "LAB PLACE", as measured in this run
declare -a finished=()  # of these, the ones that ended well
declare -a problems=()  # one line each, repeated at the end
declare -a notes=()     # rows of runs.csv: what failed or was left out, and why
results=results
formats="svg png" # of charts that are drawn
running= # the process group that attended() waits for
gpus=0 # that the labs take, or why there are none:
no_gpus="this build was made without CUDA (install NVIDIA's CUDA Toolkit and NCCL, then run this again)"

# --- saying things -------------------------------------------------------------------------------------------------

exec {complaints}>&2 # also where a signal comes while standard error goes into a log

die() # STATUS TEXT
{
    printf 'run_all.sh: %s\n' "${2//[[:cntrl:]]/?}" >&"$complaints" # one line, whatever a word may hold
    exit "$1"
}

note() # WHAT finished|failed|skipped REASON: for the report
{
    notes+=("\"${1//\"/\"\"}\",$2,\"${3//\"/\"\"}\"")
}

problem() # WHAT TEXT [REASON]: print and keep the problem, and continue; the run fails at the end
{
    printf 'run_all.sh: %s\n' "$2" >&2
    problems+=("$2")
    note "$1" failed "${3:-$2}"
}

last_complaint() # of the program that ran last, without its name
{
    tail -n 1 "$results/.complaints" 2>/dev/null
}

heading()
{
    local bold='' plain=''
    [[ -t 1 && -z ${NO_COLOR:-} && ${TERM:-dumb} != dumb ]] && bold=$'\e[1m' plain=$'\e[0m'
    printf '\n%s%s%s\n' "$bold" "$1" "$plain"
}

clock() # SECONDS, as m:ss
{
    printf '%d:%02d' $(($1 / 60)) $(($1 % 60))
}

# A signal to this script alone must end what it runs, and bash heeds none before a command in front ends. So each one runs
# behind, as a process group that stop() can end as a whole.
attended() # COMMAND...: its status
{
    local status
    set -m
    "$@" &
    running=$!
    set +m
    wait "$running"
    status=$?
    running=
    return $status
}

quietly() # LABEL LOG COMMAND...: one line for the person, everything else into the log; the command's status
{
    local label=$1 log=$2 began=$SECONDS status
    shift 2
    printf '%s ... ' "$label"
    attended "$@" >>"$log" 2>&1 </dev/null
    status=$?
    if ((status == 0)); then
        printf '%d s\n' $((SECONDS - began))
        return 0
    fi
    printf 'failed; the last lines of %s:\n' "$log"
    tail -n 20 "$log" | sed 's/^/    /'
    return $status
}

# --- what is asked -------------------------------------------------------------------------------------------------

is_given()
{
    [[ -n ${value[$1]+given} ]]
}

show_help()
{
    sed -n '2,3s/^# //p' run_all.sh
    printf '\nusage: ./run_all.sh [option]...\n\n'
    printf '  %s\n' "${option_rows[@]/|/ }"
}

read_options()
{
    local row flag name word
    local -A takes=()
    for row in "${option_rows[@]}"; do
        read -r flag name <<<"${row%%|*}"
        [[ -z $flag ]] || takes[$flag]=$name # a row without one goes on with the words of the row above
    done
    while (($# > 0)); do
        word=$1
        flag=${word%%=*}
        shift
        [[ -n $flag && -n ${takes[$flag]+known} ]] || die 2 "unknown option '$word'; --help lists the options"
        name=${takes[$flag]}
        value[$flag]=''
        if [[ $word != "$flag" ]]; then
            [[ -n $name ]] || die 2 "$flag takes no value; leave out '=${word#*=}'"
            value[$flag]=${word#*=}
        elif [[ -n $name && $# -gt 0 && $1 != --* ]]; then
            value[$flag]=$1
            shift
        fi
        [[ -z $name || $name == \[* || -n ${value[$flag]} ]] || die 2 "$flag needs a value: $flag $name; --help explains it"
    done
}

find_labs() # labs/NAME.c; files labs/NAME_*.c are parts of that lab
{
    local source lab
    for source in labs/[0-9][0-9]_*.c; do
        for lab in labs/[0-9][0-9]_*.c; do
            [[ $source != "${lab%.c}"_* ]] || continue 2
        done
        [[ ! -e $source ]] || labs+=("$(basename "$source" .c)")
    done
}

# A word that looks like a file or is one is a file, as the labs have it; it is the caller's.
find_platform() # CALLER'S FOLDER
{
    local word=${value[--platform]-}
    is_given --platform || return 0
    if [[ $word == */* || $word == *.xml ]] || (cd "$1" && [[ -f $word ]]); then
        [[ $word == /* ]] || word=$1/$word
        [[ -f $word && -r $word ]] || die 2 "--platform '$word' cannot be read; name a readable SimGrid file"
        value[--platform]=$word
    else
        [[ -e platforms/$word.xml ]] || die 2 "--platform '$word' is not a simulated machine; --list shows them"
    fi
    [[ ${value[--backend]-} != @(mpi|nccl) ]] ||
        die 2 "--platform '${value[--platform]}' is a simulated machine; leave out --backend ${value[--backend]}"
}

refuse_nonsense()
{
    local mode why excluded flag only=${value[--only]-} backend=${value[--backend]-auto} seconds=${value[--seconds]-0} ranks=${value[--ranks]-4}
    local minutes=${value[--minutes]-$usual_minutes}
    if is_given --only; then
        [[ " ${labs[*]} " == *" $only "* ]] || die 2 "--only '$only' is not a lab; --list shows them"
        labs=("$only")
    fi
    [[ $backend == @(mpi|nccl|sim|auto) ]] ||
        die 2 "--backend takes mpi, nccl, sim or auto, not '$backend'; leave it out to let each lab decide"
    [[ $seconds =~ ^[0-9]{1,5}([.][0-9]{1,6})?$ && $((10#${seconds%.*})) -lt 86400 ]] ||
        die 2 "--seconds takes a number below 86400 (a day), not '$seconds'"
    [[ $minutes =~ ^[0-9]{1,4}$ ]] || die 2 "--minutes takes a whole number up to 9999, not '$minutes'"
    ! is_given --minutes || ! is_given --seconds || die 2 "--seconds measures each lab once; leave out --minutes"
    ! is_given --minutes || ! is_given --quick || die 2 "--quick is only a look; leave out --minutes"
    [[ $ranks =~ ^[1-9][0-9]{0,3}$ && $ranks -le 1024 ]] ||
        die 2 "--ranks takes a whole number from 1 to 1024, not '$ranks'"
    [[ ${value[--bench]-} == @(|faults) ]] || die 2 "--bench takes only the word faults, not '${value[--bench]}'"
    while IFS='|' read -r mode why excluded; do
        for flag in $excluded; do
            ! is_given "$mode" || ! is_given "$flag" || die 2 "$mode $why; leave out $flag"
        done
    done <<'END'
--test|runs every test|--scale --bench --quick --only --all-cases --backend --platform --ranks --minutes --seconds --out
--scale|simulates what its charts need|--quick --only --all-cases --backend --platform --ranks --minutes --seconds --list
--report|runs nothing|--test --scale --bench --quick --only --all-cases --backend --platform --ranks --minutes --seconds --list
--lesson-figures|runs what the lessons name|--test --scale --bench --report --quick --all-cases --backend --platform --ranks --minutes --list
--bench|does not run labs as usual|--scale --quick --only --all-cases --backend --platform --ranks --minutes --seconds --list
END
}

breaks_things() # --bench faults
{
    is_given --bench && [[ ${value[--bench]} == faults ]]
}

question_of() # LAB: how its source begins, up to a line that ends with a question mark, without comment marks and name
{
    awk -v name="^$1: *" '{ is_last = /\?$/ || /\*\/$/ }
        { gsub(/^(\/\*| \*) *| *\*\/$/, ""); sub(name, ""); printf "%s%s", gap, $0; gap = " " }
        is_last { exit } END { print "" }' "labs/$1.c"
}

list_labs()
{
    local lab
    for lab in "${labs[@]}"; do
        printf '%-18s %s\n' "$lab" "$(question_of "$lab")"
    done
}

list_platforms() # by name, and what each says that it is
{
    local file
    printf '\nSimulated machines, for --platform:\n'
    for file in platforms/*.xml; do
        [[ ! -e $file ]] ||
            printf '%-18s %s\n' "$(basename "$file" .xml)" "$(sed -n '/<prop id="about"/{ s/.*value="//; s/".*//; p; q; }' "$file")"
    done
}

# A second run in the same folder would mix its numbers with the first one's. The kernel takes the lock away when this
# process and the lab it started have ended, however they ended.
take_results() # CALLER'S FOLDER
{
    ! is_given --out || results=${value[--out]}
    ! is_given --out || [[ $results == /* ]] || results=$1/$results
    { mkdir -p "$results" && touch "$results/.lock" && [[ -w $results ]]; } 2>/dev/null ||
        die 2 "--out '$results' cannot be written; name a folder that can"
    exec 9>>"$results/.lock"
    flock -n 9 || die 2 "another run writes into '$results'; wait for it, or name another folder with --out"
    printf '%4096s' '' 2>/dev/null >&9 || die 1 "no space left in '$results'; make room there, or name another folder with --out"
    : >"$results/.lock"
}

# --- build and test ------------------------------------------------------------------------------------------------

# Tests take as long to build as everything else, so they are built for --test only.
# shellcheck disable=SC2317 # called through `quietly`
configure()
{
    local tests=()
    if is_given --test || breaks_things; then
        tests=(-DLOCKSTEP_TESTS=ON)
    elif [[ ! -e build/CMakeCache.txt ]]; then
        tests=(-DLOCKSTEP_TESTS=OFF)
    fi
    cmake -S . -B build -DCMAKE_BUILD_TYPE=Release "-DLOCKSTEP_CUDA=${LOCKSTEP_CUDA:-AUTO}" \
        "-DLOCKSTEP_WERROR=${LOCKSTEP_WERROR:-OFF}" "${tests[@]}"
}

# shellcheck disable=SC2317 # called through `quietly`
compile() # TARGET...
{
    cmake --build build --parallel "$(nproc)" --target "$@"
}

build() # LABEL TARGET...
{
    local label=$1
    shift
    quietly "$label" build/build.log compile "$@" || die 1 "the build failed"
}

prepare_build()
{
    local home
    home=$(sed -n 's/^CMAKE_HOME_DIRECTORY:INTERNAL=//p' build/CMakeCache.txt 2>/dev/null)
    if [[ -n $home && ! $home -ef . ]]; then # moved or copied: CMake would refuse
        rm -rf build
        mkdir build
    fi
    : >build/build.log
    quietly "Checking this system" build/build.log configure || die 1 "the build failed"
}

# Builds what was asked for. The labs' way begins with a picture, drawn before the rest is built.
build_all()
{
    prepare_build
    if is_given --test || breaks_things; then
        build "Building with tests" all
    elif is_given --bench; then
        build "Building" programs benchmarks
    else
        ! wants_first_picture || show_first_picture
        build "Building" programs
    fi
}

wants_gpus() # if there are some
{
    ! breaks_things && ! is_given --scale && ! is_given --report && ! is_given --lesson-figures && ! is_given --platform && [[ ${value[--backend]-auto} == @(auto|nccl) ]]
}

# The program that looks for them is there in a build with CUDA only.
find_gpus() # sets gpus to their number, and says which, or why none of that build can be used
{
    local program=${LOCKSTEP_GPU_PROGRAMS:-build/lib}/nccl/describe_gpus said
    [[ -x $program ]] && wants_gpus || return 0
    if said=$("$program" 2>&1); then
        gpus=$(wc -l <<<"$said")
        printf 'GPUs: %s\n' "$(cut -d ';' -f 2 <<<"$said" | sort | uniq -c | sed 's/^ *//; s/ / x /' | paste -s -d ',' | sed 's/,/, /g')"
    else
        no_gpus=${said##*$'\n'}
        printf 'GPUs: none; %s\n' "$no_gpus"
    fi
}

run_tests()
{
    local at_once=$(($(nproc) + 2)) # some wait for a deadline, or for a rank
    attended ctest --test-dir build --parallel "$at_once" --output-on-failure </dev/null
    exit
}

# --- labs ----------------------------------------------------------------------------------------------------------

# shellcheck disable=SC2317 # called through `attended`
lab() # NAME OPTION...
{
    local name=$1
    shift
    : >"$results/.complaints"
    ! is_given --backend || set -- "$@" --backend "${value[--backend]}"
    ! is_given --platform || set -- "$@" --platform "${value[--platform]}"
    ! is_given --ranks || [[ " $* " == *" --ranks "* ]] || set -- "$@" --ranks "${value[--ranks]}"
    LOCKSTEP_COMPLAINTS=$results/.complaints "build/bin/$name" "$@" </dev/null # asks nothing
}

is_crowded() # ranks have no core each, so that labs that decide run twice
{
    [[ ${value[--backend]-auto} == auto ]] && ! is_given --platform && ((gpus == 0 && $(nproc) < ${value[--ranks]-4})) &&
        command -v smpirun >/dev/null
}

wants_first_picture()
{
    [[ -e labs/01_straggler.c && -e platforms/blog.xml ]] && command -v smpirun >/dev/null && ! is_given --scale && ! is_given --report &&
        ! is_given --only && ! is_given --platform && ! is_given --lesson-figures
}

# One slow rank beside its baseline and its fix, on a modelled machine, where a step costs what a file says and is computed at once.
show_first_picture()
{
    build "Building the first lab" first_picture
    [[ -e build/lib/model/01_straggler.so ]] || return 0 # a SimGrid that does not fit
    heading "A first picture: lab 01 on a modelled machine"
    : >"$results/.complaints"
    LOCKSTEP_COMPLAINTS=$results/.complaints attended build/bin/01_straggler --platform blog --cases skew_ws4 --rounds 1 \
        --out "$results/first-picture" </dev/null ||
        problem "first picture" "the first picture could not be made" "$(last_complaint)"
    printf '\nNext: build the rest, then run every lab on this machine.\n'
}

# shellcheck disable=SC2317 # called through `quietly`
draw_all() # {NAME FOLDER}...: as many at once as there are cores; fails where one cannot be drawn
{
    local status=0
    while (($# > 0)); do
        while (($(jobs -rp | wc -l) >= $(nproc))); do wait -n || status=1; done
        plots/draw.sh "$1" "$2" "formats = '$formats'" &
        shift 2
    done
    while (($(jobs -p | wc -l) > 0)); do wait -n || status=1; done
    return "$status"
}

chart() # NAME FOLDER...: what plots/NAME.gp draws of the tables there
{
    local folder said
    local pairs=()
    for folder in "${@:2}"; do pairs+=("$1" "$folder"); done
    printf -v said '%s, ' "${@:2}"
    said=${said%, }
    if ! command -v gnuplot >/dev/null; then
        printf 'gnuplot is not installed, so no charts; the tables are in %s\n' "$said"
        note "charts of $1" skipped "gnuplot is not installed"
        return
    fi
    : >build/charts.log
    quietly "Charts into $said" build/charts.log draw_all "${pairs[@]}" ||
        problem "$1" "$1: the charts could not be drawn; earlier charts are still there"
}

draw() # LAB SINCE: the charts of what it has written here and on simulated machines since that file was made
{
    local folders
    mapfile -t folders < <(find "$results/$1" "$results"/platforms/*/"$1" "$results/verdicts/$1" -name summary.csv -newer "$2" -printf '%h\n' 2>/dev/null)
    ((${#folders[@]} == 0)) || chart "$1" "${folders[@]}"
}

wants_blog() # each lab also on the machine of the blog posts, unless it was said where to run, or with how many ranks
{
    [[ -e platforms/blog.xml ]] && ! is_given --platform && ! is_given --backend && ! is_given --ranks
}

blog_of() # LAB: the machine of its post
{
    [[ $1 == 07_triage ]] && echo blog_gpu || echo blog
}

simulate_blog() # LAB OPTION...: for the column beside the published numbers
{
    wants_blog && [[ -e build/lib/model/$1.so ]] && command -v smpirun >/dev/null || return 0
    : >"build/$1-blog.log"
    quietly "The blog's machine, simulated" "build/$1-blog.log" lab "$@" --platform "$(blog_of "$1")" ||
        problem "$1" "$1 failed on the blog's machine" "on the blog's machine: $(last_complaint)"
}

# A place is where the ranks of a lab run. The options that choose it stand after a colon.
places()
{
    if ! is_crowded; then
        echo "here:"
    else
        echo "simulated:--backend sim"
        (($(nproc) < 2)) || echo "here:--backend mpi --ranks $(nproc)"
    fi
}

# Print the options for the cases and tables of a lab at this place. Fewer cases have more rounds, and more rounds decide more
# claims. A lab's own tables and long cases are measured on real ranks, after the first pass: on simulated cores they would take
# half of the time.
cases_of_run() # PLACE [first]
{
    is_given --platform || is_given --all-cases || echo "--lesson-cases"
    [[ $# -lt 2 && ( $1 != simulated || -n ${value[--all-cases]+given} ) ]] || echo "--without-tables"
}

measures_on() # beyond the first pass
{
    ! is_given --quick && ! is_given --seconds && ! is_given --platform
}

# shellcheck disable=SC2086,SC2046 # $where and cases_of_run hold several options
first_pass() # each lab at each place once: one round, which later ones join, unless this is all
{
    local name place where began=$results/.began left=${#labs[@]} options=(--out "$results") seconds=$quick_seconds times each status pass=
    local round=() start=$SECONDS
    times=$(places | wc -l)
    if is_given --seconds; then
        seconds=${value[--seconds]}
        options+=(--seconds "$seconds")
        ! is_given --quick || options+=(--quick)
    elif is_given --quick; then
        options+=(--quick)
    elif measures_on; then
        round=(--rounds 1) pass=first
    fi
    each=$((times * (10#${seconds%.*} + overhead_seconds)))
    ! wants_blog || each=$((each + blog_seconds))
    for name in "${labs[@]}"; do
        touch "$began"
        ((left == ${#labs[@]})) || each=$(((SECONDS - start) / (${#labs[@]} - left))) # as the labs so far
        heading "$name: $(question_of "$name")"
        printf '%d of %d labs left; elapsed %s, expected %s for this one and %s until the end of this pass\n\n' "$left" \
            "${#labs[@]}" "$(clock "$SECONDS")" "$(clock "$each")" "$(clock $((each * left)))"
        left=$((left - 1))
        status=0
        while ((status == 0)) && IFS=: read -r place where; do
            attended lab "$name" "${options[@]}" "${round[@]}" $(cases_of_run "$place" $pass) $where
            status=$?
        done < <(places)
        case $status in
        0)
            finished+=("$name")
            simulate_blog "$name" "${options[@]}" # all cases: they cost nothing
            draw "$name" "$began"
            write_report
            printf 'So far: %s (open it in a browser)\n' "$results/index.html"
            ;;
        77)
            printf '%s: skipped, for the reason above\n' "$name"
            note "$name" skipped "$(last_complaint)"
            ;;
        *) problem "$name" "$name failed; results of earlier runs are still there" "$(last_complaint)" ;;
        esac
    done
}

rounds_of() # LAB PLACE
{
    local folder=$results/$1
    [[ $2 == here ]] || folder=$results/platforms/dedicated-cores/$1
    awk -F, '/^#/ { next } !at { for (i = 1; i <= NF; i++) if ($i == "rounds") at = i; next } { print $at; exit }' "$folder/summary.csv"
}

# shellcheck disable=SC2086,SC2046 # $where and cases_of_run hold several options
add_rounds() # LAB PLACE SECONDS
{
    local where began=$results/.began log=build/$1-$2.log start=$SECONDS before
    where=$(places | sed -n "s/^$2://p")
    before=$(rounds_of "$1" "$2")
    touch "$began"
    : >"$log"
    if quietly "$1, $2, about $(clock "$3")" "$log" lab "$1" --out "$results" --seconds "$3" --add-rounds $(cases_of_run "$2") $where; then
        # Several rounds fill the seconds asked for. A single one may take longer. A lab's own tables come after them.
        pace[$1 $2]=$(awk -v asked="$3" -v took=$((SECONDS - start - overhead_seconds)) -v rounds=$(($(rounds_of "$1" "$2") - before)) \
            'BEGIN { print (rounds > 1 ? asked / rounds : took > 1 ? took : 1) }')
        draw "$1" "$began" >/dev/null
        write_report >/dev/null
    else
        problem "$1" "$1 failed ($2); results of earlier runs are still there" "$(last_complaint)"
        return 1
    fi
}

# Print "LAB PLACE SECONDS" of the rounds that do most for their time: decide claims, or let a term that is off by a fifth be noticed. LEFT seconds
# are left. Prints nothing if no further rounds would help.
best_rounds() # LEFT
{
    local key
    {
        for key in "${!pace[@]}"; do
            echo "pace $key ${pace[$key]}"
        done
        build/bin/claims --results "$results" --expected expected --undecided 2>/dev/null
    } |
        awk -v left=$(($1 - overhead_seconds)) -v overhead=$overhead_seconds -v shortest=$shortest_seconds -v longest=$longest_seconds '
            function seconds_of(rounds,    s) { s = 1.1 * rounds * pace[$1, $2]; return s < shortest ? shortest : s }
            $1 == "pace" { pace[$2, $3] = $4; next }
            {
                for (i = 3; i <= NF; i++) {
                    worth = (i - 2) / (seconds_of($i) + overhead)
                    if (worth > most) { most = worth; seconds = seconds_of($i); place = $1 " " $2 }
                }
            }
            END {
                seconds = seconds > longest ? longest : seconds
                seconds = seconds > left ? left : seconds
                if (seconds >= shortest) print place, int(seconds)
            }'
}

# Print the labs and places to measure again, the most urgent first: real ranks before simulated ones, and labs whose own tables
# the first pass left out before other labs.
everywhere() # LAB PLACE of all that ran
{
    local name place with_tables=() others=()
    for name in "${finished[@]}"; do
        if grep -q '^ *\.tables = ' "labs/$name.c"; then with_tables+=("$name"); else others+=("$name"); fi
    done
    for place in $(places | cut -d : -f 1 | sort); do # here, simulated
        printf "%s $place\n" "${with_tables[@]}" "${others[@]}"
    done
}

# Measure each LAB PLACE of standard input, in equal shares of these seconds, and none whose rounds would end after UNTIL (SECONDS of
# this script).
measure_again() # SECONDS UNTIL
{
    local until=$2 runs run name place each
    mapfile -t runs
    each=$(($1 / ${#runs[@]} - overhead_seconds))
    each=$((each > longest_seconds ? longest_seconds : each < shortest_seconds ? shortest_seconds : each))
    for run in "${runs[@]}"; do
        read -r name place <<<"$run"
        ((until - SECONDS >= each + overhead_seconds)) || break
        add_rounds "$name" "$place" "$each" || true
    done
}

# Make the changes of --verdict on real ranks, in a folder of their own: the steps of other cases would take most of the time.
measure_verdicts() # UNTIL
{
    local row name began=$results/.began log words options
    [[ ${value[--backend]-auto} != sim ]] || return 0
    for row in "${verdict_rows[@]}"; do
        read -ra words <<<"$row"
        name=${words[0]} log=build/${words[0]}-verdicts.log
        [[ " ${finished[*]} " == *" $name "* ]] || continue
        (($1 - SECONDS >= verdict_seconds + overhead_seconds)) || break
        touch "$began"
        : >"$log"
        mapfile -t options < <(printf -- '--cases\n%s\n' "${words[@]:1}")
        if quietly "$name, verdicts, about $(clock $verdict_seconds)" "$log" lab "$name" --out "$results/verdicts" \
            --seconds $verdict_seconds --ranks 1 --verdict "${options[@]}"; then
            sed -n '/^Verdicts, from/,/^$/{ /^  /p; }' "$log" # one line a case
            draw "$name" "$began" >/dev/null
            write_report >/dev/null
        else
            problem "$name" "$name failed (verdicts); results of earlier runs are still there" "$(last_complaint)"
        fi
    done
}

# Go round the labs again: first all of them, in equally long rounds, then those where further rounds do most.
more_passes() # SINCE: when the first pass began
{
    local until=$(($1 + 60 * 10#${value[--minutes]-$usual_minutes})) name place seconds
    heading "More rounds, until $(clock "$until") of this run or until every claim is decided; Ctrl-C keeps what is there"
    measure_verdicts "$until"
    measure_again $((2 * (until - SECONDS) / 3)) "$until" < <(everywhere)
    while read -r name place seconds < <(best_rounds $((until - SECONDS))); do
        add_rounds "$name" "$place" "$seconds" || break
    done
}

run_labs()
{
    local labs_began=$SECONDS
    if wants_blog && ! command -v smpirun >/dev/null; then
        printf "\nWithout SimGrid (libsimgrid-dev) the blog's machine is not simulated.\n"
        note "the blog's machine" skipped "SimGrid (libsimgrid-dev) is not installed"
    fi
    first_pass
    ! measures_on || ((${#finished[@]} == 0)) || more_passes "$labs_began"
}

# --- many ranks ----------------------------------------------------------------------------------------------------

scale_one() # LAB PLATFORM RANKS OPTION...
{
    local name=$1 platform=$2 ranks=$3 status
    quietly "$platform, world size $ranks, $name" build/scale.log "build/bin/$name" --platform "platforms/$platform.xml" \
        --ranks "$ranks" --out "$results/scale/$platform/ranks-$ranks" "${scale_options[@]}" "${@:4}" && return
    status=$?
    ((status != 77)) || die 77 "--scale simulates ranks, which cannot be done here; the reason stands above"
    problem "$name" "$name failed with $ranks ranks of $platform"
}

run_scale()
{
    local platform row ranks steps seed=2025
    heading "Many ranks, simulated"
    : >build/scale.log
    for row in "${scale_rows[@]}"; do
        read -r ranks steps <<<"$row"
        for platform in "${scale_platforms[@]}"; do
            scale_one 04_small_work "$platform" "$ranks" "${scale_weak[@]}"
            scale_one 01_straggler "$platform" "$ranks" "${scale_late[@]}" --steps "$steps" --seed $((seed++))
        done
    done
    heading "… and by formula"
    build/bin/scale --results "$results/scale" || problem "scale" "simulation and formula disagree"
    chart scale "$results/scale"
}

# --- pictures and numbers of the lessons -----------------------------------------------------------------------------

# Print the rows of a kind (run, picture or table) that a lab's lesson needs, from build/bin/lesson_numbers --plan.
plan_of() # KIND LAB
{
    sed -n "s/^$1 $2 //p" <<<"$plan"
}

is_real() # PLACE: its ranks are real
{
    [[ $1 == @(here|verdicts) ]]
}

run_folder() # LAB PLACE: the folder of its tables
{
    if is_real "$2"; then
        printf '%s\n' "$results/lessons/$2/$1"
    else
        find "$results/lessons/$2/platforms" -path "*/$1/summary.csv" -printf '%h\n' 2>/dev/null | head -n 1
    fi
}

say_disturbed() # ROUNDS: how many of them, if any; a lesson is better made on an idle machine
{
    awk -F, '/^#/ { next } !names { names = 1; for (i = 1; i <= NF; i++) at[$i] = i; next } { all++; disturbed += $at["is_disturbed"] }
        END { if (disturbed) printf "other programs had the cores in %d of %d rounds\n", disturbed, all }' "$1" 2>/dev/null
}

run_of_lesson() # LAB PLACE OPTION...
{
    local name=$1 place=$2 words=("${@:3}")
    rm -rf "$results/lessons/$place"/{,platforms/*/}"$name"
    if is_real "$place"; then
        words=(--backend mpi "${words[@]}")
        [[ " ${words[*]} " == *" --ranks "* ]] || words+=(--ranks "$(nproc)")
    fi
    if is_real "$place" || [[ $place == dedicated-cores ]]; then
        [[ " ${words[*]} " == *" --"@(seconds|rounds)" "* ]] || words+=(--seconds "${value[--seconds]-$lesson_seconds}")
    fi
    : >"build/$name-lesson.log"
    quietly "$name, $place" "build/$name-lesson.log" lab "$name" --out "$results/lessons/$place" "${words[@]}" || {
        problem "$name" "$name failed ($place); its lesson stays as it is" "$(last_complaint)"
        return 1
    }
    ! is_real "$place" || say_disturbed "$(run_folder "$name" "$place")/rounds.csv"
    return 0
}

draw_lesson() # LAB: draw its pictures, and write the run of each to pictures.csv
{
    local place chart folder picture drawn=notebooks-md/runs/pictures.csv
    mkdir -p notebooks-md/runs
    { grep -v "^$1_" "$drawn" 2>/dev/null || echo "picture,place,when,checksum"; } >"$drawn.new"
    while read -r place chart; do
        folder=$(run_folder "$1" "$place")
        picture=$1_$chart.png
        [[ " ${drawn_folders[*]} " == *" $folder "* ]] || chart "$1" "$folder"
        drawn_folders+=("$folder")
        cp "$folder/$chart.png" "notebooks-md/img/$picture" 2>/dev/null ||
            problem "$1" "$1: its lesson shows $chart of $place, which was not drawn"
        printf '%s,%s,%s,%s\n' "$picture" "$place" "$(sed -n 's/^# when: //p' "$folder/summary.csv")" \
            "$(cksum <"notebooks-md/img/$picture" | cut -d ' ' -f 1)" >>"$drawn.new"
    done < <(plan_of picture "$1")
    mv "$drawn.new" "$drawn"
}

keep_tables() # LAB: those that markers read
{
    local place=here file from path
    rm -rf "notebooks-md/runs/$1" notebooks-md/runs/{platforms/*,verdicts}/"$1"
    while read -r path; do
        place=here file=${path##*/}
        [[ $path != platforms/* ]] || { place=${path#platforms/}; place=${place%%/*}; }
        [[ $path != verdicts/* ]] || place=verdicts
        from=$(run_folder "$1" "$place")
        mkdir -p "notebooks-md/runs/${path%/*}"
        cp "$from/$file" "notebooks-md/runs/$path" 2>/dev/null ||
            problem "$1" "$1: a text reads $file of $place, which no <!-- run: --> line of its lesson makes"
    done < <(sed -n "s/^table //p" <<<"$plan" | grep -E "(^|/)$1/" | sort -u)
}

make_lesson() # LAB
{
    local drawn_folders=()
    local -a words
    while read -ra words; do
        run_of_lesson "$1" "${words[@]}" || return
    done < <(plan_of run "$1")
    draw_lesson "$1"
    keep_tables "$1"
    finished+=("$1")
}

run_lessons()
{
    local name plan
    plan=$(build/bin/lesson_numbers --sources . --plan) || die 1 "the texts cannot be read, for the reason above"
    for name in "${labs[@]}"; do
        [[ -n $(plan_of run "$name") ]] || continue
        heading "$name: $(question_of "$name")"
        make_lesson "$name"
    done
    ((${#finished[@]} > 0 || ${#problems[@]} > 0)) || die 2 "${value[--only]-every lesson} lacks a <!-- run: --> line; see docs/lessons.md"
    heading "The numbers of the texts"
    build/bin/lesson_numbers --sources . --write || problem "lessons" "the texts do not agree with their runs, see above"
}

# --- benchmarks -------------------------------------------------------------------------------------------------------

run_faults()
{
    heading "Faults"
    attended tests/faults/bench_faults.sh build "$results" </dev/null || problem "bench_faults" "a run did not survive its faults, see above"
}

run_bench()
{
    local program=${LOCKSTEP_GPU_PROGRAMS:-build/lib}/nccl/bench_gpu id
    id=$(date +%Y%m%d-%H%M%S)-$$ # the same in both tables
    heading "How close to the limit"
    attended build/bin/bench --out "$results" --run "$id" </dev/null || problem "bench" "bench ended with status $?"
    if ((gpus == 0)); then
        printf '\nNo step on a GPU: %s\n' "$no_gpus"
        return
    fi
    heading "A step on a GPU"
    attended "$program" --out "$results" --run "$id" </dev/null || problem "bench_gpu" "bench_gpu ended with status $?"
}

# --- the end -------------------------------------------------------------------------------------------------------

judge()
{
    local options=()
    ((${#finished[@]} > 0)) && ! is_given --platform || return 0 # nothing ran on this machine
    ! is_given --only || options=(--only "${value[--only]}")
    heading "The published numbers, and this machine's"
    attended build/bin/claims --results "$results" --expected expected "${options[@]}" ||
        problem "claims" "a claim that must hold on every machine fails"
    compare_blog
    compare_gpu_post
}

compare_gpu_post() # with what the post about profiling printed: its queue and launches, and charts of both
{
    wants_blog && [[ -d $results/platforms/blog_gpu ]] || return 0
    heading "The GPU machine of the post about profiling"
    build/bin/blog_gpu --expected expected --out "$results/platforms/blog_gpu" ||
        problem "blog_gpu" "the post's machine no longer agrees with the published numbers"
    chart blog_gpu "$results/platforms/blog_gpu"
}

compare_blog() # with what the posts printed
{
    wants_blog && [[ -d $results/platforms/blog ]] || return 0
    heading "The machine of the posts, simulated"
    build/bin/blog_machine --results "$results" --expected expected ||
        problem "blog_machine" "the blog's machine, simulated, no longer agrees with the published numbers"
    chart blog "$results/platforms/blog"
}

keep_notes() # in runs.csv
{
    ((gpus > 0)) || ! wants_gpus || note "GPUs" skipped "$no_gpus"
    ! is_crowded || (($(nproc) > 1)) || note "real ranks" skipped "this machine has one core"
    { printf '%s\n' what,status,reason "${notes[@]}" >"$results/.runs.csv" && mv "$results/.runs.csv" "$results/runs.csv"; } 2>/dev/null ||
        problem "notes" "the notes of this run could not be saved in $results/runs.csv; is the disk full?"
}

drawable() # the script and the folder of all results that there is a script for
{
    local folder
    for folder in "$results"/[0-9][0-9]_* "$results"/{platforms/*,verdicts}/[0-9][0-9]_*; do
        [[ ! -e $folder/summary.csv || ! -e plots/${folder##*/}.gp ]] || printf '%s %s\n' "${folder##*/}" "$folder"
    done
    [[ ! -e $results/blame/summary.csv ]] || printf 'blame %s\n' "$results/blame"
    [[ ! -e $results/platforms/blog/blog.csv ]] || printf 'blog %s\n' "$results/platforms/blog"
    [[ ! -e $results/platforms/blog_gpu/blog_gpu.csv ]] || printf 'blog_gpu %s\n' "$results/platforms/blog_gpu"
    [[ ! -e $results/scale/scale.csv ]] || printf 'scale %s\n' "$results/scale"
}

draw_again() # what --report has to: the tables may be of runs by hand, which draw nothing
{
    : >build/charts.log
    if ! command -v gnuplot >/dev/null; then
        printf 'gnuplot is not installed, so the charts are the earlier ones\n'
        return
    fi
    local name folder
    local pairs=()
    while read -r name folder; do pairs+=("$name" "$folder"); done < <(drawable)
    quietly "Charts" build/charts.log draw_all "${pairs[@]}" || problem "charts" "some charts could not be drawn"
}

compare() # writes closing.csv and claims.csv, of all labs that can be judged; fails where a table cannot be read
{
    local status=0
    if compgen -G "$results/[0-9][0-9]_*/summary.csv" || compgen -G "$results/platforms/dedicated-cores/[0-9][0-9]_*/summary.csv"; then
        attended build/bin/claims --results "$results" --expected expected --tables || status=$?
        ((status >= 2)) || return 0 # 1: a claim does not hold, which the tables show
    fi
    rm -f "$results/closing.csv" "$results/claims.csv" # of results that cannot be judged now
    return "$status"
}

# Draw as PNG what there is as SVG only. A PNG takes as long to draw as the SVG that pages show, so the labs leave it for the end: their
# time is for measuring.
draw_pictures()
{
    local name folder svg pairs=() formats=png
    command -v gnuplot >/dev/null || return 0
    while read -r name folder; do
        for svg in "$folder"/*.svg; do
            [[ ! -e $svg || -e ${svg%.svg}.png ]] || { pairs+=("$name" "$folder"); break; }
        done
    done < <(drawable)
    ((${#pairs[@]} == 0)) || quietly "The charts as PNG" build/charts.log draw_all "${pairs[@]}" ||
        problem "charts" "the charts could not be drawn as PNG; those as SVG are there"
}

# The pages, of all results that are there: also of labs that did not run this time.
write_report()
{
    : >build/report.log
    compare >>build/report.log 2>&1 || problem "claims" "the results could not be compared: $(tail -n 1 build/report.log)"
    quietly "The report" build/report.log build/bin/report --results "$results" --sources . ||
        problem "report" "the report could not be written"
}

# shellcheck disable=SC2317 # called on Ctrl-C and the like
stop() # STATUS
{
    local tries=0
    trap '' INT TERM HUP
    if [[ -n $running ]]; then
        kill -TERM -- "-$running"
        while kill -0 -- "-$running" && ((tries++ < 100)); do # a lab takes a moment to end its ranks
            sleep 0.1
        done
        kill -KILL -- "-$running"
    fi 2>/dev/null
    die "$1" "stopped; finished and saved: ${finished[*]:-nothing yet}"
}

need_simgrid() # for what is nothing without it
{
    local flag
    command -v smpirun >/dev/null && return
    for flag in --scale --platform; do
        ! is_given "$flag" ||
            die 77 "$flag simulates ranks, and SimGrid is not installed (Debian, Ubuntu: apt-get install libsimgrid-dev)"
    done
}

say_where()
{
    heading "Results"
    printf 'results   %s\n' "$results"
    is_given --bench || is_given --lesson-figures || printf 'report    %s (open it in a browser)\n' "$results/index.html"
    ! is_given --scale || printf 'scale     %s\n' "$results/scale"
    ! is_given --bench || breaks_things || printf 'bench     %s\n' "$results/bench.csv"
    ! is_given --bench || breaks_things || ((gpus == 0)) || printf 'on a GPU  %s\n' "$results/bench_gpu.csv"
    ! breaks_things || printf 'faults    %s\n' "$results/bench_faults.csv"
    is_given --scale || is_given --bench || [[ ! -d $results/platforms ]] || printf 'simulated %s\n' "$results/platforms"
    ((${#finished[@]} == 0)) || printf 'lesson    notebooks-md/%s.md\n' "${finished[@]}"
    ((${#problems[@]} > 0)) || exit 0
    heading "What went wrong"
    printf '%s\n' "${problems[@]}"
    exit 1
}

main()
{
    local caller=$PWD
    cd -P "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")" || exit 1
    read_options "$@"
    if is_given --help; then show_help; exit; fi
    find_labs
    find_platform "$caller"
    refuse_nonsense
    if is_given --list; then list_labs; list_platforms; exit; fi
    is_given --test || take_results "$caller"

    trap 'stop 130' INT
    trap 'stop 143' TERM
    trap 'stop 129' HUP
    if ! is_given --report || [[ ! -x build/bin/report ]]; then
        set_up
        build_all
    fi
    find_gpus
    ! is_given --test || run_tests
    need_simgrid
    if is_given --scale; then
        run_scale
        write_report
    elif breaks_things; then
        run_faults
    elif is_given --bench; then
        run_bench
    elif is_given --lesson-figures; then
        run_lessons
    elif is_given --report; then
        draw_again
        write_report
    else
        formats=svg
        run_labs
        judge
        draw_pictures
        keep_notes
        write_report
    fi
    say_where
}

main "$@"
