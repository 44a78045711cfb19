# blog: chart of the blog's machine, simulated, against the published numbers
#
#     gnuplot -e "results='results/platforms/blog'" plots/blog.gp
#
# Draws blog_machine from blog.csv (columns: tools/platforms/blog_machine.c) into that folder: on the left the step of each
# published case, on the right the error of the simulated one. Cases that were not run have no simulated mark.
if (!exists("plots")) plots = ARG0[:strlen(ARG0) - strlen("blog.gp")]."."
if (!exists("results")) results = "results/platforms/blog"
summary_csv = results."/blog.csv"
load plots."/style.gp"

slugs = column_of(summary_csv, "slug")
labs = column_of(summary_csv, "lab")
roles = column_of(summary_csv, "role")
published = column_of(summary_csv, "published_ms")
simulations = column_of(summary_csv, "simulated_ms")
errors = column_of(summary_csv, "error")
rounds = column_of(summary_csv, "rounds")
was_run(i) = number(word(simulations, i)) > 0
is_fitted(i) = word(roles, i) eq "fitted"

# ---- Title ----------------------------------------------------------------------------------
fitted = 0; foreseen = 0; foreseen_run = 0; worst = 0; widest = 0; fewest_rounds = 0; most_rounds = 0
do for [i = 1:words(slugs)] {
    fitted = fitted + is_fitted(i)
    foreseen = foreseen + !is_fitted(i)
    if (was_run(i)) {
        off = abs(number(word(errors, i))) * 100
        widest = off > widest ? off : widest
        if (!is_fitted(i)) {
            foreseen_run = foreseen_run + 1
            worst = off > worst ? off : worst
        }
        count = int(number(word(rounds, i)))
        fewest_rounds = fewest_rounds == 0 || count < fewest_rounds ? count : fewest_rounds
        most_rounds = count > most_rounds ? count : most_rounds
    }
}
in_words(n) = n > 0 && n <= 12 ? word("one two three four five six seven eight nine ten eleven twelve", n) : sprintf("%d", n)
title = sprintf("Fitted to %s row%s, the machine predicts ", in_words(fitted), fitted == 1 ? "" : "s").\
    (foreseen_run < foreseen ? in_words(foreseen_run)." of " : "").sprintf("the other %s within %.0f %%", in_words(foreseen), ceil(worst))
if (foreseen_run == 0) { title = "Step times of the posts, and of a machine fitted to them" }

# ---- The caption ----------------------------------------------------------------------------
# The tables of the labs name the backend.
backend = ""
do for [lab in labs] {
    if (backend eq "" && there(results."/".lab."/summary.csv")) {
        backend = head_of(results."/".lab."/summary.csv", "backend")
    }
}
simulated = 1
machine = "platform blog, simulated · least … most: of ".\
    (fewest_rounds < most_rounds ? sprintf("%d to %d rounds", fewest_rounds, most_rounds) : sprintf("%d round%s", most_rounds, most_rounds == 1 ? "" : "s")).\
    ", each of as many steps as the posts measured, with a jitter of its own"
caption = "ws4, ws2, ws1: 4, 2, 1 ranks".also(backend)." · fitted rows set the costs in platforms/blog.xml, predicted rows did not"

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
lowest = at - 0.8
y(offset) = row[place(strcol("slug"), slugs)] + offset
is(role) = strcol("role") eq role
simulated_ms(role) = is(role) ? known("simulated_ms") : NaN
percent(x) = abs(x) < 0.05 ? "0.0 %" : sprintf("%+.1f %%", x)
off(role, name) = is(role) && !blank(name) ? 100 * (column(name) / column("published_ms") - 1) : NaN
light(role) = role eq "fitted" ? "#FFFFFF" : "#DDDDDD"
dark(role) = role eq "fitted" ? grey : "#000000"
disc(role) = role eq "fitted" ? 6 : 7           # gnuplot's points: 6 is a ring, 7 a disc

