# blog: chart of the blog's machine, simulated, against the published numbers
#
#     gnuplot -e "results='results/platforms/blog'" plots/blog.gp
#
# Draws blog_machine from blog.csv (columns: tools/platforms/blog_machine.c) into that folder: the error of each published case's
# simulated step, and of the null model. Cases that were not run have no simulated mark.
# Below them the mean error of every fit in platforms/blog_splits.csv, if that table is there: each choice of fitted rows a tick,
# that of platforms/blog.xml a disc, the null model a cross. These means come from the formula, not from the simulation.
if (!exists("plots")) plots = ARG0[:strlen(ARG0) - strlen("blog.gp")]."."
if (!exists("results")) results = "results/platforms/blog"
if (!exists("splits")) splits = plots."/../platforms/blog_splits.csv"
summary_csv = results."/blog.csv"
load plots."/style.gp"

slugs = column_of(summary_csv, "slug")
labs = column_of(summary_csv, "lab")
roles = column_of(summary_csv, "role")
published = column_of(summary_csv, "published_ms")
simulations = column_of(summary_csv, "simulated_ms")
errors = column_of(summary_csv, "error")
null_errors = column_of(summary_csv, "null_error")
rounds = column_of(summary_csv, "rounds")
was_run(i) = number(word(simulations, i)) > 0
is_fitted(i) = word(roles, i) eq "fitted"

# ---- Title ----------------------------------------------------------------------------------
summary(key) = number(preamble(key))        # NaN if no such row was run
foreseen = 0; foreseen_run = 0; widest = 0; fewest_rounds = 0; most_rounds = 0
widen(error) = error == error && abs(error) * 100 > widest ? (widest = abs(error) * 100) : widest
do for [i = 1:words(slugs)] {
    foreseen = foreseen + !is_fitted(i)
    if (was_run(i)) {
        foreseen_run = foreseen_run + !is_fitted(i)
        dummy = widen(number(word(errors, i))); dummy = widen(number(word(null_errors, i)))
        count = int(number(word(rounds, i)))
        fewest_rounds = fewest_rounds == 0 || count < fewest_rounds ? count : fewest_rounds
        most_rounds = count > most_rounds ? count : most_rounds
    }
}
means(of) = sprintf("%.1f %% (%s%.1f)", 100 * summary(of."_mean"), of eq "step" ? "worst " : "", 100 * summary(of."_worst"))
title = foreseen_run == 0 ? "Step times of the posts, and of a machine fitted to them" \
    : foreseen_run < foreseen ? sprintf("%d of %d predicted rows: steps miss by ", foreseen_run, foreseen).means("step") \
    : "Predicted steps miss by ".means("step").", changes by ".means("change")

# ---- The caption ----------------------------------------------------------------------------
# The tables of the labs name the backend.
backend = ""
do for [lab in labs] {
    if (backend eq "" && there(results."/".lab."/summary.csv")) {
        backend = head_of(results."/".lab."/summary.csv", "backend")
    }
}
simulated = 1
machine = "platform blog, simulated".by_library(backend)." · least … most: of ".\
    (fewest_rounds < most_rounds ? sprintf("%d to %d rounds", fewest_rounds, most_rounds) : sprintf("%d round%s", most_rounds, most_rounds == 1 ? "" : "s")).\
    ", each of as many steps as the posts measured, with a jitter of its own"
caption = "ws4, ws2, ws1: 4, 2, 1 ranks · fitted rows set the costs in platforms/blog.xml, predicted rows did not"

