//===- Tile.h - the tile dialect --------------------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tiles with named axes; the operations are documented in TileOps.td.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_TILE_TILE_H
#define ATTN_DIALECT_TILE_TILE_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialect/tile/TileDialect.h.inc"
#include "dialect/tile/TileEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialect/tile/TileAttrs.h.inc"
#define GET_TYPEDEF_CLASSES
#include "dialect/tile/TileTypes.h.inc"
#define GET_OP_CLASSES
#include "dialect/tile/TileOps.h.inc"

#endif // ATTN_DIALECT_TILE_TILE_H
