#!/usr/bin/env python3
"""Makes the golden cases from a folder that holds the float64 oracle.

    import_cases.py ORACLE_FOLDER OUTPUT_FOLDER

ORACLE_FOLDER has oracle.py and cases/ (manifest.json, one .npz a case). What the
language can say is written as a spec with its arguments, the expected arrays and
the pass rule; what it cannot is listed. extra_cases.py adds cases of its own,
feature_cases.py those of features that are asked for.
"""
import json
import math
import os
import sys

import numpy as np

import extra_cases
import feature_cases
from pack import Pack

LOG2 = math.log(2)


# ---------------------------------------------------------------- kernels as text
def kernel_text(name, p, d, hq):
    """(statements, kappa, parameters, arguments, tag, signed) of an oracle kernel."""
    root = 'sqrt(dim)'
    if name == 'exp':
        if p['scale'] == 1:
            return '', 'exp(dot(q, k))', [], {}, 'exp', False
        if abs(p['scale'] - d ** -0.5) > 1e-15:
            return '', 'exp(scale*dot(q, k))', ['scale'], dict(scale=p['scale']), 'exp_scaled', False
        return '', f'exp(dot(q, k) / {root})', [], {}, 'softmax', False
    if name in ('yat', 'yat_spherical'):
        unit = 'q = unit(q); k = unit(k)' if name == 'yat_spherical' else ''
        power = 2 * p.get('m', 1)
        tag = ('sphere' if unit else 'yat') + (f'{power}' if power > 2 else '')
        b, eps = p['b'], p['eps']
        if b == LOG2 and eps == LOG2:                   # through softplus, as a model holds them
            s = 'b = softplus(b_raw); eps = softplus(eps_raw)'
            return s, f'(dot(q, k) + b)^{power} / (sqdist(q, k) + eps)', ['b_raw[head]', 'eps_raw[head]'], dict(b_raw=0, eps_raw=0), tag + '_softplus', False
        axis = '[head]' if isinstance(b, list) else ''
        arg = lambda x: np.array(x) if isinstance(x, list) else x
        if b == 0:
            return unit, f'dot(q, k)^{power} / (sqdist(q, k) + eps)', ['eps > 0'], dict(eps=arg(eps)), tag + '_b0', False
        return (unit, f'(dot(q, k) + b)^{power} / (sqdist(q, k) + eps)', [f'b{axis}', f'eps{axis} > 0'],
                dict(b=arg(b), eps=arg(eps)), tag + ('_heads' if axis else ''), False)
    if name == 'poly':
        base = 'dot(q, k)' if p['c'] == 0 else f"(dot(q, k) + {p['c']:g})"
        k = base if p['p'] == 1 else f"{base}^{p['p']}"
        return '', k, [], {}, f"poly{p['p']}" + ('_homogeneous' if p['c'] == 0 else ''), p['p'] % 2 == 1
    if name == 'dot':
        return '', 'dot(q, k)', [], {}, 'dot', True
    if name == 'taylor_exp':
        if p['M'] == 0:
            return '', '1', [], {}, 'taylor0', False
        scaled = p['scale'] != 1
        assert not scaled or abs(p['scale'] - d ** -0.5) < 1e-15
        s = 's = dot(q, k)' + (f' / {root}' if scaled else '')
        tag = f"taylor{p['M']}" + ('_scaled' if scaled else '')
        if p['M'] == 2 and scaled:                      # a form whose sign is seen: 1 + s + s^2/2
            return s, '((1 + s)^2 + 1) / 2', [], {}, tag, False
        terms = ['1', 's'] + [f's^{n}/{math.factorial(n)}' for n in range(2, p['M'] + 1)]
        return s, ' + '.join(terms[:p['M'] + 1]), [], {}, tag, True
    if name == 'rbf':
        if p['sigma'] == 1:
            return '', 'exp(-sqdist(q, k) / 2)', [], {}, 'gauss1', False
        if abs(p['sigma'] - d ** 0.5) < 1e-12:
            return '', 'exp(-sqdist(q, k) / (2*dim))', [], {}, 'gauss', False
        return '', 'exp(-sqdist(q, k) / (2*h^2))', ['h > 0'], dict(h=p['sigma']), 'gauss_h', False
    if name == 'laplace':
        if p['sigma'] == 1:
            return '', 'exp(-sqrt(sqdist(q, k)))', [], {}, 'laplace1', False
        assert abs(p['sigma'] - d ** 0.5) < 1e-12
        return '', f'exp(-sqrt(sqdist(q, k)) / {root})', [], {}, 'laplace', False
    if name == 'imq':
        assert p['beta'] == 1
        return '', f"1 / (sqdist(q, k) + {p['eps']:g})", [], {}, 'imq', False
    raise ValueError(name)