# ---- Rows: one per case, downwards, with a heading per post ----------------------------------
post_of(lab) = lab eq "05_token_skew" ? 2 : 1
array post[2] = ["Post 1: performance tuning", "Post 2: sequences of many lengths"]
array row[words(slugs)]
array heading[2]
at = 0
do for [k = 1:2] {
    heading[k] = at
    do for [i = 1:words(slugs)] { if (post_of(word(labs, i)) == k) { at = at + 1; row[i] = at } }
    at = at == heading[k] ? at : at + 1.5       # a post without rows takes no space
}
lowest = at - 0.7
y(offset) = row[place(strcol("slug"), slugs)] + offset
is(role) = strcol("role") eq role
percent(x) = abs(x) < 0.05 ? "0.0 %" : sprintf("%+.1f %%", x)
off(role, name) = is(role) && !blank(name) ? 100 * (column(name) / column("published_ms") - 1) : NaN
of_null = 2                                     # gnuplot's point 2 is a cross
dark(role) = role eq "fitted" ? grey : "#000000"
disc(role) = role eq "fitted" ? 6 : 7           # gnuplot's points: 6 is a ring, 7 a disc

# A case's label is that of its lab.
case_names = column_of(summary_csv, "case")
label_of(lab, case) = there(results."/".lab."/summary.csv") ? spaced(labelled(column_of(results."/".lab."/summary.csv", "case"), column_of(results."/".lab."/summary.csv", "label"), case)) : ""
labelled(cases, labels, case) = has(case, cases) && words(labels) ? word(labels, place(case, cases)) : ""

# ---- The panel ------------------------------------------------------------------------------
left = 250
ms_at = 120             # pixels from the right where the simulated steps end
right = 210
reach = widest > 11 ? 1.1 * widest : 12

# Below them: pixels of the strip, of its plot alone, and where it ends; its numbers stand to the right.
has_splits = there(splits)
strip = has_splits ? 124 : 0
strip_plot = 48
below = below + 22      # the legend has three rows
strip_end = 700
strip_rows = "step change"
kept(of) = strcol("verdict") eq "kept" ? 100 * column(of."_mean") : NaN
ours(of) = column("ours") == 1 ? kept(of) : NaN
skill(of) = summary(of."_skill") != summary(of."_skill") ? "" \
    : sprintf("skill: 1 − %.1f / %.1f = %.0f %%", 100 * summary(of."_mean"), 100 * summary(of."_null_mean"), 100 * summary(of."_skill"))
is_whole = foreseen_run == foreseen             # a cross over fewer rows would stand beside means of other rows
others = has_splits ? sprintf("%d", int(number(head_of(splits, "kept"))) - 1) : ""

