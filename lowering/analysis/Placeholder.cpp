// AttnAnalysis
