#include "lowering/cuda/Prelude.h"
