#include "runtime/Binder.h"
#include "attn/attn.h"
#include <vector>
