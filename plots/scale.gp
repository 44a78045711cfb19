# scale: charts of many ranks, simulated and by formula
#
#     gnuplot -e "results='results/scale'" plots/scale.gp
#
# Draws scale_efficiency, scale_chance and scale_straggler from scale.csv (columns: tools/platforms/scale.c) into that folder.
if (!exists("plots")) plots = ARG0[:strlen(ARG0) - strlen("scale.gp")]."."
if (!exists("results")) results = "results/scale"
summary_csv = results."/scale.csv"
load plots."/style.gp"
set datafile missing NaN        # lines continue across rows of other curves

platforms = ""
do for [platform in column_of(summary_csv, "platform")] {
    if (platform ne "-" && !has(platform, platforms)) { platforms = platforms." ".platform }
}
stall_ms = number(preamble("stall_ms"))
chance = number(preamble("chance"))
rare = number(preamble("rare"))
simulated = 0                   # no badge: the titles say "simulated"
named = ""
do for [platform in platforms] { named = named.(named eq "" ? " " : ", ").platform }
machine = "platform".(words(platforms) > 1 ? "s" : "").named.", simulated · ".preamble("batch")." samples per rank"
stall = "a stall of ".preamble("stall_ms")." ms"

# Functions of the drawn row; NaN: do not draw. Points of several platforms are shifted sideways, so that none hides another.
is(case, kind) = strcol("case") eq case && strcol("kind") eq kind
on(platform, case, kind) = is(case, kind) && strcol("platform") eq platform ? column("ranks") : NaN
beside(platform) = words(platforms) > 1 ? 1.05 ** (2 * place(platform, platforms) - 1 - words(platforms)) : 1
seen_on(platform, case) = on(platform, case, "simulated") * beside(platform)
anywhere(p) = is("chance", "formula") && strcol("platform") eq "" && abs(column("chance") - p) < 1e-12 ? column("ranks") : NaN
dash(platform) = 1 + 3 * (place(platform, platforms) - 1)       # formulas: solid, then long dashes
mark(platform) = 5 + 2 * (place(platform, platforms) - 1)       # points: squares, then circles
ranks_of = column_of(summary_csv, "ranks")
on_platform = column_of(summary_csv, "platform")
most_simulated = 1              # formulas alone continue beyond
most_by_formula = 1
do for [i = 1:words(ranks_of)] {
    if (word(on_platform, i) ne "-" && number(word(ranks_of, i)) > most_simulated) { most_simulated = number(word(ranks_of, i)) }
    if (number(word(ranks_of, i)) > most_by_formula) { most_by_formula = number(word(ranks_of, i)) }
}
light = "#D8D8D8"
outline = "#808080"

# The axis of world sizes, up to `most`.
left = 90
right = 36
set key samplen 3 width 0
world_axis(most) = sprintf("set logscale x 2; set xrange [0.8 : %g]; set xtics 2; set xtics scale 0.5; set format x '%%.0f';", most * 1.25).\
    "set grid noxtics ytics; set ytics auto; unset arrow"

# ---- scale_efficiency: weak scaling ------------------------------------------------------------
efficiency = column_of(summary_csv, "efficiency")
if (largest(efficiency) > 0) {
    caption = sprintf("1 to %d ranks", most_simulated)." · sim (SimGrid) · lab 04, weak_ws4: every rank has its own batch"
    eval page("More ranks, less efficiency: the all-reduce takes longer (simulated)", "ranks", 300)
    eval world_axis(most_simulated)
    set ylabel "weak-scaling efficiency (%)"
    set yrange [0 : 105]
    do for [format in formats] {
        eval output("scale_efficiency", format)
        plot for [platform in platforms] summary_csv using (on(platform, "weak_ws4", "formula")):(100 * column("efficiency")) \
                 with lines linewidth 1.8 dashtype dash(platform) lc rgb "black" title "formula, ".literal(platform), \
             for [platform in platforms] summary_csv using (on(platform, "weak_ws4", "simulated")):(100 * column("efficiency")) \
                 with points pointtype mark(platform) pointsize 1.1 lc rgb light notitle, \
             for [platform in platforms] summary_csv using (on(platform, "weak_ws4", "simulated")):(100 * column("efficiency")) \
                 with points pointtype mark(platform) - 1 pointsize 1.1 lc rgb outline title "simulated, ".literal(platform)
        unset output
    }
}

# ---- scale_chance: each rank stalls with a probability ---------------------------------------------
share(p) = sprintf("%g", p)
caption = sprintf("simulated up to %d ranks, sim (SimGrid) · lab 01, chance: ", most_simulated).stall.", of each rank, in each step, with probability p"
eval page("Rare stalls, many ranks: in the end every step has one (simulated)", "ranks", 300)
eval world_axis(most_by_formula)
set ylabel "added to the mean step (ms)"
set yrange [0 : stall_ms * 1.12]
set arrow from graph 0, first stall_ms to graph 1, first stall_ms nohead dashtype 3 lc rgb grey
set label "the whole stall" at graph 0.01, first stall_ms offset 0, 0.6 textcolor rgb grey font "sans-serif,9"
do for [format in formats] {
    eval output("scale_chance", format)
    plot summary_csv using (anywhere(chance)):(column("extra_ms")) \
             with lines linewidth 1.8 lc rgb "black" title "formula, p = ".share(chance), \
         summary_csv using (anywhere(rare)):(column("extra_ms")) \
             with lines linewidth 1.8 dashtype 4 lc rgb "black" title "p = ".share(rare), \
         for [platform in platforms] summary_csv using (seen_on(platform, "chance")):(column("extra_ms")):(column("low_ms")):(column("high_ms")) \
             with yerrorbars pointtype mark(platform) - 1 pointsize 1.1 lc rgb outline title "simulated, 95 %, ".literal(platform), \
         for [platform in platforms] summary_csv using (seen_on(platform, "chance")):(column("extra_ms")) \
             with points pointtype mark(platform) pointsize 0.9 lc rgb light notitle
    unset output
}

# ---- scale_straggler: one rank stalls in every step -------------------------------------------------
caption = sprintf("1 to %d ranks · sim (SimGrid) · lab 01, skew_ws4: ", most_simulated).stall.", of rank 0, in each step"
eval page("One slow rank costs each rank of many as much as each of few (simulated)", "ranks", 300)
eval world_axis(most_simulated)
set ylabel "added to the step of every rank (ms)"
set yrange [0 : stall_ms * 1.2]
do for [format in formats] {
    eval output("scale_straggler", format)
    plot for [platform in word(platforms, 1)] summary_csv using (on(platform, "skew_ws4", "formula")):(column("extra_ms")) \
             with lines linewidth 1.8 lc rgb "black" title "formula: the whole stall", \
         for [platform in platforms] summary_csv using (seen_on(platform, "skew_ws4")):(column("extra_ms")) \
             with points pointtype mark(platform) pointsize 1.1 lc rgb light notitle, \
         for [platform in platforms] summary_csv using (seen_on(platform, "skew_ws4")):(column("extra_ms")) \
             with points pointtype mark(platform) - 1 pointsize 1.1 lc rgb outline title "simulated, ".literal(platform)
    unset output
}
