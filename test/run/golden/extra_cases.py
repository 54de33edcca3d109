"""Golden cases of our own, for what the oracle has none of.

Expected values come from smooth() below: the definition, a pair at a time, in
float64 and in logarithms where kappa needs them. Nothing is shared with the
compiler, nor with the oracle.
"""
import math
from types import SimpleNamespace

import numpy as np

INF = math.inf
TOLERANCE = dict(o=1e-5, mass=1e-5, lse=1e-5, max=1e-5, entropy=1e-5, argmax=0, weights=1e-5)


def smooth(q, k, v, kappa, visible=None, normalize='mass', key_lengths=None, query_lengths=None, offset=None,
           delta=0.0, floor=0.0, sink=None, f_q=None, f_k=None, f_v=None):
    """All results. kappa(a, b, at) gives a number, or (sign, logarithm of the magnitude)."""
    q, k, v = (np.asarray(x, np.float64) for x in (q, k, v))
    B, Hq, Nq, _ = q.shape
    Hk, Nk = k.shape[1:3]
    dv = len(f_v(v[0, 0, 0], 0, 0)) if f_v else v.shape[3]
    r = SimpleNamespace(o=np.zeros((B, Hq, Nq, dv)), mass=np.zeros((B, Hq, Nq)), lse=np.full((B, Hq, Nq), -INF),
                        max=np.full((B, Hq, Nq), np.nan), argmax=np.full((B, Hq, Nq), -1), entropy=np.zeros((B, Hq, Nq)),
                        weights=np.zeros((B, Hq, Nq, Nk)), condition=np.ones((B, Hq, Nq)))
    for b in range(B):
        nk = Nk if key_lengths is None else int(key_lengths[b])
        nq = Nq if query_lengths is None else int(query_lengths[b])
        length = nq if query_lengths is not None else (nk if Nq == Nk else Nq)
        shift = nk - length if offset is None else int(np.broadcast_to(offset, (B,))[b])
        for h in range(Hq):
            g = h // (Hq // Hk)
            for row in range(nq):
                at = SimpleNamespace(b=b, h=h, g=g, i=row + shift, nq=nq, nk=nk)
                a = f_q(q[b, h, row], at.i, h) if f_q else q[b, h, row]
                js, signs, logs = [], [], []
                for j in range(nk):
                    at.j = j
                    if visible and not visible(at):
                        continue
                    w = kappa(a, f_k(k[b, g, j], j, g) if f_k else k[b, g, j], at)
                    sign, log = w if isinstance(w, tuple) else (np.sign(w), math.log(abs(w)) if w != 0 else -INF)
                    js.append(j), signs.append(sign), logs.append(log)
                at_row = (b, h, row)
                s = -INF if sink is None else sink(at)
                top = max(logs + [s], default=-INF)
                if top == -INF:
                    continue
                scaled = [t * math.exp(l - top) for t, l in zip(signs, logs)]
                total = math.fsum(scaled) + math.exp(s - top)
                with np.errstate(over='ignore', divide='ignore', invalid='ignore'):
                    r.mass[at_row] = total * np.exp(top)
                    r.lse[at_row] = np.log(total) + top
                r.condition[at_row] = (sum(map(abs, scaled)) + math.exp(s - top)) / abs(total)
                values = [f_v(v[b, g, j], j, g) if f_v else v[b, g, j] for j in js]
                if normalize == 'mass':
                    d = total + delta * math.exp(-top)
                    if abs(total) < floor * math.exp(-top):
                        d = math.copysign(floor * math.exp(-top), total)
                    w = [x / d for x in scaled]
                else:
                    w = [x * math.exp(top) for x in scaled]
                r.o[at_row] = sum((x * y for x, y in zip(w, values)), np.zeros(dv))
                for j, x in zip(js, w):
                    r.weights[at_row + (j,)] = x
                if js:
                    order = [(t, t * l if l > -INF else -INF) for t, l in zip(signs, logs)]
                    best = max(range(len(js)), key=lambda n: (order[n], -n))
                    r.argmax[at_row] = js[best]
                    r.max[at_row] = signs[best] * math.exp(min(logs[best], 700))
                p = [x / total for x in scaled]
                if min(p, default=0) >= 0:
                    r.entropy[at_row] = -math.fsum(x * math.log(x) for x in p if x > 0)
    return r


