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
# Text about a platform in its file, behind the comma ("a network card of 400 Gb/s per GPU"), and the ranks of its first node.
file_of(platform) = plots."/../platforms/".platform.".xml"
about(platform) = there(file_of(platform)) ? system('sed -n ''/<prop id="about"/{ s/.*value="//; s/".*//; s/^[^,]*, //; p; q; }'' '.in_shell(file_of(platform))) : platform
ranks_of_node(platform) = there(file_of(platform)) ? int(system('sed -n ''/<cluster/{ s/.*radical="0-//; s/".*//; p; q; }'' '.in_shell(file_of(platform)).' | grep -xE "[0-9]+" || echo -1')) + 1 : 0

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
light = bar
outline = more

# The axis of world sizes, up to `most`; beyond it the names of the lines.
left = 90
set key samplen 3 width 0
world_axis(most) = sprintf("set logscale x 2; set xrange [0.8 : %g]; set xtics 2; set xtics scale 0.5; set format x '%%.0f';", most * 1.25).\
    "set grid noxtics ytics; set ytics auto; unset arrow"
body = 300
# Value of a formula at the largest world size, for the place of its name.
last_of(pattern, name) = number(system('awk -F, ''/^#/ { next } !seen { seen = 1; for (i = 1; i <= NF; i++) at[$i] = i; next } \
    '.pattern.' && $at["ranks"] + 0 >= most + 0 { most = $at["ranks"]; value = $at["'.name.'"] } END { print value }'' <'.in_shell(summary_csv)))

# ---- scale_efficiency: weak scaling ------------------------------------------------------------
efficiency = column_of(summary_csv, "efficiency")
if (largest(efficiency) > 0) {
    right = 262
    caption = "A model, not hardware: one ring over all ranks, whose latency grows with their number, and a CPU core that fetches every batch (lab 04, weak_ws4)"
    eval page("In this model, the all-reduce takes longer with every node (simulated)", "ranks", body)
    eval world_axis(most_simulated)
    set ylabel "weak-scaling efficiency (%)"
    set yrange [0 : 105]
    ends = 0
    node = 0
    do for [platform in platforms] {
        dummy = ends_add(about(platform), body / 105. * 100 * last_of('$at["platform"] == "'.platform.'" && $at["case"] == "weak_ws4" && $at["kind"] == "formula"', "efficiency"), "")
        node = node == 0 || ranks_of_node(platform) == node ? ranks_of_node(platform) : -1     # -1: nodes of several sizes
    }
    eval ends_labels(width - right + 8)
    if (node > 1 && node < most_simulated) {
        set arrow from node * sqrt(2), graph 0 to node * sqrt(2), graph 1 nohead dashtype 3 lc rgb guide
        set label "one node" at node * sqrt(2), graph 0.06 right offset -0.7, 0 font "sans-serif,9" textcolor rgb grey
        set label "more nodes" at node * sqrt(2), graph 0.06 left offset 0.7, 0 font "sans-serif,9" textcolor rgb grey
    }
    do for [format in formats] {
        eval output("scale_efficiency", format)
        plot for [platform in platforms] summary_csv using (on(platform, "weak_ws4", "formula")):(100 * column("efficiency")) \
                 with lines linewidth 1.8 dashtype dash(platform) lc rgb "black" notitle, \
             for [platform in platforms] summary_csv using (on(platform, "weak_ws4", "simulated")):(100 * column("efficiency")) \
                 with points pointtype mark(platform) pointsize 1.1 lc rgb light notitle, \
             for [platform in platforms] summary_csv using (on(platform, "weak_ws4", "simulated")):(100 * column("efficiency")) \
                 with points pointtype mark(platform) - 1 pointsize 1.1 lc rgb outline notitle, \
             NaN with lines linewidth 1.8 lc rgb "black" title "formula", \
             NaN with points pointtype 6 pointsize 1.1 lc rgb outline title "simulated"
        unset output
    }
}

# ---- scale_chance: each rank stalls with a probability ---------------------------------------------
share(p) = sprintf("%g", p)
percent_of_stall(name) = 100 * column(name) / stall_ms
right = 36
caption = sprintf("up to %d ranks simulated by SimGrid · lab 01, chance: ", most_simulated).stall.", of each rank, in each step, with probability p"
eval page("Rare stalls, many ranks: in the end every step has one (simulated)", "ranks", body)
eval world_axis(most_by_formula)
set ylabel "added to the mean step (% of the stall)"
set yrange [0 : 112]
set arrow from graph 0, first 100 to graph 1, first 100 nohead dashtype 3 lc rgb guide
set label "the whole stall" at graph 0.01, first 100 offset 0, 0.6 textcolor rgb grey font "sans-serif,9"
# Both curves end at 100 %, so their names stand where they pass 50 %.
half_at(p) = log(0.5) / log(1 - p)
do for [p in share(chance)." ".share(rare)] { set label "p = ".p at half_at(real(p)), 50 left offset 1, -0.3 font "sans-serif,9" }
do for [format in formats] {
    eval output("scale_chance", format)
    plot summary_csv using (anywhere(chance)):(percent_of_stall("extra_ms")) with lines linewidth 1.8 lc rgb "black" title "formula", \
         summary_csv using (anywhere(rare)):(percent_of_stall("extra_ms")) with lines linewidth 1.8 dashtype 4 lc rgb "black" notitle, \
         for [platform in platforms] summary_csv using (seen_on(platform, "chance")):(percent_of_stall("extra_ms")):(percent_of_stall("low_ms")):(percent_of_stall("high_ms")) \
             with yerrorbars pointtype mark(platform) - 1 pointsize 1.1 lc rgb outline title "simulated, 95 %, ".literal(platform), \
         for [platform in platforms] summary_csv using (seen_on(platform, "chance")):(percent_of_stall("extra_ms")) \
             with points pointtype mark(platform) pointsize 0.9 lc rgb light notitle
    unset output
}

# ---- scale_straggler: one rank stalls in every step -------------------------------------------------
right = 150
caption = sprintf("1 to %d ranks · simulated by SimGrid · lab 01, skew_ws4: ", most_simulated).stall.", of rank 0, in each step"
eval page("One slow rank costs each rank of many as much as each of few (simulated)", "ranks", body)
eval world_axis(most_simulated)
set ylabel "added to the step of every rank (ms)"
set yrange [0 : stall_ms * 1.2]
ends = 0
dummy = ends_add("the whole stall", body / 1.2, "")
eval ends_labels(width - right + 8)
do for [format in formats] {
    eval output("scale_straggler", format)
    plot for [platform in word(platforms, 1)] summary_csv using (on(platform, "skew_ws4", "formula")):(column("extra_ms")) \
             with lines linewidth 1.8 lc rgb "black" title "formula", \
         for [platform in platforms] summary_csv using (seen_on(platform, "skew_ws4")):(column("extra_ms")) \
             with points pointtype mark(platform) pointsize 1.1 lc rgb light notitle, \
         for [platform in platforms] summary_csv using (seen_on(platform, "skew_ws4")):(column("extra_ms")) \
             with points pointtype mark(platform) - 1 pointsize 1.1 lc rgb outline title "simulated, ".literal(platform)
    unset output
}