def mask_text(o):
    """(mask, tag) of the oracle's options."""
    words, tag = [], ''
    if o.get('causal'):
        words, tag = words + ['causal'], tag + '_causal'
    if o.get('strict'):
        words, tag = words + ['strict_causal'], tag + '_strict'
    if o.get('window'):
        l, r = o['window']
        words.append(f'window({l}, {r})')
        tag += f'_window_{l}_{r}'.replace('-', 'm')
    return ' and '.join(words), tag


def spec_text(name, inputs, params, body, mask, results, none=False, signed=False):
    head = f"attention {name}({', '.join(inputs)}{'; ' + ', '.join(params) if params else ''}) {{"
    lines = [head] + ['  ' + s for s in body if s]
    if mask:
        lines.append(f'  mask = {mask}')
    if none:
        lines.append('  normalize = none')
    if signed:
        lines.append('  allow signed')
    return '\n'.join(lines + [f"  return {', '.join(results)}", '}'])


# ---------------------------------------------------------------- rules
def o_tolerance(c):
    e = float(c.get('f32_err') or 'nan') if c.get('f32_err') != 0 else 0.0
    return 1e-5 if not e < 1e-2 else max(8 * e, 4 * 2.0 ** -24)


def flushed(x):
    return np.where(np.abs(x) < 2.0 ** -126, 0, x).astype(x.dtype)