do for [format in formats] {
    eval page(title, "", 30 * (lowest + 0.8) + strip)
    eval output("blog_machine", format)
    set multiplot
    set key at screen 8. / width, 76. / height left center maxrows 3
    set bmargin at screen 1. * (below + strip) / height
    set yrange [lowest : -0.6]
    unset ytics
    do for [k = 1:2] { if (strstrt(" ".labs, k == 2 ? " 05_" : " 0")) { set label bold(post[k]) at screen 16. / width, first heading[k] left } }
    set label "error" at screen 1 - 24. / width, first -0.25 right font "sans-serif,9" textcolor rgb grey
    set label "simulated step" at screen 1 - 1. * ms_at / width, first -0.25 right font "sans-serif,9" textcolor rgb grey
    do for [i = 1:words(slugs)] {
        said = label_of(word(labs, i), word(case_names, i))
        set label (said eq "" ? word(slugs, i) : said) at screen 1. * (left - 12) / width, first row[i] - (said eq "" ? 0 : 0.12) right noenhanced
        if (said ne "") { set label word(slugs, i) at screen 1. * (left - 12) / width, first row[i] + 0.28 right noenhanced font "sans-serif,8" textcolor rgb grey }
        set label was_run(i) ? in_ms(number(word(simulations, i))) : "not run" at screen 1 - 1. * ms_at / width, first row[i] right \
            textcolor rgb was_run(i) ? dark(word(roles, i)) : grey
        if (was_run(i)) {
            set label percent(100 * number(word(errors, i))) at screen 1 - 24. / width, first row[i] right textcolor rgb dark(word(roles, i))
        }
    }
    set xrange [-reach : reach]
    set xlabel "simulated step against the published one (%)"
    set format x "%+h"
    set xtics add ("0" 0)
    set object 1 rectangle from -10, graph 0 to 10, graph 1 behind fillcolor rgb rule fillstyle solid noborder
    set arrow 1 from 0, graph 0 to 0, graph 1 nohead lc rgb grey
    set label "within 10 %" at -10, graph 1 offset 0.5, 0.5 left font "sans-serif,9" textcolor rgb grey
    unset key
    plot for [role in "predicted fitted"] summary_csv using (off(role, "simulated_ms")):(y(0)):(off(role, "least_ms")):(off(role, "most_ms")) \
             with xerrorbars pointtype 0 linewidth 1.2 lc rgb dark(role), \
         summary_csv using (off("fitted", "simulated_ms")):(y(0)) with points pointtype 7 pointsize 0.8 lc rgb "white", \
         for [role in "predicted fitted"] summary_csv using (off(role, "simulated_ms")):(y(0)) \
             with points pointtype disc(role) pointsize 0.9 linewidth 1.5 lc rgb dark(role), \
         summary_csv using (blank("error") ? NaN : 100 * column("null_error")):(y(0)) with points pointtype of_null pointsize 1 linewidth 1.5 lc rgb "black"

    if (has_splits) {
        unset label; unset arrow; unset object
        set tmargin at screen 1. * (below + strip_plot) / height
        set bmargin at screen 1. * below / height
        set lmargin at screen 1. * left / width
        set rmargin at screen 1. * strip_end / width
        set yrange [2.6 : 0.4]
        set logscale x
        set xrange [2 : 80]
        set format x "%h"
        set xtics (2, 3, 5, 10, 20, 30, 50)
        set ytics () nomirror scale 0 textcolor rgb "black"
        set xlabel "mean error of the rows that were not fitted (%)"
        set label bold("Had other rows been fitted") at screen 16. / width, 1. * (below + strip_plot + 12) / height left
        do for [i = 1:2] {
            set ytics add (word(strip_rows, i)."s" i)
            set label skill(word(strip_rows, i)) at screen 1. * (strip_end + 24) / width, first i left
        }
        plot for [i = 1:2] splits using (kept(word(strip_rows, i))):(i - 0.3):(0):(0.6) with vectors nohead linewidth 1 lc rgb "#808080", \
             for [i = 1:2] splits using (ours(word(strip_rows, i))):(i) with points pointtype 7 pointsize 0.9 lc rgb "black", \
             for [i = 1:2] "+" every ::0::0 using (is_whole ? 100 * summary(word(strip_rows, i)."_null_mean") : NaN):(i) \
                 with points pointtype of_null pointsize 1 linewidth 1.5 lc rgb "black"
        unset logscale x
    }

    # The legend, as wide as the page: that of a panel would be only as wide as the panel.
    unset label; unset arrow; unset object; unset xlabel; unset xtics; unset ytics; unset border
    set key
    set lmargin at screen 0; set rmargin at screen 1
    plot for [role in "predicted fitted"] NaN with points pointtype disc(role) pointsize 0.9 linewidth 1.5 lc rgb dark(role) title role." row", \
         summary_csv using (NaN):(NaN):(NaN):(NaN) with xerrorbars pointtype 0 lc rgb "black" title "least … most of the rounds", \
         NaN with points pointtype of_null pointsize 1 linewidth 1.5 lc rgb "black" title "null model", \
         for [k = 1:has_splits] NaN with lines linewidth 1 lc rgb "#808080" title others." other choices of fitted rows"
    unset multiplot
    unset output
    set border 1 lc rgb grey; set format x "%h"
    set xtics nomirror scale 0.5 textcolor rgb "black" autofreq
    set ytics nomirror scale 0 textcolor rgb "black" noenhanced
}
