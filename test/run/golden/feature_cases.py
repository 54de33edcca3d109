"""Golden cases of `features = taylor(...)` and `maclaurin(...)`, from the oracle's formulas.

The exact kernel is what the spec says, and the answers are those of the series. They come last, so that
the arrays of the other cases stay where they are.
"""
import math
import os

import numpy as np


def taylor(importer, c):
    """The oracle's taylor_exp cases, asked for as features of the exponential."""
    p, a = c['kernel']['params'], dict(np.load(os.path.join(importer.folder, 'cases', c['id'] + '.npz')))
    order, d = p['M'], a['q'].shape[-1]
    if order == 0 or c['options'].get('alibi') or 'key_padding' in a or c['options'].get('window'):
        return
    scaled = p['scale'] != 1
    assert not scaled or abs(p['scale'] - d ** -0.5) < 1e-15
    odd, none = order % 2 == 1, c.get('normalize') == 'none'
    words = [w for w, key in (('causal', 'causal'), ('strict_causal', 'strict')) if c['options'].get(key)]
    name = f'asked_taylor{order}' + ('_scaled' if scaled else '') + ''.join('_' + w for w in words) + ('_none' if none else '')
    results = ['o', 'mass'] if odd else ['o', 'mass', 'lse']
    text = [f'attention {name}(q, k, v) {{', f"  kappa = exp(dot(q, k){' / sqrt(dim)' if scaled else ''})",
            f'  features = taylor(order = {order})']
    text += [f"  mask = {' and '.join(words)}"] if words else []
    text += ['  normalize = none'] if none else ['  allow signed'] if odd else []
    importer.pack.spec(name, '\n'.join(text + [f"  return {', '.join(results)}", '}']))
    known = next(k for k in importer.pack.cases if k['id'] == c['id'])
    # The same answers to the same precision.
    importer.pack.cases.append(dict(id=c['id'] + '_asked', spec=name, arguments=known['arguments'],
                                    expected={n: known['expected'].get(n) for n in results if n in known['expected']}))
    if any(n not in known['expected'] for n in results):
        missing = [n for n in results if n not in known['expected']]
        for n in missing:
            importer.pack.cases[-1]['expected'][n] = dict(importer.pack.array(a['exp_' + n], np.float64), tolerance=1e-5)


def gaussian(importer, c):
    """exp(-|q - k|^2/2) with the cross term alone in the series."""
    a = dict(np.load(os.path.join(importer.folder, 'cases', c['id'] + '.npz')))
    q, k, v = (a[n].astype(np.float64)[0] for n in 'qkv')
    s = q @ np.swapaxes(k, -1, -2)
    kappa = sum(s ** n / math.factorial(n) for n in range(3))
    kappa = np.tril(kappa * np.exp(-(q * q).sum(-1)[..., :, None] / 2 - (k * k).sum(-1)[..., None, :] / 2))
    mass = kappa.sum(-1)
    name = importer.pack.spec('asked_taylor2_gaussian', 'attention asked_taylor2_gaussian(q, k, v) {\n'
                              '  kappa = exp(-sqdist(q, k) / 2)\n  features = taylor(order = 2)\n  mask = causal\n'
                              '  return o, mass, lse\n}')
    importer.pack.case(c['id'] + '_asked_gaussian', name, {n: a[n] for n in 'qkv'},
                       dict(o=((kappa @ v / mass[..., None])[None], dict(tolerance=1e-5)),
                            mass=(mass[None], dict(tolerance=1e-5)), lse=(np.log(mass)[None], dict(tolerance=1e-5))))


def maclaurin(importer, c):
    """The spherical Yat by yat_sphere_maclaurin."""
    a = dict(np.load(os.path.join(importer.folder, 'cases', c['id'] + '.npz')))
    u, w = (importer.oracle.normalize_rows(a[n].astype(np.float64)[0]) for n in 'qk')
    s = u @ np.swapaxes(w, -1, -2)
    for order, b, eps in ((2, 0.0, 1.0), (4, 0.25, 0.5)):
        coefficients = importer.oracle.yat_sphere_maclaurin(b, eps, order)
        kappa = np.tril(sum(x * s ** n for n, x in enumerate(coefficients)))
        mass = kappa.sum(-1)
        name = importer.pack.spec(f'asked_maclaurin{order}', f'attention asked_maclaurin{order}(q, k, v; b >= 0, eps > 0) {{\n'
                                  '  q = unit(q); k = unit(k)\n  kappa = (dot(q, k) + b)^2 / (sqdist(q, k) + eps)\n'
                                  f'  features = maclaurin(order = {order})\n  mask = causal\n  return o, mass\n}}')
        o = kappa @ a['v'].astype(np.float64)[0] / mass[..., None]
        # Where every dot is near 0 the mass cancels nothing but is small against its terms.
        importer.pack.case(f"{c['id']}_asked_maclaurin{order}", name, dict({n: a[n] for n in 'qkv'}, b=b, eps=eps),
                           dict(o=(o[None], dict(tolerance=1e-5)), mass=(mass[None], dict(tolerance=1e-5))))


def add(importer):
    for c in importer.cases:
        if c.get('kernel', {}).get('name') == 'taylor_exp' and not c.get('family'):
            taylor(importer, c)
        if c['id'] in ('f_prf_8', 'f_prf_16'):
            gaussian(importer, c)
        if c.get('family') == 'slay' and c['feature'] == 'exact':
            maclaurin(importer, c)
