# blame: charts of the tables that blame wrote for any job
#
#     gnuplot -e "results='results/blame'" plots/blame.gp
#
# Draws breakdown, timeline and step_time into the folder of the results. timeline_cases='BASELINE CASE' gives the cases to show;
# default: the first ones.
if (!exists("plots")) plots = ARG0[:strlen(ARG0) - strlen("blame.gp")]."."

lab = "blame"
if (!exists("timeline_cases")) timeline_cases = ""
pathology(case) = case
breakdown_title = "Where the step of each rank goes"
timeline_title = "Which rank waited for which, in a typical step"
step_time_title = "What a step takes"
load plots."/charts.gp"
