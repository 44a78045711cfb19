# Anybody's spans, as blame found them.
#
#     gnuplot -e "results='results/blame'" plots/blame.gp
#
# draws breakdown, timeline and step_time into the folder of the results. told_best='BASELINE CASE' names the cases to show;
# without it, the first.
if (!exists("plots")) plots = ARG0[:strlen(ARG0) - strlen("blame.gp")]."."

lab = "blame"
if (!exists("told_best")) told_best = ""
pathology_word = "shown"
pathology(case) = case
breakdown_title = "Where the step of each rank goes"
timeline_title = "Who waited for whom, in a typical step"
step_time_title = "What a step takes"
load plots."/charts.gp"
