//===- Check.cpp - attnc check --------------------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Checker.h"
#include "LevelOption.h"
#include "ScheduleOption.h"
#include "TypeOption.h"

using namespace attn;

void attn::addCheck(CLI::App &app, Action &action) {
  CLI::App *verb =
      app.add_subcommand("check", "Compare compiled code with the reference on "
                                  "random and adversarial inputs");
  auto given = std::make_shared<CheckOptions>();
  verb->add_option("SPEC", given->spec, "a .attn or .mlir file")->required();
  verb->add_option("--seed", given->seed, "another seed, other numbers")
      ->capture_default_str();
  verb->add_option("--case", given->only, "run this case alone")
      ->check(CLI::NonNegativeNumber);
  verb->add_option("--cases", given->most,
                   "run about so many, evenly chosen; 0: all")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  verb->add_option("--in", given->in,
                   "NAME=FILE.npy or NAME=NUMBER: check on these arrays alone, "
                   "as `attnc run` takes them")
      ->allow_extra_args(false);
  verb->add_option("--set", given->set, "NAME=NUMBER: a parameter's value")
      ->allow_extra_args(false);
  addTypeOption(*verb, given->type);
  addLevelOption(*verb, given->options.level);
  addFastMathOption(*verb, given->options.fastMath);
  addScheduleOption(*verb, given->options.schedule);
  addGpuTargetOptions(*verb, given->options, "cpu, cuda or cuda-emulator");
  verb->add_option("--spec-name", given->specName,
                   "the spec, where the file holds several");
  verb->footer("Inputs are made for any spec: sizes around the borders of "
               "tiles, lengths and "
               "offsets, empty rows,\nhuge and tiny norms, equal and clustered "
               "rows, NaN where no "
               "row may look, strides. Exit status 1\nif a bound is broken.\n\n"
               "Where a spec asks for features, the compiled approximation is "
               "compared with the same\napproximation in float64, and the "
               "error against the exact kernel is shown beside it. With "
               "--schedule=recurrent the tokens\nof a case come in several "
               "calls: a prompt, two steps, the rest.\n\n"
               "Example:\n  attnc check examples/yat.attn");
  verb->callback([given, verb, &action] {
    action = [given, verb] {
      checkTarget(given->options.target);
      checkTargetOptions(*verb, given->options.target);
      if (given->options.target == "reference")
        throw UsageError("--target reference: it is what targets are compared "
                         "with");
      Checker checker(*given);
      return given->in.empty() ? checker.run() : checker.runGiven();
    };
  });
}