class Importer:
    def __init__(self, folder, pack):
        sys.path.insert(0, folder)
        import oracle
        self.oracle, self.pack, self.folder, self.left_out, self.loose = oracle, pack, folder, [], []
        with open(os.path.join(folder, 'cases', 'manifest.json')) as f:
            self.cases = json.load(f)['cases']

    def kernel(self, c, shape4):
        p = {k: np.array(x).reshape(-1, 1, 1) if isinstance(x, list) else x for k, x in c['kernel']['params'].items()}
        return self.oracle.KERNELS[c['kernel']['name']](**p)

    def compute(self, c, a, normalize):
        o = dict(c['options'])
        if 'key_padding' in a:
            o['key_padding'] = a['key_padding']
        return self.oracle.attention(a['q'], a['k'], a['v'], self.kernel(c, a['q'].shape), normalize,
                                     causal=o.get('causal', False), strict=o.get('strict', False), window=o.get('window'),
                                     alibi=o.get('alibi'), key_padding=o.get('key_padding'))

    def power_condition(self, c, inputs, mass):
        """What rounding each product of a dot once does to the mass of (q.k + b)^p / ..., in units of 1e-5.

        Where q.k + b cancels nearly, f32 does not determine the mass to 1e-5, however it is computed: rounding
        the exact dot to f32 is already more."""
        p = {k: np.array(x).reshape(-1, 1, 1) if isinstance(x, list) else x for k, x in c['kernel']['params'].items()}
        power, shift = (2 * p['m'], p['b']) if c['kernel']['name'] == 'yat' else (p['p'], p['c'])
        q, k = (inputs[n].astype(np.float64) for n in 'qk')
        k = np.repeat(k, q.shape[1] // k.shape[1], axis=1)
        kernel = self.kernel(c, q.shape)
        with np.errstate(all='ignore'):
            base = q @ np.swapaxes(k, -1, -2) + shift
            size = np.abs(q) @ np.swapaxes(np.abs(k), -1, -2)
            slope = np.abs(kernel.fn(*self.oracle.pair_stats(q, k)) * power / base) * size
            if c['options'].get('alibi'):
                slope = slope * np.exp(self.oracle.alibi_log_weight(c['options']['alibi'], *base.shape[-2:]))
            o = c['options']
            seen = self.oracle.build_mask(*base.shape[:2], *base.shape[2:], causal=o.get('causal', False), strict=o.get('strict', False), window=o.get('window'))
            ratio = np.where(seen & np.isfinite(slope), slope, 0).sum(-1) / np.abs(mass)
        ratio = np.where(np.isfinite(ratio), ratio, 0) * 2.0 ** -24 / 1e-5
        self.loose += [(c['id'], int((ratio > 1).sum()), ratio.size)] if (ratio > 1).any() else []
        return np.maximum(ratio, 1)

    def quadratic(self, c, a):
        """A case of the oracle's attention()."""
        normalize = c.get('normalize', 'l1')
        d, hq = a['q'].shape[-1], a['q'].shape[1]
        body, kappa, params, args, tag, signed = kernel_text(c['kernel']['name'], c['kernel']['params'], d, hq)
        if c['options'].get('alibi'):
            kappa, params, args, tag = f'{kappa} * exp(-slope*abs(i - j))', params + ['slope[head] >= 0'], dict(args, slope=np.array(c['options']['alibi'])), tag + '_alibi'
        mask, mask_tag = mask_text(c['options'])
        inputs = {n: a[n] for n in 'qkv'}
        expected = {n: a['exp_' + n] for n in ('o', 'mass', 'lse')}
        # Denormal inputs count as 0: what they would have given is not the truth here.
        if any((flushed(x) != x).any() for x in inputs.values() if np.isfinite(x).all()):
            r = self.compute(c, dict(a, **{n: flushed(x) for n, x in inputs.items()}), normalize)
            expected = {n: r[n] for n in expected}
        none = normalize == 'none'
        results = ['o', 'mass'] if signed else ['o', 'mass', 'lse']
        if normalize == 'softmax_of_kernel':
            kappa, tag, results = f'exp({kappa})', tag + '_exponentiated', ['o']
        name = tag + mask_tag + ('_none' if none else '')
        self.pack.spec(name, spec_text(name, 'qkv', params, body.split('; ') + ['kappa = ' + kappa], mask, results,
                                       none, signed and not none))
        if 'key_padding' in a:
            keep = a['key_padding'].astype(bool)
            lengths = keep.sum(-1)
            assert (keep == (np.arange(keep.shape[1]) < lengths[:, None])).all()
            args = dict(args, key_lengths=lengths)

        rule = dict(tolerance=o_tolerance(c))
        if 'o=0 with mass=0' in str(c.get('accept')):
            rule['may_vanish'] = True
        mass_rule = dict(tolerance=1e-5)
        if signed:
            cond = self.compute(c, a, normalize)['cond']
        condition = np.maximum(cond, 1) if signed else np.ones(a['exp_mass'].shape)
        if c['kernel']['name'] in ('yat', 'poly') and expected['mass'].size:
            condition = np.maximum(condition, self.power_condition(c, inputs, expected['mass']))
        if condition.max(initial=1) > 1:
            mass_rule['condition'] = self.pack.array(condition, np.float64)
        if 'compare numerator' in str(c.get('accept')):
            # o where the denominator leaves it determined, the numerator everywhere.
            numerator = expected['o'] * expected['mass'][..., None]
            good = cond * c['f32_err'] < 1e-5
            expected['o'] = np.where(good[..., None], expected['o'], np.nan)
            rule['tolerance'] = 8 * c['f32_err'] * float(cond[good].max())
            other = name + '_none'
            self.pack.spec(other, spec_text(other, 'qkv', params, ['kappa = ' + kappa], mask, results, True))
            self.pack.case(c['id'] + '_numerator', other, dict(inputs, **args),
                           dict(o=(numerator, dict(tolerance=o_tolerance(c))), mass=(expected['mass'], mass_rule)))
        rules = dict(o=rule, mass=mass_rule, lse=dict(tolerance=1e-5))
        self.pack.case(c['id'], name, dict(inputs, **args), {n: (expected[n], rules[n]) for n in results})

    def linear(self, c, a):
        """The quadratic meaning of a linear case, causal and not."""
        kappa = dict(elu1=('phi(x) = elu(x) + 1', 'dot(phi(q), phi(k))', False), poly2=('', '(dot(q, k) + 1)^2', False),
                     taylor2=('s = dot(q, k) / sqrt(dim)', '((1 + s)^2 + 1) / 2', False))[c['feature']]
        for causal, key in ((True, 'exp_o'), (False, 'exp_o_noncausal')):
            name = f"linear_{c['feature']}" + ('_causal' if causal else '')
            self.pack.spec(name, spec_text(name, 'qkv', [], [kappa[0], 'kappa = ' + kappa[1]], 'causal' if causal else '', ['o']))
            self.pack.case(c['id'] + ('' if causal else '_full'), name, {n: a[n] for n in 'qkv'}, dict(o=(a[key], dict(tolerance=1e-5))))

    def retention(self, c, a):
        name = self.pack.spec('retention', spec_text('retention', 'qkv', ['g[head] > 0'], ['kappa = dot(q, k) * g^(i - j)'], 'causal', ['o'], True))
        self.pack.case(c['id'], name, dict(q=a['q'], k=a['k'], v=a['v'], g=a['gamma']), dict(o=(a['exp_o'], dict(tolerance=1e-5))))

    def random_features(self, c, a):
        """Random feature maps are row maps with the frequencies as a parameter."""
        f = c['feature']
        half = 'exp(x*W - dot(x, x)/2)'
        maps = dict(prf=f'{half} / sqrt(m)', prf_hyp=f'concat({half}, exp(-(x*W) - dot(x, x)/2)) / sqrt(2*m)',
                    rff='concat(cos(x*W), sin(x*W)) / sqrt(m)')
        if f not in maps:
            self.left_out.append((c['id'], 'its stabiliser is a maximum over features and positions'))
            return
        signed = f == 'rff'
        results = ['o', 'mass']
        name = self.pack.spec('features_' + f, spec_text('features_' + f, 'qkv', ['W[D, m]'], [f'phi(x) = {maps[f]}', 'kappa = dot(phi(q), phi(k))'], 'causal', results, False, signed))
        fq, fk = (a['exp_phi_' + n] for n in 'qk')
        kap = np.tril(fq @ np.swapaxes(fk, -1, -2))
        cond = np.abs(kap).sum(-1) / np.abs(kap.sum(-1))
        o = a['exp_o']
        if signed:                                       # rows whose denominator cancels are not determined
            o = np.where((cond < 30)[..., None], o, np.nan)
        self.pack.case(c['id'], name, dict(q=a['q'], k=a['k'], v=a['v'], W=a['omega'].T),
                       dict(o=(o, dict(tolerance=1e-5)), mass=(a['exp_mass'], dict(tolerance=1e-5, condition=self.pack.array(np.maximum(cond, 1), np.float64)))))

    def slay(self, c, a):
        s, w = self.oracle.slay_nodes(c['R'], c['eps'])
        poly = dict(exact='dot(q, k)^2', anchor='dot((q*A)^2, (k*A)^2) / P', none='1')[c['feature']]
        anchor = c['feature'] == 'anchor'
        body = ['q = unit(q); k = unit(k)']
        terms = []
        for r in range(c['R']):
            body.append(f'f{r}(x) = exp({math.sqrt(2 * s[r]):.9g}*(x*W{r}) - {s[r]:.9g})')
            terms.append(f'{w[r]:.9g}*dot(f{r}(q), f{r}(k))')
        body.append(f"kappa = {poly} * ({' + '.join(terms)}) / m")
        name = 'slay_' + c['feature']
        params = ['W0[D, m]', 'W1[D, m]'] + (['A[D, P]'] if anchor else [])
        self.pack.spec(name, spec_text(name, 'qkv', params, body, 'causal', ['o']))
        args = dict(q=a['q'], k=a['k'], v=a['v'], W0=a['omega'][0].T, W1=a['omega'][1].T)
        if anchor:
            args['A'] = a['anchors'].T
        self.pack.case(c['id'], name, args, dict(o=(a['exp_o'], dict(tolerance=1e-5))))

    def varlen(self, c, a):
        """Packed sequences twice: as documents of one sequence, and padded."""
        n, h = a['q'].shape[:2]
        cu = a['cu']
        body, kappa, params, args, tag, _ = kernel_text(c['kernel']['name'], c['kernel']['params'], a['q'].shape[-1], h)
        rule = dict(o=dict(tolerance=1e-5), mass=dict(tolerance=1e-5), lse=dict(tolerance=1e-5))
        ids = np.repeat(np.arange(len(cu) - 1), np.diff(cu))
        swap = lambda x: np.swapaxes(x, 0, 1)[None]
        name = tag + '_documents'
        self.pack.spec(name, spec_text(name, 'qkv', params + ['ids[nk]: int'], body.split('; ') + ['kappa = ' + kappa], 'causal and document(ids)', list(rule)))
        self.pack.case(c['id'] + '_documents', name, dict({x: swap(a[x]) for x in 'qkv'}, ids=ids, **args),
                       {x: (swap(a['exp_' + x]), rule[x]) for x in rule})
        longest, fill = int(np.diff(cu).max()), dict(o=0, mass=0, lse=-np.inf)

        def padded(x, value):
            out = np.full((len(cu) - 1, h, longest) + x.shape[2:], value, x.dtype)
            for s in range(len(cu) - 1):
                out[s, :, :cu[s + 1] - cu[s]] = np.swapaxes(x[cu[s]:cu[s + 1]], 0, 1)
            return out
        name = tag + '_causal'
        self.pack.spec(name, spec_text(name, 'qkv', params, body.split('; ') + ['kappa = ' + kappa], 'causal', list(rule)))
        lengths = np.diff(cu)
        self.pack.case(c['id'] + '_padded', name, dict({x: padded(a[x], np.nan) for x in 'qkv'}, key_lengths=lengths, query_lengths=lengths, **args),
                       {x: (padded(a['exp_' + x], fill[x]), rule[x]) for x in rule})

    def yat_mlp(self, c, a):
        self.pack.spec('yat_mlp', spec_text('yat_mlp', ['x', 'W', 'alpha'], ['b', 'eps > 0'], ['q = x', 'k = W', 'v = alpha', 'kappa = (dot(q, k) + b)^2 / (sqdist(q, k) + eps)'], '', ['o'], True))
        self.pack.case(c['id'], 'yat_mlp', dict(x=a['x'], W=a['W'], alpha=a['alpha'], b=c['b'], eps=c['eps']), dict(o=(a['exp_y'][None, None], dict(tolerance=1e-5))))

    def run(self):
        for c in self.cases:
            a = dict(np.load(os.path.join(self.folder, 'cases', c['id'] + '.npz')))
            family = c.get('family')
            if family in ('gla', 'delta'):
                self.left_out.append((c['id'], 'a recurrence whose state is not a sum of kappa v' if family == 'delta' else 'a decay per channel and token is not a kernel of two rows'))
            elif family:
                getattr(self, family)(c, a)
            else:
                self.quadratic(c, a)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    pack = Pack()
    importer = Importer(sys.argv[1], pack)
    importer.run()
    imported = len(pack.cases)
    extra_cases.add(pack)
    feature_cases.add(importer)
    pack.write(sys.argv[2])
    for ident, why in importer.left_out:
        print(f'left out: {ident}: {why}')
    for ident, rows, of in importer.loose:
        print(f'mass judged by its condition: {ident}: {rows} of {of} rows')
    print(f'{len(importer.cases)} oracle cases -> {imported} golden cases, {len(pack.cases) - imported} of our own, '
          f'{len(pack.specs)} specs, {len(pack.data)} bytes of arrays')


if __name__ == '__main__':
    main()
