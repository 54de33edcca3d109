#include "llvm/ADT/StringRef.h"
