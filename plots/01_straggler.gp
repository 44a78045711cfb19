# 01_straggler: charts of lab 01, the straggler
#
#     gnuplot -e "results='results/01_straggler'" plots/01_straggler.gp
#
# Draws breakdown, timeline and step_time into the folder of the results. blog='FILE' gives other published values.
lab = "01_straggler"
if (!exists("plots")) plots = ARG0[:strlen(ARG0) - strlen(lab.".gp")]."."

timeline_cases = "baseline skew_ws4 skew_prefetch"
pathology(case) = root(case)
breakdown_title = "One slow rank makes all others wait"
timeline_title = "No rank leaves the all-reduce before the last rank arrives"
step_time_title = "What each straggler costs, and what each fix saves"
load plots."/charts.gp"
