#!/usr/bin/env bash
# usage: run_all_test.sh SOURCE FOLDER: test run_all.sh on a small copy of the project below FOLDER, where compiler, package
# manager and labs are scripts that only record how they were called.
set -uo pipefail

# shellcheck source=tests/support/frame.sh
source "$(dirname "$0")/../support/frame.sh"

source=$1
folder="$2/run_all"
project="$folder/a path with spaces/it's here"
elsewhere="$folder/somewhere else"
calls="$folder/calls"
unset LOCKSTEP_GPU_PROGRAMS # the copy of the project has its own

run() # STATUS ARGUMENT...: run it from another folder and check its exit status; set `said` to its output
{
    local wanted=$1 got
    shift
    : >"$calls"
    said=$(cd "$elsewhere" && "${before[@]}" "$project/run_all.sh" "$@" 2>&1 <<<"an answer")
    got=$?
    ((got == wanted)) || complain "run_all.sh $*: status $got, not $wanted"
}

called() # TEXT: check that a program was called with TEXT
{
    grep -qF -- "$1" "$calls" || complain "it should have called: $1; it called: $(<"$calls")"
}

not_called() # TEXT
{
    ! grep -qF -- "$1" "$calls" || complain "it should not have called: $1"
}

not_judged() # check that claims printed no table; calls for the report use --tables
{
    ! grep -F -- "claims " "$calls" | grep -qvF -- "--tables" || complain "it should not have judged"
}

refuses() # TEXT ARGUMENT...: check that bad usage gives one line that names the value, at once, and starts nothing
{
    local text=$1 began=$SECONDS
    shift
    run 2 "$@"
    says "$text"
    [[ $said != *$'\n'* ]] || complain "run_all.sh $*: more than one line"
    ((SECONDS - began <= 10 * patience)) || complain "run_all.sh $*: took $((SECONDS - began)) s"
    [[ ! -s $calls && ! -e $project/build && ! -e $project/results ]] || complain "run_all.sh $*: started something"
}

stub() # NAME: create a program that records its call, then runs the script on standard input
{
    {
        printf '#!/usr/bin/env bash\nprintf "%%s\\n" "%s $*" >>"%s"\n' "${1##*/}" "$calls"
        cat
    } >"$1"
    chmod +x "$1"
}

