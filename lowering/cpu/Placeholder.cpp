// AttnCpu
