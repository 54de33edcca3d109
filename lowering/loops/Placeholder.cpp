// AttnLoops
