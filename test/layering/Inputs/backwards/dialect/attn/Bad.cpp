#include "dialect/attn/Attn.h"
#include "lowering/Passes.h"
