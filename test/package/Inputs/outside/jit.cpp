// softmax(q k) v for q = (1), k = (1, 0): o is (e v0 + v1) / (e + 1).
#include <attn/attn.h>

#include <cmath>
#include <cstdio>
#include <cstring>

int main() {
  attn::Compiler compiler;
  attn::Kernel kernel =
      compiler.compile("attention f(q, k, v) { kappa = exp(dot(q, k)) }");
  float q[] = {1}, k[] = {1, 0}, v[] = {3, 30, 5, 50}, o[2];
  kernel({{"q", {q, {1, 1}}}, {"k", {k, {2, 1}}}, {"v", {v, {2, 2}}}},
         {{"o", {o, {1, 2}}}});
  double e = std::exp(1.0);
  if (!(std::fabs(o[0] - (3 * e + 5) / (e + 1)) < 1e-5))
    return 1;
  try { // Errors cross the library's border.
    compiler.compile("attention f(q, k, v) { kappa = dot(q, k) }");
    return 2;
  } catch (const attn::Error &error) {
    if (!std::strstr(error.what(), "not proven non-negative"))
      return 3;
  }
  std::printf("jit works\n");
}
