#include "lowering/loops/Good.h"
#include "dialect/tile/Tile.h"
#include "lowering/Target.h"
