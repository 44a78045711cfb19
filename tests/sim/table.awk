# table.awk: helpers for checks of a lab's own tables. A check ends with `exit bad`.
#
#     at[COLUMN]                                 number of this column in the current CSV
#     differ(WHAT, GOT, EXPECTED, TOLERANCE)     print a difference from the expected value, and set `bad`

function differ(what, got, expected, tolerance) {
    if (!(got - expected <= tolerance && expected - got <= tolerance)) { # true for NaN, too
        printf "%s:%d: %s is %s, by hand it is %.6f\n", FILENAME, FNR, what, got, expected
        bad = 1
    }
}

FNR == 1 { split("", at) }
/^#/ { next }
!length(at) { for (i = 1; i <= NF; i++) at[$i] = i; next }
