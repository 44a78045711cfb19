# Lab 01, the straggler.
#
#     gnuplot -e "results='results/01_straggler'" plots/01_straggler.gp
#
# draws breakdown, timeline and step_time into the folder of the results. blog='FILE' names other published values.
lab = "01_straggler"
if (!exists("plots")) plots = ARG0[:strlen(ARG0) - strlen(lab.".gp")]."."

told_best = "baseline skew_ws4 skew_prefetch"
pathology_word = "straggler"
pathology(case) = case[1:4]             # base, skew, busy, roam, slow: how their names begin
breakdown_title = "One slow rank makes everyone wait"
timeline_title = "Nobody leaves the collective before the last rank has arrived"
step_time_title = "What each straggler costs, and what each fix wins back"
load plots."/charts.gp"