# ---------------------------------------------------------------- row functions
def unit(x):
    n = math.sqrt(x @ x)
    return x / n if n > 0 else x


def rope(x, position, base=10000.0, interleaved=False):
    n = len(x) // 2
    angle = position * base ** (-np.arange(n) / n)
    c, s = np.cos(angle), np.sin(angle)
    y = np.empty_like(x)
    first, second = (slice(0, None, 2), slice(1, None, 2)) if interleaved else (slice(0, n), slice(n, None))
    y[first] = x[first] * c - x[second] * s
    y[second] = x[first] * s + x[second] * c
    return y


def softplus(x):
    return math.log1p(math.exp(-abs(x))) + max(x, 0)


def exp_dot(scaled=True):
    return lambda a, b, at: (1, a @ b / (math.sqrt(len(a)) if scaled else 1))


def sqdist(a, b):
    return (a - b) @ (a - b)


class Maker:
    def __init__(self, pack, seed):
        self.pack, self.rng = pack, np.random.default_rng(seed)

    def rows(self, *shape, scale=1.0):
        return (scale * self.rng.standard_normal(shape)).astype(np.float32)

    def qkv(self, B=2, Hq=2, Hk=2, Nq=13, Nk=13, D=8, Dv=5, scale=1.0):
        return (self.rows(B, Hq, Nq, D, scale=scale), self.rows(B, Hk, Nk, D, scale=scale), self.rows(B, Hk, Nk, Dv))

    def add(self, ident, body, qkv, kappa, params='', results='o, mass, lse', inputs='q, k, v', arguments=None, **how):
        """One case: the spec is named like it, `body` has its statements."""
        name = ident.replace('-', '_')
        text = f"attention {name}({inputs}{'; ' + params if params else ''}) {{\n"
        text += ''.join(f'  {line.strip()}\n' for line in body.strip().split('\n'))
        self.pack.spec(name, text + f'  return {results}\n}}')
        r = smooth(*qkv, kappa, normalize='none' if 'normalize = none' in body else 'mass', **how)
        given = {n: x for n, x in how.items() if n in ('key_lengths', 'query_lengths', 'offset') and x is not None}
        args = dict(zip(inputs.split(', '), qkv)) if inputs == 'q, k, v' else {}
        expected = {}
        for n in results.split(', '):
            rule = dict(tolerance=TOLERANCE[n])
            if n == 'mass' and r.condition.max(initial=1) > 1.0001:
                rule['condition'] = self.pack.array(r.condition, np.float64)
            expected[n] = (getattr(r, n), rule)
        self.pack.case(ident, name, dict(args, **given, **(arguments or {})), expected)


CAUSAL = lambda at: at.j <= at.i
SOFTMAX = 'kappa = exp(dot(q, k) / sqrt(dim))'


