//===- ScheduleOption.cpp - the option --schedule -------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScheduleOption.h"

void attn::addScheduleOption(CLI::App &verb, std::string &schedule) {
  verb.add_option("--schedule", schedule,
                  "quadratic or linear; default: by the lengths of a sequence, "
                  "where both are proven to be right; recurrent: the linear "
                  "order, and the call goes on from --in state and gives the "
                  "next state as a result")
      ->check(CLI::IsMember({"quadratic", "linear", "recurrent"}));
}
