# shares: what each suspect has of each case's step, as steps without it show (--verdict). charts.gp loads this file at its end; the chart
# is drawn for labs that make such changes, if this run or one to which it added rounds made them.
#
# A row per case, and beside each other a panel per suspect that has any of the steps, each from 0 to 100 % of the step. The bar of the
# suspect that bounds the step is dark; its name, or why none is named, stands at the right.
verdict_csv = results."/verdict.csv"
verdict_cases = of_this_run(verdict_csv) ? column_of(verdict_csv, "case") : ""
shown = ""
suspects = ""
array verdict_row[words(verdict_cases) + 1]             # of each shown case, its first row in the table
if (words(verdict_cases) > 0) {
    verdict_suspects = column_of(verdict_csv, "suspect")
    verdict_shares = column_of(verdict_csv, "share")
}
do for [i = 1:words(verdict_cases)] {
    if (!has(word(verdict_cases, i), shown)) { shown = shown." ".word(verdict_cases, i); verdict_row[words(shown)] = i }
}
steps_with(suspect) = sum [k = 1:words(verdict_cases)] (word(verdict_suspects, k) eq suspect && abs(number(word(verdict_shares, k))) > 0)
do for [i = 1:words(verdict_cases)] {   # each suspect once, in the table's order
    suspect = word(verdict_suspects, i)
    if (!has(suspect, suspects) && steps_with(suspect) > 0) { suspects = suspects." ".suspect }
}
if (words(suspects) > 0) {
    bounds = column_of(verdict_csv, "bound_by")
    reasons = column_of(verdict_csv, "why_not")
    said_reason(why) = why eq "near" ? "two are too close" : why eq "overlap" ? "two claim the same time" : why eq "nothing" ? "none has a tenth" : \
        why eq "too short" ? "a single round" : why
    bound_of(case) = word(bounds, verdict_row[place(case, shown)])
    reason_of(case) = spaced(word(reasons, verdict_row[place(case, shown)]))
    is_named(case) = reason_of(case) eq "-"
    left = 90
    do for [case in shown] { left = 7 * strlen(label(case)) + 26 > left ? 7 * strlen(label(case)) + 26 : left }
    right = 150
    panel = 1.4                         # from the 0 of a panel to that of the next one
    height_of_row = 34
    shares_caption = caption
    verdict_rounds = word(column_of(verdict_csv, "rounds"), 1)
    if (verdict_rounds ne stated("rounds")) { caption = caption." · shares: ".verdict_rounds." rounds" }
    above = 76
    eval page("A change for each suspect shows what it has of the step", "share of the step (%)", height_of_row * words(shown))
    set border 0
    unset grid
    set yrange [words(shown) + 0.5 : 0.5]
    set xrange [-0.02 : panel * (words(suspects) - 1) + 1.3]
    unset ytics
    set xtics ()
    at_share(suspect, share) = panel * (place(suspect, suspects) - 1) + (share < 0 ? 0 : share > 1 ? 1 : share)
    do for [suspect in suspects] {
        do for [tick in "0 50 100"] {
            set xtics add (tick at_share(suspect, 0.01 * tick))
            set arrow from first at_share(suspect, 0.01 * tick), graph 0 to first at_share(suspect, 0.01 * tick), graph 1 nohead back linewidth 1 lc rgb rule
        }
        set label suspect at first at_share(suspect, 0), screen 1 - 60. / height left font "sans-serif,9" textcolor rgb grey
    }
    set label "bound by" at screen 1 - 24. / width, screen 1 - 60. / height right font "sans-serif,9" textcolor rgb grey
    do for [case in shown] {
        set label label(case) at screen 1. * (left - 10) / width, first place(case, shown) right noenhanced
        set label is_named(case) ? bound_of(case) : "undetermined" at screen 1 - 24. / width, first place(case, shown) - (is_named(case) ? 0 : 0.12) right
        if (!is_named(case)) { set label said_reason(reason_of(case)) at screen 1 - 24. / width, first place(case, shown) + 0.28 right font "sans-serif,8" textcolor rgb grey }
    }
    is_bound(unused) = strcol("suspect") eq strcol("bound_by")
    is_there(unused) = has(strcol("suspect"), suspects) && !blank("share")
    share_end(bound) = !is_there(0) || is_bound(0) != bound ? NaN : at_share(strcol("suspect"), column("share"))
    zero(unused) = at_share(strcol("suspect"), 0)
    share_row(offset) = place(strcol("case"), shown) + offset
    share_at(name) = !is_there(0) || blank(name) ? -1 : at_share(strcol("suspect"), column(name))          # -1: left of the chart
    beside_bar(unused) = !is_there(0) ? "" : sprintf("%.0f", 100 * column("share"))
    beside_end(unused) = !is_there(0) ? 0 : 0.05 + (blank("share_high") || column("share_high") < column("share") ? share_at("share") : share_at("share_high"))
    eval key_clear
    eval key_entry("box", solid_look(bar), "share of the step")
    if (has("-", reasons)) { eval key_entry("box", solid_look(more), "of the suspect that bounds it") }
    if (largest(column_of(verdict_csv, "share_high")) > 0) { eval key_entry("lying", whisker_look, "95 % interval") }
    if (largest(column_of(verdict_csv, "predicted_share")) > 0) { eval key_entry("standing", mark_look, "predicted") }
    do for [format in formats] {
        eval output("shares", format)
        plot for [bound = 0:1] verdict_csv using (share_end(bound)):(share_row(0)):(zero(0)):(share_end(bound)):(share_row(-0.3)):(share_row(0.3)) \
                 with boxxyerror fs solid noborder lc rgb bound ? more : bar notitle, \
             verdict_csv using (share_at("predicted_share")):(share_row(-0.38)):(0):(0.76) with vectors nohead linewidth 4 lc rgb "white" notitle, \
             verdict_csv using (share_at("predicted_share")):(share_row(-0.42)):(0):(0.84) with vectors nohead linewidth 2.5 lc rgb "black" notitle, \
             verdict_csv using (share_at("share")):(share_row(0)):(share_at("share_low")):(share_at("share_high")) \
                 with xerrorbars pointtype 0 lc rgb "black" notitle, \
             verdict_csv using (beside_end(0)):(share_row(0)):(beside_bar(0)) with labels left font "sans-serif,9" notitle
        unset output
    }
    caption = shares_caption
    above = 52
    set border 1
    set xtics autofreq
    set ytics nomirror scale 0 textcolor rgb "black" noenhanced
    set grid x lt 1 lc rgb rule
}
