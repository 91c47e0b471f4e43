"""`puffer-sdk report`: measure an environment, and write a page of it.

keeping      results of stages, kept on disk across interruptions
context      the settings and the environment around the numbers
subject      ENV, settings -> Subject: what is measured, and a key of all it depends on
measuring    runs in child processes: trajectories, speed
curves       metrics of trainings -> curves, medians and histograms
stages       Subject -> the report's data, stage by stage
axes         values of any scale -> places in a picture, with ticks
charts       numbers -> SVG
summary      data -> the rows that a reader must know first
report_page  data and pictures -> one HTML file, and Markdown for a pull request
comparing    data of two reports -> what changed, and whether it exceeds the noise
agreement    a policy that does not learn -> whether training and eval measure the same
try_env      all programs, a training and that comparison, of one environment
survey       a checkout -> a row, a picture and a verdict of each environment
report       ENV -> report.html, .md and .json
"""
