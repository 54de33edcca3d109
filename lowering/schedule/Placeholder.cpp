// AttnSchedule
