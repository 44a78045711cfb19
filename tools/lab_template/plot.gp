# @NAME@: charts of lab @NN@
#
#     gnuplot -e "results='results/@NAME@'" plots/@NAME@.gp
#
# Draws breakdown, timeline and step_time into the folder of the results.
lab = "@NAME@"
if (!exists("plots")) plots = ARG0[:strlen(ARG0) - strlen(lab.".gp")]."."

timeline_cases = "baseline fault seldom"
pathology(case) = root(case)
breakdown_title = "All other ranks wait for the late rank"
timeline_title = "A typical step with and without the fault"
step_time_title = "The cost of the fault"
load plots."/charts.gp"