def add_positions(m):
    cross = dict(Nq=5, Nk=14)
    soft = SOFTMAX + '\nmask = causal'
    m.add('offset_default', soft, m.qkv(**cross), exp_dot(), visible=CAUSAL)
    m.add('offset_number', soft, m.qkv(**cross), exp_dot(), visible=CAUSAL, offset=3)
    m.add('offset_array', soft, m.qkv(**cross), exp_dot(), visible=CAUSAL, offset=np.array([7, 0]))
    m.add('offset_negative', soft, m.qkv(), exp_dot(), visible=CAUSAL, offset=-4)
    m.add('offset_beyond', SOFTMAX + '\nmask = window(3, 1)', m.qkv(), exp_dot(),
          visible=lambda at: at.i - 3 <= at.j <= at.i + 1, offset=np.array([9, 40]))
    m.add('lengths_both', soft, m.qkv(B=4), exp_dot(), visible=CAUSAL,
          key_lengths=np.array([13, 9, 4, 0]), query_lengths=np.array([13, 5, 7, 3]))
    m.add('lengths_query', soft, m.qkv(B=3), exp_dot(), visible=CAUSAL, query_lengths=np.array([1, 0, 13]))
    m.add('lengths_derived', soft, m.qkv(B=3), exp_dot(), visible=CAUSAL, key_lengths=np.array([13, 6, 0]))
    m.add('lengths_cache', soft, m.qkv(B=3, Nq=4, Nk=17, Hq=4), exp_dot(), visible=CAUSAL, key_lengths=np.array([17, 9, 3]))
    m.add('lengths_decode', soft, m.qkv(B=3, Nq=1, Nk=70, Hq=4, Hk=1), exp_dot(), visible=CAUSAL, key_lengths=np.array([70, 65, 1]))
    m.add('lengths_and_offset', soft, m.qkv(B=2, Nq=6, Nk=17), exp_dot(), visible=CAUSAL,
          key_lengths=np.array([17, 9]), query_lengths=np.array([6, 2]), offset=np.array([11, 1]))
    m.add('positions_true_lengths', 'kappa = sigmoid(dot(q, k)/sqrt(dim) - log(nk)) / nq\nnormalize = none', m.qkv(B=2),
          lambda a, b, at: 1 / (1 + math.exp(-(a @ b / math.sqrt(len(a)) - math.log(at.nk)))) / at.nq,
          key_lengths=np.array([13, 6]), query_lengths=np.array([13, 4]))
    q, k, v = m.qkv(B=2)
    q[1, :, 4:], k[1, :, 6:], v[1, :, 6:] = np.nan, np.nan, np.inf
    m.add('lengths_nothing_read_beyond', soft, (q, k, v), exp_dot(), visible=CAUSAL,
          key_lengths=np.array([13, 6]), query_lengths=np.array([13, 4]))
    q, k, v = m.qkv(B=1, Nq=40, Nk=40)
    k[0, :, 7], v[0, :, 21] = np.nan, np.nan
    hidden = 'mask = causal and j != 7 and (j != 21 or i < 21)'
    m.add('nan_in_the_middle', SOFTMAX + '\n' + hidden, (q, k, v), exp_dot(),
          visible=lambda at: at.j <= at.i and at.j != 7 and at.j != 21)
    m.add('no_keys', SOFTMAX, m.qkv(Nk=0), exp_dot())
    m.add('no_queries', SOFTMAX, m.qkv(Nq=0), exp_dot())
    m.add('one_key', soft, m.qkv(Nq=1, Nk=1, D=1, Dv=1), exp_dot(), visible=CAUSAL)


