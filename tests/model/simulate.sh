# What the tests on the machine of round numbers share; they are called LAB CLAIMS FOLDER, and source this file.
# shellcheck shell=bash disable=SC2034 # they use what is set here
tests=$(dirname "$(realpath "$0")")
lab=$(realpath "$1")
name=$(basename "$lab")
claims=$(realpath "$2")
folder=$(realpath -m "$3")/$(basename "$0" _test.sh)
platform=$tests/model/round_numbers.xml
job=(--platform "$platform") # and a model of 196348 parameters: 12 ms
case $name in
05_token_skew) job+=(--hidden-dim 12 --vocab-size 16238) ;;
*) job+=(--input-dim 256 --hidden-dim 256 --num-classes 252) ;;
esac
failed=0

complain() # TEXT...
{
    printf 'FAILED %s\n' "$@"
    failed=1
}

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
cp "$tests/../expected/blog.csv" expected/
