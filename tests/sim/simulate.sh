# simulate.sh: common part of tests on the machine of round numbers. Tests take the arguments LAB CLAIMS FOLDER and source this.
# shellcheck shell=bash disable=SC2034 # tests use the variables set here
tests=$(dirname "$(realpath "$0")")
lab=$(realpath "$1")
name=$(basename "$lab")
claims=$(realpath "$2")
folder=$(realpath -m "$3")/$(basename "$0" _test.sh)
platform=$tests/round_numbers.xml
job=(--platform "$platform")
# Options of the lab, from the head of its claims: its model has 196348 parameters, whose all-reduce takes 12 ms.
read -ra options < <(sed -n 's/^# job: //p' "$tests/$name.csv")
job+=("${options[@]}")
# shellcheck source=tests/support/frame.sh
source "$tests/../support/frame.sh"

simulate() # RESULTS OPTION...: run the lab; output goes to files out and err
{
    "$lab" "${job[@]}" --out "$1" "${@:2}" </dev/null >"$folder/out" 2>"$folder/err" ||
        complain "status $?: $(<"$folder/err")"
}

judge() # RESULTS: check the claims in the folder `expected`
{
    "$claims" --results "$1/platforms/round_numbers" --expected "$folder/expected" --gate || complain "see above"
}

work_in "$folder"
mkdir expected
cp "$tests/../../expected/blog.csv" expected/