def add_denominators(m):
    cap = lambda a, b, at: (1, 30 * math.tanh(a @ b / math.sqrt(len(a)) / 30))
    s = m.rows(2)
    sink = lambda at: float(s[at.h])
    m.add('sink', 'kappa = exp(30*tanh(dot(q,k)/sqrt(dim)/30))\nmask = causal and window(w, 0)\nnormalize = mass(sink = s)',
          m.qkv(), cap, 's[head], w: int >= 0', visible=lambda at: at.i - 4 <= at.j <= at.i, sink=sink, arguments=dict(s=s, w=4))
    m.add('sink_empty_rows', SOFTMAX + '\nmask = causal\nnormalize = mass(sink = s)', m.qkv(B=3), exp_dot(), 's[head]',
          visible=CAUSAL, sink=sink, offset=-5, key_lengths=np.array([13, 4, 0]), arguments=dict(s=s))
    m.add('sink_past_query_lengths', SOFTMAX + '\nnormalize = mass(sink = s)', m.qkv(B=2), exp_dot(), 's[head]',
          sink=sink, query_lengths=np.array([13, 5]), arguments=dict(s=s))
    m.add('sink_dominates', 'kappa = exp(dot(q, k))\nnormalize = mass(sink = s)', m.qkv(), exp_dot(False), 's',
          sink=lambda at: 60.0, arguments=dict(s=60))
    yat = lambda p: lambda a, b, at: (a @ b + 0.5) ** p / (sqdist(a, b) + 0.25)
    m.add('sink_algebraic', 'kappa = (dot(q,k) + 0.5)^2/(sqdist(q,k) + 0.25)\nnormalize = mass(sink = s)', m.qkv(), yat(2), 's[head]',
          sink=sink, arguments=dict(s=s))
    b, eps = np.abs(m.rows(2)), np.abs(m.rows(2)) + np.float32(0.1)
    m.add('delta', 'kappa = (dot(q,k)+b)^4/(sqdist(q,k)+eps)\nmask = causal\nnormalize = mass(delta = 2.5)', m.qkv(),
          lambda x, y, at: (x @ y + float(b[at.h])) ** 4 / (sqdist(x, y) + float(eps[at.h])),
          'b[head] >= 0, eps[head] > 0', visible=CAUSAL, delta=2.5, arguments=dict(b=b, eps=eps))
    m.add('delta_of_softmax', 'kappa = exp(dot(q, k))\nnormalize = mass(delta = 4)', m.qkv(), exp_dot(False), delta=4.0)
    m.add('floor', SOFTMAX + '\nmask = causal\nnormalize = mass(floor = 5)', m.qkv(), exp_dot(), visible=CAUSAL, floor=5.0)
    M = 16
    features = lambda x, p: np.concatenate([np.maximum(x, 0) * math.cos(math.pi / 2 / M * p), np.maximum(x, 0) * math.sin(math.pi / 2 / M * p)])
    m.add('cosformer', '''c = pi/2/M
          q = concat(relu(q)*cos(c*i), relu(q)*sin(c*i)); k = concat(relu(k)*cos(c*j), relu(k)*sin(c*j))
          kappa = dot(q,k); allow signed; normalize = mass(floor = 1e-6)''', m.qkv(), lambda a, b, at: a @ b, 'M > 0', results='o, mass',
          f_q=lambda x, p, h: features(x, p), f_k=lambda x, p, h: features(x, p), floor=1e-6, arguments=dict(M=M))
    m.add('floor_of_signed', 'kappa = dot(q, k)\nallow signed\nnormalize = mass(floor = 3)', m.qkv(), lambda a, b, at: a @ b,
          results='o, mass', floor=3.0)
    m.add('floor_with_delta', SOFTMAX + '\nmask = causal\nnormalize = mass(delta = 0.75, floor = 5)', m.qkv(), exp_dot(), visible=CAUSAL,
          delta=0.75, floor=5.0)
    m.add('terms_together', SOFTMAX + '\nnormalize = mass(delta = 0.5, sink = s)', m.qkv(), exp_dot(), 's', delta=0.5,
          sink=lambda at: 0.75, arguments=dict(s=0.75))


