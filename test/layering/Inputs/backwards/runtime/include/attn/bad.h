#include <mlir/IR/Value.h>
#include <vector>
