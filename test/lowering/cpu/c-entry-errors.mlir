// RUN: %attn-opt %s -split-input-file -verify-diagnostics -attn-cpu-c-entry

// expected-error @below {{the module has no 'attn.c_interface' of name, kernel, type and arguments}}
module {}

// -----

// expected-error @below {{the module has no entries f.stage0.run; run attn-cpu-entry first}}
module attributes {attn.c_interface = {name = "f", kernel = "f", type = () -> (), arguments = []}} {}

// -----

// expected-error @below {{'f g' is no C identifier}}
module attributes {attn.c_interface = {name = "f g", kernel = "f", type = () -> (), arguments = []}} {}

// -----

// expected-error @below {{a C function cannot be called 'switch'}}
module attributes {attn.c_interface = {name = "switch", kernel = "f", type = () -> (), arguments = []}} {}

// -----

// expected-error @below {{argument #0 has no 'attn.arg', or is no memref}}
module attributes {attn.c_interface = {name = "f", kernel = "f", type = (f32) -> (), arguments = [#attn.arg<kind = query, name = "q">]}} {}

// -----

// expected-error @below {{'t' has 5 axes; in C an array has at most 4}}
module attributes {attn.c_interface = {name = "f", kernel = "f", type = (memref<?x?x?x?x?xf32>) -> (), arguments = [#attn.arg<kind = param, name = "t">]}} {}

// -----

// expected-error @below {{'t': no size for axis 0:n}}
module attributes {attn.c_interface = {name = "f", kernel = "f", sizes = {}, type = (memref<?xf32>) -> (), arguments = [#attn.arg<kind = param, name = "t", axes = ["0:n"]>]}} {}