def add_row_maps(m):
    q, k, v = m.qkv(D=6, Hq=4, Hk=2)
    m.add('rope', 'q = rope(q, i)\nk = rope(k, j)\n' + SOFTMAX + '\nmask = causal', (q, k, v), exp_dot(), visible=CAUSAL,
          f_q=lambda x, p, h: rope(x, p), f_k=lambda x, p, h: rope(x, p))
    m.add('rope_interleaved', 'q = rope(q, i, base = 500, interleaved = 1)\nk = rope(k, j, base = 500, interleaved = 1)\n' + SOFTMAX,
          (q, k, v), exp_dot(), f_q=lambda x, p, h: rope(x, p, 500, True), f_k=lambda x, p, h: rope(x, p, 500, True), offset=1000)
    x = m.rows(2, 1, 9, 10)
    wq, wk, wv = m.rows(4, 10, 6), m.rows(2, 10, 6), m.rows(2, 10, 3)
    wide = np.broadcast_to(x, (2, 4, 9, 10)), np.broadcast_to(x, (2, 2, 9, 10)), np.broadcast_to(x, (2, 2, 9, 10))
    m.add('block', 'q = rope(x*Wq, i); k = rope(x*Wk, j); v = x*Wv\nkappa = exp(dot(q,k)/sqrt(dim)); mask = causal', wide, exp_dot(),
          'Wq[head,D,d], Wk[kv_head,D,d], Wv[kv_head,D,e]', inputs='x', visible=CAUSAL,
          f_q=lambda r, p, h: rope(r @ wq[h].astype(np.float64), p), f_k=lambda r, p, h: rope(r @ wk[h].astype(np.float64), p),
          f_v=lambda r, p, h: r @ wv[h].astype(np.float64), arguments=dict(x=x, Wq=wq, Wk=wk, Wv=wv))
    m.add('sphere_exponential', 'q = unit(q); k = unit(k)\nkappa = exp(4*dot(q, k))', m.qkv(), lambda a, b, at: (1, 4 * (a @ b)),
          f_q=lambda x, p, h: unit(x), f_k=lambda x, p, h: unit(x))
    m.add('tensor_power', 'kappa = dot(power(q, 3), power(k, 3))\nnormalize = none', m.qkv(D=4), lambda a, b, at: (a @ b) ** 3, results='o, mass')
    m.add('outer_product', 'kappa = dot(outer(relu(q), exp(q)), outer(relu(k), exp(k)))', m.qkv(D=3),
          lambda a, b, at: (np.maximum(a, 0) @ np.maximum(b, 0)) * (np.exp(a) @ np.exp(b)), results='o, mass')
    m.add('value_map', SOFTMAX + '\nv = concat(tanh(v), abs(v))', m.qkv(Dv=3), exp_dot(), f_v=lambda x, p, h: np.concatenate([np.tanh(x), np.abs(x)]))
    a, c = m.rows(4, 8), m.rows(2, 8)
    m.add('gat', 's = dot(a,q) + dot(c,k)\nkappa = exp(max(s, 0.2*s))', m.qkv(Hq=4, Hk=2),
          lambda x, y, at: (1, (lambda s: max(s, 0.2 * s))(x @ a[at.h].astype(float) + y @ c[at.g].astype(float))),
          'a[head,d], c[kv_head,d]', arguments=dict(a=a, c=c))
    m.add('multi_query_parameters', 'kappa = exp(-sqdist(q, k)/h - g*abs(i - j))', m.qkv(Hq=4, Hk=1),
          lambda x, y, at: (1, -sqdist(x, y) / (2 + at.h) - 0.1 * abs(at.i - at.j)), 'h[head] > 0, g[kv_head] >= 0',
          arguments=dict(h=np.arange(2, 6, dtype=np.float32), g=np.array([0.1], np.float32)))


