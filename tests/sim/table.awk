# table.awk: what checks of a lab's own tables share: the columns of the CSV at hand, and differences from what was worked out by
# hand. They end with `exit bad`.
#
#     at[COLUMN]                         its number
#     differ(WHAT, GOT, EXPECTED, TOLERANCE)

function differ(what, got, expected, tolerance) {
    if (!(got - expected <= tolerance && expected - got <= tolerance)) { # nor is NaN within it
        printf "%s:%d: %s is %s, by hand it is %.6f\n", FILENAME, FNR, what, got, expected
        bad = 1
    }
}

FNR == 1 { split("", at) }
/^#/ { next }
!length(at) { for (i = 1; i <= NF; i++) at[$i] = i; next }