# shellcheck disable=SC2016 # the stubs expand these variables
make_project()
{
    local lab
    rm -rf "$folder"
    mkdir -p "$project"/{labs,plots,tools,expected,platforms,tests/faults} "$elsewhere" "$folder/bin" "$folder/without"
    ln -s /usr/bin/* "$folder/without/"
    rm -f "$folder/without/smpirun"
    cp "$source/run_all.sh" "$project/"
    cp "$source/tools/packages.sh" "$project/tools/"
    cp "$source/plots/draw.sh" "$project/plots/"
    for lab in 01_straggler 02_wrong 03_cannot; do
        touch "$project/plots/$lab.gp"
        printf '/* %s: what about %s?\n * More.\n */\n' "$lab" "${lab#*_}" >"$project/labs/$lab.c"
    done
    printf '/* 01_straggler_formula: what is this part of?\n */\n' >"$project/labs/01_straggler_formula.c"
    printf '<zone>\n  <prop id="about" value="a small machine"/>\n  <prop id="device" value="model"/>\n</zone>\n' >"$project/platforms/small.xml"
    stub "$folder/bin/gnuplot" <<'END'
all="${*//\'\'/\'}" charts=${all#*charts=\'} formats=${all#*formats = \'}
printf '%s\n' chart,title,axis,cases timeline,,, >"${charts%%\'; *}/charts.csv"
[[ ${formats%%\'*} != *svg* ]] || echo "</svg>" >"${charts%%\'; *}/timeline.svg"
[[ ${formats%%\'*} != *png* ]] || printf '%s' "a picture of $charts" IEND.... >"${charts%%\'; *}/timeline.png"
END
    stub "$folder/bin/smpirun" <<<'exit 0'
    stub "$folder/bin/nproc" <<<'echo 4'
    stub "$folder/bin/ctest" <<<'echo "2 tests failed"; exit 8'
    stub "$folder/bin/dpkg-query" <<<'[[ -e $MISSING && $* == *libcmocka-dev* || -e $SPARED && $* == *libsimgrid-dev* ]] || echo "<installed>"'
    stub "$folder/bin/apt-get" <<<'[[ $* == *--print-uris*libsimgrid-dev* && -e $UNKNOWN ]] && exit 100; [[ $* != *--print-uris* ]] || printf "%s\n" "a b 2000000 c" "a b 3000000 c"; [[ $* == *--print-uris* ]] || rm -f "$MISSING" "$SPARED"'
    stub "$folder/bin/sudo" <<<'[[ ! -e $NO_SUDO ]] || exit 1; [[ $1 != -n ]] || shift; exec "$@"'
    # Configuring creates a cache, building creates the labs. Each lab records its call, and whether it can read standard input.
    stub "$folder/bin/cmake" <<'END'
if [[ -e $BROKEN ]]; then echo "error: no such thing"; exit 1; fi
if [[ $1 == -S ]]; then echo "CMAKE_HOME_DIRECTORY:INTERNAL=$PWD" >build/CMakeCache.txt; exit; fi
mkdir -p build/bin build/lib/model
touch build/lib/model/01_straggler.so
for name in 01_straggler:0 02_wrong:1 03_cannot:77 04_small_work:0 07_triage:0 claims:0 report:0 scale:0 blog_machine:0 blog_gpu:0 lesson_numbers:0; do
    {
        echo '#!/usr/bin/env bash'
        echo "printf '%s\n' \"${name%:*} \$*\" >>\"$CALLS\""
        echo 'if [[ -e $SLOW && "${0##*/} $*" == *$(<"$SLOW")* ]]; then trap "sleep 0.3; echo ended >>$CALLS; exit 143" TERM; sleep 60 & echo "sleeps $!" >>"$CALLS"; wait; fi'
        [[ $name != 0[147]_* ]] || echo 'lab=${0##*/}; while (($# > 0)); do
                [[ $1 != --out ]] || out=$2
                [[ $1 != --platform ]] || platform=$2
                shift
            done
            [[ $platform != blog || ! -e $NO_BLOG ]] || { echo "no such host"; exit 1; }
            [[ -z $platform ]] || places=("$out/platforms/$(basename "$platform" .xml)")
            [[ -n $platform ]] || places=("$out" "$out/platforms/dedicated-cores")
            for place in "${places[@]}"; do
                mkdir -p "$place/$lab" && touch "$place/$lab/summary.csv"
                printf "%s\n" rounds $(($(sed -n 2p "$place/$lab/summary.csv") + 5)) >"$place/$lab/summary.csv" # of all launches
                printf "%s\n" "# a head" case,is_disturbed,x a,1,1 b,0,1 c,0,1 >"$place/$lab/rounds.csv"
            done'
        [[ $name != claims* ]] || echo '[[ ! -s $UNDECIDED || $* != *--undecided* ]] || { head -n 1 "$UNDECIDED"; sed -i 1d "$UNDECIDED"; }'
        [[ $name != lesson_numbers* ]] || echo '[[ $* != *--plan* || ! -e $PLAN ]] || cat "$PLAN"'
        [[ $name != 02_* ]] || echo 'echo "it went wrong, and why" >>"$LOCKSTEP_COMPLAINTS"'
        [[ $name != 03_* ]] || echo 'echo "this machine has no \"such\" thing" >>"$LOCKSTEP_COMPLAINTS"'
        echo '[[ ! -e $FAILING || $0 != */$(<"$FAILING") ]] || exit $(<"$FAILING.status")'
        [[ $name != [0-9]* ]] || echo "read -r answer && echo 'it could ask'"
        echo "exit ${name#*:}"
    } >"build/bin/${name%:*}"
    chmod +x "build/bin/${name%:*}"
done
END
    export PATH="$folder/bin:$PATH" CALLS="$calls" MISSING="$folder/missing" NO_SUDO="$folder/no_sudo"
    export SPARED="$folder/spared" UNKNOWN="$folder/unknown"
    export PLAN="$folder/plan" NO_BLOG="$folder/no_blog" UNDECIDED="$folder/undecided"
    export BROKEN="$folder/broken" SLOW="$folder/slow" FAILING="$folder/failing"
}

test_usage()
{
    refuses "unknown option '--frobnicate'" --frobnicate
    refuses "unknown option 'quick'" quick
    refuses "unknown option ''" ''
    refuses "--report runs nothing; leave out --quick" --report --quick
    refuses "--only needs a value" --only
    refuses "--only needs a value" --only --quick
    refuses "--only needs a value" --only=
    refuses "--only '04_none' is not a lab" --only 04_none
    refuses "not 'gpus'" --backend gpus
    refuses "not 'gpu'" --backend=gpu
    refuses "not '-1'" --seconds -1
    refuses "not '3x'" --seconds 3x
    refuses "not 'nan'" --seconds=nan
    refuses "not '86400'" --seconds 86400
    refuses "--minutes takes a whole number up to 9999, not '1.5'" --minutes 1.5
    refuses "leave out --minutes" --minutes 5 --seconds 5
    refuses "leave out --minutes" --quick --minutes 5
    refuses "--ranks takes a whole number from 1 to 1024, not '0'" --ranks 0
    refuses "not '1025'" --ranks 1025
    refuses "not '2x'" --ranks=2x
    refuses "leave out --ranks" --scale --ranks 8
    refuses "--platform needs a value" --platform
    refuses "--platform 'smal' is not a simulated machine" --platform smal
    refuses "--platform '$elsewhere/none.xml' cannot be read" --platform none.xml
    refuses "leave out --backend mpi" --platform small --backend mpi
    refuses "leave out --backend nccl" --backend=nccl --platform small
    refuses "leave out --platform" --test --platform small
    refuses "--quick takes no value" --quick=yes
    refuses "leave out --quick" --test --quick
    refuses "leave out --scale" --test --scale
    refuses "leave out --quick" --scale --quick
    refuses "leave out --only" --scale --only 01_straggler
    refuses "leave out --backend" --backend sim --scale
    refuses "leave out --seconds" --scale --seconds 5
    refuses "leave out --list" --scale --list
    refuses "--scale takes no value" --scale=64
    refuses "leave out --bench" --test --bench
    refuses "leave out --scale" --bench --scale
    refuses "leave out --quick" --bench --quick
    refuses "leave out --only" --only 01_straggler --bench
    refuses "leave out --platform" --bench --platform small
    refuses "leave out --quick" --lesson-figures --quick
    refuses "leave out --platform" --platform small --lesson-figures
    refuses "--bench takes only the word faults" --bench=fast
    touch "$folder/file"
    refuses "'$folder/file/results' cannot be written" --out "$folder/file/results"
}

test_telling()
{
    local flag
    run 0 --help
    for flag in --test --scale --bench --lesson-figures --quick --only --backend --platform --ranks --minutes --seconds --out --list --yes --help; do
        says "$flag"
    done
    run 0 --list
    says "01_straggler       what about straggler?" "02_wrong           what about wrong?" \
        "small              a small machine"
    [[ $said != *formula* ]] || complain "a part of a lab is listed as a lab"
    printf '/* 02_wrong: what is wrong, and where\n * is it?\n *\n * Nowhere?\n */\n' >"$project/labs/02_wrong.c"
    run 0 --list
    says "02_wrong           what is wrong, and where is it?"
    [[ ! -e $project/build ]] || complain "--list built something"
    ln -s "$project/run_all.sh" "$folder/link"
    said=$(cd / && "$folder/link" --list)
    says "03_cannot          what about cannot?"
}

test_running()
{
    run 1 --quick --seconds 3.5 --backend mpi --out "my results"
    says "3 of 3 labs left" "1 of 3 labs left" "01_straggler: what about straggler?" "03_cannot: skipped" "02_wrong failed" \
        "$elsewhere/my results" "notebooks-md/01_straggler.md"
    [[ $said != *"it could ask"* ]] || complain "a lab could ask"
    called "01_straggler --out $elsewhere/my results --seconds 3.5 --quick --lesson-cases --backend mpi"
    called "02_wrong --out"
    called "gnuplot -e results='$elsewhere/my results/01_straggler' -e charts='$elsewhere/my results/01_straggler/.charts.tmp'; formats = 'svg' plots/01_straggler.gp"
    called "gnuplot -e results='$elsewhere/my results/01_straggler' -e charts='$elsewhere/my results/01_straggler/.charts.tmp'; formats = 'png' plots/01_straggler.gp"
    [[ -s "$elsewhere/my results/01_straggler/timeline.svg" && -s "$elsewhere/my results/01_straggler/timeline.png" ]] || complain "a chart lacks"
    called "gnuplot -e results='$elsewhere/my results/platforms/dedicated-cores/01_straggler' -e charts="
    not_called "plots/02_wrong.gp"
    called "claims --results $elsewhere/my results --expected expected"
    called "claims --results $elsewhere/my results --expected expected --tables"
    called "report --results $elsewhere/my results --sources ."
    says "$elsewhere/my results/index.html"
    grep -qF '"02_wrong",failed,"it went wrong, and why"' "$elsewhere/my results/runs.csv" || complain "runs.csv tells no failure"
    grep -qF '"03_cannot",skipped,"this machine has no ""such"" thing"' "$elsewhere/my results/runs.csv" ||
        complain "runs.csv tells nothing skipped"
    not_called "apt-get"

    run 0 --only 01_straggler --backend mpi
    called "01_straggler --out results"
    called "claims --results results --expected expected --only 01_straggler"
    not_called "02_wrong"
    run 0 --only 01_straggler --out "$folder/it's"
    called "results='$folder/it''s/01_straggler'"
    run 0 --only 03_cannot
    not_judged
}

test_passes()
{
    # One round of every lab, then more rounds of each; then those whose claims are undecided, until none is.
    run 0 --only 01_straggler --out "$folder/passes"
    [[ $(grep -E '^01_straggler' "$calls" | sed "s|--out $folder/passes *||") == $'01_straggler --rounds 1 --lesson-cases --without-tables\n01_straggler --seconds 45 --add-rounds --lesson-cases' ]] ||
        complain "not one round, then more: $(<"$calls")"
    called "claims --results $folder/passes --expected expected --undecided"
    printf '%s\n' "01_straggler here 3 9" "01_straggler here 1 2" >"$UNDECIDED" # in two passes
    run 0 --only 01_straggler --out "$folder/passes"
    (($(grep -c -- '--add-rounds' "$calls") == 3)) || complain "not three times: $(<"$calls")"
    called "01_straggler --out $folder/passes --seconds 29 --add-rounds" # three rounds, of nine seconds each, and a tenth more
    run 0 --only 01_straggler --out "$folder/passes" --minutes 0 # not even for one more
    not_called "--add-rounds"
    run 0 --only 01_straggler --out "$folder/passes" --quick
    not_called "--add-rounds"
    run 0 --only 01_straggler --out "$folder/passes" --seconds 7
    called "01_straggler --out $folder/passes --seconds 7 --lesson-cases"
    not_called "--quick"
    not_called "--add-rounds"

    # With fewer cores than ranks: simulated cores, and as many real ranks as there are cores.
    stub "$folder/bin/nproc" <<<'echo 2'
    run 0 --only 01_straggler --out "$folder/passes"
    called "01_straggler --out $folder/passes --rounds 1 --lesson-cases --without-tables --backend sim"
    called "01_straggler --out $folder/passes --rounds 1 --lesson-cases --without-tables --backend mpi --ranks 2"
    called "01_straggler --out $folder/passes --seconds 45 --add-rounds --lesson-cases --without-tables --backend sim"
    called "01_straggler --out $folder/passes --seconds 45 --add-rounds --lesson-cases --backend mpi --ranks 2"
    # Real ranks get more rounds before simulated ones, and a lab with tables of its own before the others.
    printf '/* 04_small_work: what is small?\n */\n    .tables = tables,\n' >"$project/labs/04_small_work.c"
    run 1 --out "$folder/passes"
    [[ $(sed -n 's/^\(0[14]\).*--add-rounds.*--backend \([a-z]*\).*/\1 \2/p' "$calls") == $'04 mpi\n01 mpi\n04 sim\n01 sim' ]] ||
        complain "rounds in another order: $(grep -e --add-rounds "$calls")"
    rm "$project/labs/04_small_work.c"
    run 0 --only 01_straggler --out "$folder/passes" --ranks 8 --quick
    called "01_straggler --out $folder/passes --quick --lesson-cases --without-tables --backend sim --ranks 8"
    called "01_straggler --out $folder/passes --quick --lesson-cases --backend mpi --ranks 2"
    not_called "--ranks 2 --ranks"
    stub "$folder/bin/nproc" <<<'echo 1'
    run 0 --only 01_straggler --out "$folder/passes" --quick
    called "01_straggler --out $folder/passes --quick --lesson-cases --without-tables --backend sim"
    not_called "--backend mpi"
    grep -qF '"real ranks",skipped,"this machine has one core"' "$folder/passes/runs.csv" || complain "runs.csv: one core"
    stub "$folder/bin/nproc" <<<'echo 4'
}

test_verdicts()
{
    # A lab that tells causes by changes does so for some cases, in a folder of its own, once all labs have measured.
    local judged="07_triage --out $folder/verdicts/verdicts --seconds 16 --ranks 1 --verdict --cases data_workers0 --cases launch_eager"
    printf '/* 07_triage: what is slow?\n */\n' >"$project/labs/07_triage.c"
    touch "$project/plots/07_triage.gp"
    run 0 --only 07_triage --out "$folder/verdicts"
    called "$judged"
    called "results='$folder/verdicts/verdicts/07_triage'"
    run 0 --report --out "$folder/verdicts"
    called "results='$folder/verdicts/verdicts/07_triage'"
    run 0 --only 07_triage --out "$folder/verdicts" --ranks 2 --backend mpi
    called "$judged"
    run 0 --only 07_triage --out "$folder/verdicts" --quick
    not_called "--verdict"
    run 0 --only 07_triage --out "$folder/verdicts" --minutes 0 # there is no time left
    not_called "--verdict"
    run 0 --only 07_triage --out "$folder/verdicts" --backend sim # causes of real steps only
    not_called "--verdict"
    run 0 --only 01_straggler --out "$folder/verdicts"
    not_called "--verdict"
    rm "$project/labs/07_triage.c" "$project/plots/07_triage.gp"
}

test_platforms()
{
    # A single machine, by name or from a file of the caller.
    run 0 --only 01_straggler --platform small --out "$folder/one"
    called "01_straggler --out $folder/one --platform small"
    called "gnuplot -e results='$folder/one/platforms/small/01_straggler'"
    not_called "results='$folder/one/01_straggler'"
    not_judged
    mkdir -p "$elsewhere/mine"
    touch "$elsewhere/mine/own.xml" "$elsewhere/bare"
    run 0 --only 01_straggler --platform mine/own.xml --quick
    called "--quick --platform $elsewhere/mine/own.xml"
    run 0 --only 01_straggler --platform=bare --quick
    called "--quick --platform $elsewhere/bare"
    run 0 --only 01_straggler --platform small --ranks 16 --quick
    called "--quick --platform small --ranks 16"

    # The blog's machine is also simulated if no platform, backend or world size is given.
    run 0 --only 01_straggler --quick
    not_called "--platform"
    cp "$project/platforms/small.xml" "$project/platforms/blog.xml"
    run 1 --quick --out "$folder/blog"
    says "The blog's machine, simulated ... " "A first picture" "So far: $folder/blog/index.html"
    called "01_straggler --platform blog --cases skew_ws4 --rounds 1 --out $folder/blog/first-picture"
    [[ $(grep -nE -e '--target (first_picture|programs)|first-picture' "$calls" | sed 's/.*--target //; s/.*first-picture/shown/' | paste -sd ' ') == \
        "first_picture shown programs" ]] || complain "the picture is not shown before the rest is built: $(<"$calls")"
    called "report --results $folder/blog --sources ."
    called "01_straggler --out $folder/blog"
    called "--quick --platform blog"
    called "gnuplot -e results='$folder/blog/platforms/blog/01_straggler'"
    called "gnuplot -e results='$folder/blog/01_straggler'"
    called "blog_machine --results $folder/blog --expected expected"
    called "gnuplot -e results='$folder/blog/platforms/blog' -e charts="
    not_called "blog_gpu"
    mkdir -p "$folder/blog/platforms/blog_gpu" # as lab 07 leaves it
    run 0 --only 01_straggler --quick --out "$folder/blog"
    called "blog_gpu --expected expected --out $folder/blog/platforms/blog_gpu"
    called "gnuplot -e results='$folder/blog/platforms/blog_gpu' -e charts="
    failing blog_machine 1
    run 1 --only 01_straggler --quick
    not_called "first-picture"
    says "no longer agrees with the published numbers"
    failing
    not_called "02_wrong --out $folder/blog --quick --platform"
    run 0 --only 01_straggler --backend mpi
    not_called "--platform"
    run 0 --only 01_straggler --platform small
    not_called "--platform blog"
    run 0 --only 01_straggler --ranks 2 --quick # the posts used four ranks
    called "--quick --lesson-cases --ranks 2"
    not_called "--platform blog"
    touch "$NO_BLOG"
    run 1 --only 01_straggler --quick
    says "no such host" "build/01_straggler-blog.log" "01_straggler failed on the blog's machine"
    called "claims"
    rm "$NO_BLOG"
    before=(env PATH="$folder/bin:$folder/without")
    mv "$folder/bin/smpirun" "$folder/smpirun"
    run 0 --only 01_straggler --quick
    says "the blog's machine is not simulated"
    not_called "--platform"
    before=()
    mv "$folder/smpirun" "$folder/bin/smpirun"
    rm "$project/platforms/blog.xml"
}

test_lessons()
{
    local runs="$project/notebooks-md/runs"
    mkdir -p "$project/notebooks-md/img"
    run 2 --lesson-figures
    says "every lesson lacks a <!-- run: --> line"
    printf '%s\n' "run 01_straggler here " "run 01_straggler own --rounds 3 --platform small" "picture 01_straggler own timeline" \
        "table 01_straggler/summary.csv" "table platforms/own/01_straggler/summary.csv" "table 03_cannot/summary.csv" >"$PLAN"
    run 2 --lesson-figures --only 02_wrong
    says "02_wrong lacks a <!-- run: --> line"
    run 0 --lesson-figures --out "$folder/figures"
    says "other programs had the cores in 1 of 3 rounds"
    called "01_straggler --out $folder/figures/lessons/here --backend mpi --ranks 4 --seconds 60"
    called "01_straggler --out $folder/figures/lessons/own --rounds 3 --platform small"
    called "plots/01_straggler.gp"
    not_called "results='$folder/figures/lessons/here" # its pictures are of the other run
    called "lesson_numbers --sources . --write"
    not_called "report --results"
    [[ -e $runs/01_straggler/summary.csv && -e $runs/platforms/own/01_straggler/summary.csv ]] || complain "tables are not kept"
    [[ $(<"$project/notebooks-md/img/01_straggler_timeline.png") == *lessons/own/platforms/small* ]] || complain "another picture"
    [[ $(<"$runs/pictures.csv") == $'picture,place,when,checksum\n01_straggler_timeline.png,own,,'[1-9]* ]] ||
        complain "pictures.csv" "$(<"$runs/pictures.csv")"
    printf '02_wrong_timeline.png,here,,1\n' >>"$runs/pictures.csv"
    touch "$runs/01_straggler/old.csv"
    run 0 --lesson-figures --only 01_straggler --seconds 7 --out "$folder/figures"
    called "--backend mpi --ranks 4 --seconds 7"
    [[ ! -e $runs/01_straggler/old.csv ]] || complain "a table of an older run stayed"
    (($(grep -c . "$runs/pictures.csv") == 3)) || complain "pictures.csv has not three lines" "$(<"$runs/pictures.csv")"
    printf '%s\n' "table 01_straggler/sweep.csv" "picture 01_straggler own sweep" >>"$PLAN"
    run 1 --lesson-figures --out "$folder/figures"
    says "a text reads sweep.csv of here" "its lesson shows sweep of own"
    failing 01_straggler 1
    touch "$runs/01_straggler/old.csv"
    run 1 --lesson-figures --out "$folder/figures"
    says "01_straggler failed (here); its lesson stays as it is"
    [[ -e $runs/01_straggler/old.csv ]] || complain "a failed lab took the tables away"
    failing lesson_numbers 1
    run 1 --lesson-figures --out "$folder/figures"
    says "the texts cannot be read"
    failing
    rm -r "$PLAN" "$project/notebooks-md"
}

test_gpus()
{
    run 0 --only 01_straggler --backend nccl
    called "01_straggler --out results --rounds 1 --lesson-cases --without-tables --backend nccl"
    [[ $said != *GPU* ]] || complain "a build without CUDA speaks of GPUs"
    LOCKSTEP_CUDA=OFF run 0 --only 01_straggler
    called "-DLOCKSTEP_CUDA=OFF"
    run 0 --only 01_straggler
    called "-DLOCKSTEP_CUDA=AUTO"

    local built="$project/build/lib/nccl"
    mkdir -p "$built"
    stub "$built/describe_gpus" <<<'printf "%s\n" "0;A Fast One;1" "1;A Fast One;2" "2;B;3"'
    stub "$folder/bin/nproc" <<<'echo 2'
    run 0 --only 01_straggler
    says "GPUs: 2 x A Fast One, 1 x B" "expected 0:10 for this one"
    called "01_straggler --out results --rounds 1 --lesson-cases --without-tables"
    not_called "--backend sim"
    run 0 --only 01_straggler --backend nccl
    says "GPUs: 2 x A Fast One, 1 x B"
    run 0 --only 01_straggler --backend mpi
    not_called "describe_gpus"
    run 0 --only 01_straggler --platform small
    not_called "describe_gpus"
    stub "$built/describe_gpus" <<<'echo "built with CUDA, no usable device (no driver)"; exit 77'
    run 0 --only 01_straggler
    says "GPUs: none; built with CUDA, no usable device (no driver)" "expected 0:20 for this one"
    called "01_straggler --out results --rounds 1 --lesson-cases --without-tables --backend sim"
    rm -r "$built"
    stub "$folder/bin/nproc" <<<'echo 4'
}

test_bench()
{
    local built="$project/build/lib/nccl"
    run 1 --bench
    says "bench ended with status 127"
    stub "$project/build/bin/bench" <<<'exit 0'
    run 0 --bench --out plain
    called "bench --out $elsewhere/plain"
    says "No step on a GPU: this build was made without CUDA" "bench     $elsewhere/plain/bench.csv"
    mkdir -p "$built"
    stub "$built/bench_gpu" <<<'exit 0'
    stub "$built/describe_gpus" <<<'echo "built with CUDA, no usable device (no driver)"; exit 77'
    run 0 --bench
    says "No step on a GPU: built with CUDA, no usable device (no driver)"
    not_called "bench_gpu"
    stub "$built/describe_gpus" <<<'echo "0;A Fast One;1"'
    run 0 --bench --out "one GPU"
    called "bench --out $elsewhere/one GPU"
    called "bench_gpu --out $elsewhere/one GPU"
    (($(grep -oE -- 'bench(_gpu)? .*--run [-0-9]+$' "$calls" | sed 's/.*--run //' | sort | uniq -d | wc -l) == 1)) ||
        complain "both benchmarks should have got the same --run: $(<"$calls")"
    says "bench     $elsewhere/one GPU/bench.csv" "on a GPU  $elsewhere/one GPU/bench_gpu.csv"
    not_called "01_straggler"
    not_judged
    stub "$built/bench_gpu" <<<'exit 1'
    stub "$project/build/bin/bench" <<<'exit 1'
    run 1 --bench
    says "bench ended with status 1" "bench_gpu ended with status 1"
    rm "$project/build/bin/bench"
    rm -r "$built"
    mkdir -p "$project/tests"
    stub "$project/tests/faults/bench_faults.sh" <<<'exit 0'
    run 0 --bench faults --out broken
    called "bench_faults.sh build $elsewhere/broken"
    says "faults    $elsewhere/broken/bench_faults.csv"
    not_called "bench_gpu"
    not_called "01_straggler"
    stub "$project/tests/faults/bench_faults.sh" <<<'exit 1'
    run 1 --bench=faults
    says "a run did not survive its faults"
    rm -r "$project/tests"
}

failing() # [PROGRAM STATUS]: make this program fail from now on; without arguments, none
{
    rm -f "$FAILING" "$FAILING.status"
    (($# == 0)) || { printf '%s\n' "$1" >"$FAILING"; printf '%s\n' "$2" >"$FAILING.status"; }
}

test_scale()
{
    local platform where
    run 0 --scale --out "many ranks"
    says "gpu_cluster_400g, world size 1, 04_small_work ... " "gpu_cluster_100g, world size 256, 01_straggler ... " \
        "scale     $elsewhere/many ranks/scale"
    for platform in gpu_cluster_400g gpu_cluster_100g; do
        where="--platform platforms/$platform.xml --ranks 64 --out $elsewhere/many ranks/scale/$platform/ranks-64"
        called "04_small_work $where --batch-size 1024 --rounds 1 --cases weak_ws4 --steps 5"
        called "01_straggler $where --batch-size 1024 --rounds 1 --cases skew_ws4 --cases chance --sleep-ms 5 --chance 0.01 --steps 42 --seed $([[ $platform == *400g ]] && echo 2037 || echo 2038)"
    done
    (($(grep -c -- '--platform' "$calls") == 2 * 2 * 9)) || complain "not two labs on two platforms at nine world sizes"
    called "scale --results $elsewhere/many ranks/scale"
    called "gnuplot -e results='$elsewhere/many ranks/scale' -e charts="
    not_called "first-look"
    not_called "02_wrong"
    not_judged

    failing scale 1
    run 1 --scale
    says "simulation and formula disagree"
    failing 04_small_work 1
    run 1 --scale
    says "04_small_work failed with 256 ranks of gpu_cluster_100g"
    failing 04_small_work 77
    run 77 --scale
    says "cannot be done here"
    not_called "01_straggler"
    failing

    # Without SimGrid.
    mkdir "$folder/bare"
    ln -s /usr/bin/* /bin/* "$folder/bare/" 2>/dev/null
    rm -f "$folder/bare/smpirun" "$folder/bin/smpirun"
    PATH="$folder/bin:$folder/bare" run 77 --scale --out "not made"
    says "SimGrid is not installed"
    (($(grep -c "SimGrid" <<<"$said") == 1)) || complain "not one line about SimGrid"
    not_called "--platform"
    PATH="$folder/bin:$folder/bare" run 77 --platform small --only 01_straggler
    says "--platform simulates ranks, and SimGrid is not installed"
}

# Run everything until a program is called with TEXT; it does not end by itself. Then send SIGNAL: INT to the process group, as a
# terminal does, others only to run_all.sh. The program and its child must end before run_all.sh.
stopped() # TEXT STATUS SIGNAL WORDS
{
    local pid tries=0 sleeper status
    echo "$1" >"$SLOW"
    : >"$calls"
    (cd "$elsewhere" && exec env --default-signal=INT setsid "$project/run_all.sh" >"$folder/said" 2>&1 </dev/null) &
    pid=$!
    while ! grep -q '^sleeps' "$calls" && ((++tries < 300)); do sleep 0.1; done
    sleeper=$(sed -n 's/^sleeps //p' "$calls")
    kill "-$3" "$([[ $3 == INT ]] && echo "-$pid" || echo "$pid")"
    wait "$pid"
    status=$?
    said=$(<"$folder/said")
    rm "$SLOW"
    ((status == $2)) || complain "stopped by $3: status $status, not $2"
    says "$4"
    called ended
    [[ -n $sleeper && ! -d /proc/$sleeper ]] || complain "stopped by $3: a process is left: $sleeper"
    ! sed '1,/^ended/d' "$calls" | grep -q . || complain "stopped by $3: it went on"
}

test_trouble()
{
    before=(flock "$elsewhere/my results/.lock")
    run 2 --out "my results"
    says "another run writes into '$elsewhere/my results'"
    before=()
    stopped "01_straggler --out results" 130 INT "stopped; finished and saved: nothing yet" # as the shell prints for Ctrl-C
    stopped 02_wrong 143 TERM "stopped; finished and saved: 01_straggler"
    echo "kept" | tee "$project/results/closing.csv" >"$project/results/claims.csv"
    stopped "expected --tables" 129 HUP "stopped; finished and saved: 01_straggler"
    [[ $(cat "$project"/results/c{losing,laims}.csv) == kept$'\n'kept ]] || complain "stopped by HUP: the verdicts so far are lost"
    before=(flock "$project/results/.lock")
    run 2
    before=()
    run 1 # the lock is free again
    says "02_wrong failed" "What went wrong"

    # A read-only folder, and a folder on a full disk.
    ((EUID != 0)) || before=(setpriv --reuid 65534 --regid 65534 --clear-groups)
    mkdir -m 555 "$folder/closed"
    if "${before[@]}" test -x "$project"; then
        run 2 --out "$folder/closed"
        says "run_all.sh: --out '$folder/closed' cannot be written; name a folder that can"
        [[ $said != *$'\n'* ]] || complain "more than one line about a closed folder"
    fi
    before=()
    if [[ -w /dev/full ]]; then
        mkdir -p "$folder/full"
        ln -s /dev/full "$folder/full/.lock"
        run 1 --out "$folder/full"
        says "run_all.sh: no space left in '$folder/full'"
        [[ $said != *$'\n'* ]] || complain "more than one line about a full disk"
        mkdir -p "$folder/no notes"
        ln -s /dev/full "$folder/no notes/.runs.csv"
        run 1 --only 01_straggler --out "$folder/no notes"
        says "the notes of this run could not be saved"
        [[ ! -e "$folder/no notes/runs.csv" ]] || complain "half a runs.csv"
    fi

    touch "$BROKEN"
    run 1
    says "error: no such thing" "build/build.log" "the build failed"
    not_called "01_straggler"
    rm "$BROKEN"

    echo "CMAKE_HOME_DIRECTORY:INTERNAL=/where/it/was" >"$project/build/CMakeCache.txt"
    touch "$project/build/stale"
    run 0 --only 01_straggler
    [[ ! -e $project/build/stale ]] || complain "a build folder from elsewhere was kept"
    touch "$project/build/fresh"
    run 0 --only 01_straggler
    [[ -e $project/build/fresh ]] || complain "a build folder that belongs here was thrown away"
}

test_report()
{
    run 0 --only 01_straggler --quick --out "$folder/it's again"
    run 0 --report --out "$folder/it's again"
    called "report --results $folder/it's again --sources ."
    called "gnuplot -e results='$folder/it''s again/01_straggler' -e charts="
    called "gnuplot -e results='$folder/it''s again/platforms/dedicated-cores/01_straggler' -e charts="
    not_called "01_straggler --"
    says "again/index.html"
    failing report 1
    run 1 --report
    says "the report could not be written"
    failing
}

test_tests()
{
    run 8 --test --yes
    says "2 tests failed"
    called "ctest --test-dir build --parallel "
    not_called "01_straggler"
}

test_setup()
{
    touch "$MISSING"
    run 0 --only 01_straggler
    says "libcmocka-dev" "5 MB"
    called "--no-install-recommends -o Acquire::Retries=3 -o DPkg::Lock::Timeout=120 install libcmocka-dev"

    # Optional packages: installed with the others, left out if the system does not have them.
    touch "$SPARED"
    run 0 --only 01_straggler
    called "install libsimgrid-dev"
    touch "$SPARED" "$UNKNOWN" "$MISSING"
    run 0 --only 01_straggler
    says "libsimgrid-dev is not in the package lists"
    called "install libcmocka-dev"
    not_called "Timeout=120 install libcmocka-dev libsimgrid-dev"
    rm -f "$UNKNOWN" "$SPARED"

    # Without root rights. Root runs this part as another user if possible.
    ((EUID != 0)) || before=(setpriv --reuid 65534 --regid 65534 --clear-groups)
    touch "$MISSING" "$NO_SUDO"
    chmod -R a+rwX "$folder"
    if "${before[@]}" test -w "$project/build"; then
        run 1 --only 01_straggler --yes --out "$folder"
        says "administrator" "apt-get update && apt-get install --no-install-recommends libcmocka-dev"
        not_called "apt-get"
        rm -rf "$MISSING" "$project/build"
        touch "$SPARED"
        run 0 --only 01_straggler --yes --out "$folder/spared-results"
        says "Going on without" "apt-get install --no-install-recommends libsimgrid-dev"
        not_called "apt-get"
    else
        echo "not tested: without the rights ($folder is out of reach for others)"
    fi
    before=()
}

declare -a before=()
make_project
test_usage
test_telling
test_running
test_passes
test_verdicts
test_platforms
test_lessons
test_gpus
test_bench
test_scale
test_trouble
test_report
test_tests
test_setup
((failed)) || echo "run_all.sh does what it says"
exit "$failed"