# ---- Two panels -----------------------------------------------------------------------------
left = 190
panel_1 = 500           # pixels: end of the left panel, its numbers, start and right margin of the right panel
ms_at = 582
panel_2 = 606
right = 104
reach = widest > 11 ? 1.1 * widest : 12
do for [format in formats] {
    eval page(title, "", 24 * (lowest + 0.8))
    eval output("blog_machine", format)
    set multiplot
    set yrange [lowest : -0.6]
    set rmargin at screen 1. * panel_1 / width
    set xrange [0 : 1.05 * largest(published." ".simulations)]
    set xlabel "step time of the slowest rank (ms)"
    set ytics ()
    do for [k = 1:2] { if (strstrt(" ".labs, k == 2 ? " 05_" : " 0")) { set label bold(post[k]) at screen 16. / width, first heading[k] left } }
    do for [i = 1:words(slugs)] {
        set ytics add (word(slugs, i) row[i])
        set label was_run(i) ? in_ms(number(word(simulations, i))) : "not run" at screen 1. * ms_at / width, first row[i] right \
            textcolor rgb was_run(i) ? dark(word(roles, i)) : grey
    }
    unset key
    plot for [role in "predicted fitted"] summary_csv \
             using (0):(y(0)):(0):(simulated_ms(role)):(y(-0.32)):(y(0.32)) \
             with boxxyerror fs solid border lc rgb "#808080" lc rgb light(role) dashtype 2, \
         summary_csv using (known("simulated_ms")):(y(0)):(known("least_ms")):(known("most_ms")) \
             with xerrorbars pointtype 0 lc rgb "black", \
         summary_csv using (column("published_ms")):(y(0)) with points pointtype 13 pointsize 1.2 lc rgb "white", \
         summary_csv using (column("published_ms")):(y(0)) with points pointtype 12 pointsize 1.3 linewidth 1.5 lc rgb "black"

    unset label; unset arrow; unset ytics
    set lmargin at screen 1. * panel_2 / width
    set rmargin at screen 1 - 1. * right / width
    set xrange [-reach : reach]
    set xlabel "error of the simulated step (%)"
    set format x "%+h"
    set xtics add ("0" 0)
    set object 1 rectangle from -10, graph 0 to 10, graph 1 behind fillcolor rgb "#EFEFEF" fillstyle solid noborder
    set arrow 1 from 0, graph 0 to 0, graph 1 nohead lc rgb grey
    set label "within 10 %" at -10, graph 1 offset 0.5, 0.5 left font "sans-serif,9" textcolor rgb grey
    do for [i = 1:words(slugs)] {
        if (was_run(i)) {
            set label percent(100 * number(word(errors, i))) at screen 1 - 24. / width, first row[i] right \
                textcolor rgb dark(word(roles, i))
        }
    }
    plot for [role in "predicted fitted"] summary_csv using (off(role, "simulated_ms")):(y(0)):(off(role, "least_ms")):(off(role, "most_ms")) \
             with xerrorbars pointtype 0 linewidth 1.2 lc rgb dark(role), \
         summary_csv using (off("fitted", "simulated_ms")):(y(0)) with points pointtype 7 pointsize 0.8 lc rgb "white", \
         for [role in "predicted fitted"] summary_csv using (off(role, "simulated_ms")):(y(0)) \
             with points pointtype disc(role) pointsize 0.9 linewidth 1.5 lc rgb dark(role)

    # The legend of both panels, as wide as the page: the legend of a panel would be only as wide as the panel.
    unset label; unset arrow; unset object; unset xlabel; unset xtics; unset border
    set key
    set lmargin at screen 0; set rmargin at screen 1
    plot for [role in "predicted fitted"] NaN \
             with boxes fs solid border lc rgb "#808080" lc rgb light(role) dashtype 2 title "simulated, ".role, \
         NaN with points pointtype 12 pointsize 1.3 linewidth 1.5 lc rgb "black" title "the blog", \
         for [role in "predicted fitted"] NaN with points pointtype disc(role) pointsize 0.9 linewidth 1.5 lc rgb dark(role) title "error, ".role, \
         summary_csv using (NaN):(NaN):(NaN):(NaN) with xerrorbars pointtype 0 lc rgb "black" title "least … most"
    unset multiplot
    unset output
    set border 1 lc rgb grey; set format x "%h"
    set xtics nomirror scale 0.5 textcolor rgb "black" autofreq
    set ytics nomirror scale 0 textcolor rgb "black" noenhanced
}
