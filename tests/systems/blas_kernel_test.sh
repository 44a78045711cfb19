#!/usr/bin/env bash
# usage: blas_kernel_test.sh LAB TIME_PRODUCTS FOLDER OTHER_CBLAS: check that labs time OpenBLAS's kernels, select the fastest,
# store and print it. A script in place of TIME_PRODUCTS reports the times. Exit status 77 if OpenBLAS has no second kernel. Works
# in FOLDER/kernel.
set -uo pipefail

# shellcheck source=tests/support/frame.sh
source "$(dirname "$0")/../support/frame.sh"

lab=$(realpath "$1")
time_products=$(realpath "$2")
folder=$(realpath -m "$3")/kernel
planted=$(realpath "$4")
unset OPENBLAS_CORETYPE

seconds_are() # KERNEL=SECONDS...: create the script; instead of SECONDS a command may be given
{
    {
        # shellcheck disable=SC2016 # the script expands it
        printf '#!/usr/bin/env bash\necho "$OPENBLAS_CORETYPE" >>%q\ncase $OPENBLAS_CORETYPE in\n' "$folder/asked"
        while (($# > 0)); do
            if [[ ${1#*=} == [0-9]* ]]; then
                printf '%s) echo "kernel %s seconds %s" ;;\n' "${1%%=*}" "${1%%=*}" "${1#*=}"
            else
                printf '%s) %s ;;\n' "${1%%=*}" "${1#*=}"
            fi
            shift
        done
        printf '*) kill -ILL $$ ;;\nesac\n'
    } >lib/cores/time_products
    chmod +x lib/cores/time_products
}

forget()
{
    rm -f lib/cores/kernels.csv
}

card() # WORD...: measure a machine card, with the lab started by these words
{
    rm -rf results asked
    said=$(timeout $((60 * patience)) "$@" bin/01_straggler --card-only --ranks 1 --backend mpi --batch-size 8 --input-dim 64 --hidden-dim 64 --num-classes 10 \
        --out results 2>&1 </dev/null) || complain "$* 01_straggler: status $?"
}

takes() # KERNEL
{
    grep -q "^# for: .*; OpenBLAS $1, one thread per rank;" results/machine.csv ||
        complain "not $1: $(grep '^# for' results/machine.csv)"
}

asked() # TIMES: check how often the script was called
{
    local times=0
    [[ ! -e asked ]] || times=$(wc -l <asked)
    ((times == $1)) || complain "asked $times times, not $1"
}

silent_about() # TEXT
{
    [[ $said != *"$1"* ]] || complain "it should not have said: $1"
}

own=$("$time_products" 8x8x8,nn | awk '{ print $2 }')
if [[ -z $own || $(uname -m) != x86_64 ]] || ! grep -q avx2 /proc/cpuinfo; then # under emulation the file is the host's
    echo "OpenBLAS offers no second kernel for this processor"
    exit 77
fi
other=Haswell
[[ $own != Haswell ]] || other=Zen

# The real program: total time for products as arguments, one answer per line of input, an error for invalid products.
said=$("$time_products" "16x24x8,nn 8x8x8,tt" 2>&1)
[[ $said =~ ^kernel\ $own\ seconds\ 0\.[0-9]{9}$ ]] || complain "not what it is to say"
said=$(printf '%s\n' 16x24x8,nt 8x8x8,nn | "$time_products" 2>&1)
[[ $said =~ ^ready\ OpenBLAS\ $own$'\n'16x24x8,nt,6144,[0-9.]+$'\n'8x8x8,nn,1024,[0-9.]+$ ]] || complain "not an answer each"
for word in 8x8,nn 8x8x8 8x8x8,nx 0x8x8,nn 8x8x8,nnn 8x8x99999999,nn; do
    said=$("$time_products" "$word" 2>&1)
    (($? == 2)) || complain "$word: not refused"
    says "time_products: '$word' is not a product"
done

work_in "$folder"
mkdir -p bin lib/cores
cp "$lab" bin/
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 RES_OPTIONS="timeout:1 attempts:1"

# A kernel that is a tenth faster is selected, printed and stored. Later runs do not time kernels again, nor under mpirun.
seconds_are "$own=0.0110" "$other=0.0100"
card env
takes "$other"
says "$own 11.00 ms (its own choice), $other 10.00 ms; taking $other (OPENBLAS_CORETYPE=NAME overrides)"
grep -q "^$other,10.000000,0,1$" lib/cores/kernels.csv || complain "not kept: $(cat lib/cores/kernels.csv)"
card env
takes "$other"
asked 0
silent_about "OpenBLAS's kernels"
card mpirun -np 1
takes "$other"
asked 0

# A choice of the user has precedence.
card env OPENBLAS_CORETYPE="$own"
takes "$own"
asked 0

# A result stored for another processor or library is not used.
sed -i 's/^# for: .*/# for: another processor; OpenBLAS 0.1; lockstep 0.0/' lib/cores/kernels.csv
card env
takes "$other"
says "taking $other"

# A difference below three percent counts as noise. A kernel that crashes on this processor is ignored.
forget
seconds_are "$own=0.0102" "$other=0.0100"
card env
takes "$own"
says "taking $own"
forget
seconds_are "$own=0.0110" "$other=kill -ILL \$\$"
card env
takes "$own"
silent_about "$other"
forget
seconds_are "$own=0.0110" "$other=echo \"kernel $own seconds 0.001\"" # OpenBLAS used another kernel than requested
card env
takes "$own"

# Kernels are not timed if this machine multiplies nothing.
forget
for words in --dry-run "--platform=blog --rounds=1 --cases=baseline"; do
    rm -rf results asked
    # shellcheck disable=SC2086 # several words
    said=$(timeout $((60 * patience)) bin/01_straggler $words --out results 2>&1 </dev/null)
    asked 0
done

# Ranks under the user's mpirun do not time kernels. Without the timing program, OpenBLAS's choice is used.
card mpirun -np 1
takes "$own"
asked 0
rm lib/cores/time_products
card env
takes "$own"

# A function of the same name in another library, found before OpenBLAS's, is not used. (Sanitizers must be loaded first.)
if [[ ! ${ASAN_OPTIONS-}${TSAN_OPTIONS-} ]]; then
    exits 33 env LD_PRELOAD="$planted" "$time_products" '8x8x8,nn'
    says 'another CBLAS was used'
    exits 0 env LD_PRELOAD="$planted" bin/01_straggler --ranks 1 --backend mpi --batch-size 8 --input-dim 64 --hidden-dim 64 \
        --num-classes 10 --rounds 1 --out results
fi

cd /
((failed)) || rm -rf "$folder"
exit $failed
