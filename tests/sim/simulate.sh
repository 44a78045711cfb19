# What the tests on the machine of round numbers share; they are called LAB CLAIMS FOLDER, and source this file.
# shellcheck shell=bash disable=SC2034 # they use what is set here
tests=$(dirname "$(realpath "$0")")
lab=$(realpath "$1")
name=$(basename "$lab")
claims=$(realpath "$2")
folder=$(realpath -m "$3")/$(basename "$0" _test.sh)
platform=$tests/round_numbers.xml
job=(--platform "$platform")
# What a lab is told to do stands at the head of its claims: its model has 196348 parameters, which take 12 ms to sum.
read -ra told < <(sed -n 's/^# job: //p' "$tests/$name.csv")
job+=("${told[@]}")
# shellcheck source=tests/support/frame.sh
source "$tests/../support/frame.sh"

simulate() # RESULTS OPTION...: what the lab says goes into the files out and err
{
    "$lab" "${job[@]}" --out "$1" "${@:2}" </dev/null >"$folder/out" 2>"$folder/err" ||
        complain "status $?: $(<"$folder/err")"
}

judge() # RESULTS: as the claims in the folder `expected` have it
{
    "$claims" --results "$1/platforms/round_numbers" --expected "$folder/expected" --gate || complain "see above"
}

rm -rf "$folder"
mkdir -p "$folder/expected"
cd "$folder" || exit 1
cp "$tests/../../expected/blog.csv" expected/