def add_masks_and_tables(m):
    table = m.rows(2, 9)
    m.add('table', 'kappa = exp(dot(q,k) + bias[i - j])', m.qkv(scale=0.5), lambda a, b, at: (1, a @ b + float(table[at.h, min(max(at.i - at.j, -4), 4) + 4])),
          'bias[head,-4:4]', arguments=dict(bias=table))
    grid = m.rows(5, 13)
    m.add('table_by_position', 'kappa = exp(dot(q,k)/sqrt(dim) + bias[i // 3, j])', m.qkv(),
          lambda a, b, at: (1, a @ b / math.sqrt(len(a)) + float(grid[at.i // 3, at.j])), 'bias[rows, nk]', arguments=dict(bias=grid))
    n, doc = np.array([4, 0]), np.sort(m.rng.integers(0, 3, (2, 13)), axis=1)
    m.add('prefix_and_documents', 'kappa = exp(dot(q,k)/sqrt(dim))\nmask = (causal or j < n) and doc[i] == doc[j]', m.qkv(), exp_dot(), 'n[batch]: int, doc[batch,nk]: int',
          visible=lambda at: (at.j <= at.i or at.j < n[at.b]) and doc[at.b, at.i] == doc[at.b, at.j], arguments=dict(n=n, doc=doc))
    m.add('prefix', SOFTMAX + '\nmask = prefix(n) or causal', m.qkv(Nq=6), exp_dot(), 'n: int', visible=lambda at: at.j < 9 or at.j <= at.i, arguments=dict(n=9))
    p, v = m.rows(1, 1, 30, 4, scale=0.5), m.rows(1, 1, 30, 2)
    near = lambda at: abs(at.i // 6 - at.j // 6) <= 1 and abs(at.i % 6 - at.j % 6) <= 1
    m.add('image_window', 'q = p; k = p; kappa = exp(-sqdist(q,k)/h^2)\nmask = abs(i//W - j//W) <= 1 and abs(i%W - j%W) <= 1', (p, p, v),
          lambda a, b, at: (1, -sqdist(a, b) / 0.8 ** 2), 'W: int > 0, h > 0', inputs='p, v', visible=near, arguments=dict(p=p, v=v, W=6, h=0.8))
    m.add('dilated', SOFTMAX + '\nmask = (i - j) % 3 == 0 or not (j < i) and j - i < 2', m.qkv(Nk=20), exp_dot(),
          visible=lambda at: (at.i - at.j) % 3 == 0 or (not at.j < at.i and at.j - at.i < 2))
    m.add('negative_division', SOFTMAX + '\nmask = (j - i) // 4 >= -1 and (j - i) % 4 != 3', m.qkv(), exp_dot(),
          visible=lambda at: (at.j - at.i) // 4 >= -1 and (at.j - at.i) % 4 != 3)
    m.add('nothing_visible', SOFTMAX + '\nmask = j < 0', m.qkv(), exp_dot(), visible=lambda at: False)
    m.add('mask_by_head', SOFTMAX + '\nmask = j % w == head and batch < 1 or j == 0', m.qkv(), exp_dot(), 'w: int > 0',
          visible=lambda at: at.j % 3 == at.h and at.b < 1 or at.j == 0, arguments=dict(w=3))
    long = dict(B=1, Hq=2, Hk=1, Nq=150, Nk=203, D=20, Dv=12)
    m.add('long_window', SOFTMAX + '\nmask = window(37, 5)', m.qkv(**long), exp_dot(), visible=lambda at: at.i - 37 <= at.j <= at.i + 5)
    m.add('long_causal', 'kappa = (dot(q,k) + 1)^2/(sqdist(q,k) + 0.1)\nmask = causal', m.qkv(**long),
          lambda a, b, at: (a @ b + 1) ** 2 / (sqdist(a, b) + 0.1), visible=CAUSAL)


def add_kernels(m):
    m.add('where_discards_nan', 'kappa = where(j > 2, 1/abs(j - 2), exp(dot(q,k)/sqrt(dim)))', m.qkv(),
          lambda a, b, at: 1 / (at.j - 2) if at.j > 2 else (1, a @ b / math.sqrt(len(a))))
    m.add('fractional_power', 'kappa = (sqdist(q,k) + 1)^(-a)', m.qkv(), lambda x, y, at: (sqdist(x, y) + 1) ** -1.7, 'a > 0', arguments=dict(a=1.7))
    m.add('decay', 'kappa = exp(dot(q,k)/sqrt(dim)) * g^abs(i - j)', m.qkv(), lambda a, b, at: (1, a @ b / math.sqrt(len(a)) + abs(at.i - at.j) * math.log(float(np.float32(0.8 - 0.3 * at.h)))),
          'g[head] > 0', arguments=dict(g=np.array([0.8, 0.5], np.float32)))
    m.add('degree_eight_small', 'kappa = dot(q,k)^8', m.qkv(scale=1e-3), lambda a, b, at: (1, 8 * math.log(abs(a @ b))), results='o, lse')
    m.add('degree_eight_large', 'kappa = dot(q,k)^8', m.qkv(scale=1e3), lambda a, b, at: (1, 8 * math.log(abs(a @ b))), results='o, lse')
    m.add('gaussian_far', 'kappa = exp(-sqdist(q,k)/2)', m.qkv(D=64, scale=3), lambda a, b, at: (1, -sqdist(a, b) / 2))
    m.add('mixed_sum', 'kappa = exp(dot(q,k)/sqrt(dim)) + 0.5/(sqdist(q,k) + 1)', m.qkv(),
          lambda a, b, at: math.exp(a @ b / math.sqrt(len(a))) + 0.5 / (sqdist(a, b) + 1))
    m.add('student', 'kappa = 1/sqrt(1 + sqdist(q,k)/nu)^(nu + 1)', m.qkv(), lambda a, b, at: (1 + sqdist(a, b) / 3) ** -2, 'nu > 0', arguments=dict(nu=3))
    m.add('functions', 'kappa = 2 + tanh(dot(q,k)) + cos(i - j)/4 + sin(sqdist(q,k))/8 + softplus(dot(q,k)) + elu(dot(q,k)) + floor(j/3) + abs(min(i, j) - max(j, 2))\nallow signed', m.qkv(),
          lambda a, b, at: (lambda s: 2 + math.tanh(s) + math.cos(at.i - at.j) / 4 + math.sin(sqdist(a, b)) / 8 + softplus(s) + (s if s > 0 else math.expm1(s)) + at.j // 3 + abs(min(at.i, at.j) - max(at.j, 2)))(a @ b), results='o, mass')
    m.add('batch_parameter', 'kappa = exp(t*dot(q,k))', m.qkv(B=3), lambda a, b, at: (1, (0.25 + 0.25 * at.b) * (a @ b)), 't[batch]', arguments=dict(t=np.array([0.25, 0.5, 0.75], np.float32)))
    m.add('unequal_dimensions', SOFTMAX, m.qkv(B=1, Nq=5, Nk=7, D=576, Dv=33), exp_dot())
    everything = 'o, mass, lse, max, argmax, entropy, weights'
    m.add('every_result', SOFTMAX + '\nmask = causal', m.qkv(), exp_dot(), results=everything, visible=CAUSAL)
    m.add('every_result_algebraic', 'kappa = (dot(q,k) + 1)^2/(sqdist(q,k) + 0.5)\nmask = causal', m.qkv(Nq=7, Nk=90),
          lambda a, b, at: (a @ b + 1) ** 2 / (sqdist(a, b) + 0.5), results=everything, visible=CAUSAL)
    m.add('every_result_undivided', 'kappa = exp(-sqrt(sqdist(q, k)))\nnormalize = none', m.qkv(), lambda a, b, at: (1, -math.sqrt(sqdist(a, b))), results=everything)
    m.add('argmax_of_ties', 'kappa = where(j % 4 == 1, 2, 1)', m.qkv(), lambda a, b, at: 2.0 if at.j % 4 == 1 else 1.0, results='o, argmax, max')
    m.add('argmax_of_nothing', SOFTMAX + '\nmask = j < i', m.qkv(), exp_dot(), results='o, argmax, entropy', visible=lambda at: at.j < at.i)


def add(pack):
    m = Maker(pack, 2026)
    for group in (add_positions, add_denominators, add_row_maps, add_masks_and_tables, add_kernels):
        group(m)
