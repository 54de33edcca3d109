"""The same functions in PyTorch, where it is installed."""


def linear(q, k, v, causal, chunk=128):
    """elu(x) + 1, in time linear in N: between chunks by states, inside by pairs."""
    import torch
    import torch.nn.functional as F
    q, k = F.elu(q) + 1, F.elu(k) + 1
    if not causal:
        return q @ (k.transpose(-1, -2) @ v) / (q @ k.sum(-2).unsqueeze(-1))
    shape = (*q.shape[:-2], -1, min(chunk, q.shape[-2]), q.shape[-1])
    q, k, v = (x.reshape(shape) for x in (q, k, v))
    states, sums = (k.transpose(-1, -2) @ v).float(), k.float().sum(-2)
    before = (states.cumsum(-3) - states).to(q.dtype), (sums.cumsum(-2) - sums).to(q.dtype)
    inside = torch.tril(q @ k.transpose(-1, -2))
    mass = inside.sum(-1, keepdim=True) + q @ before[1].unsqueeze(-1)
    return ((inside @ v + q @ before[0]) / mass).reshape(*shape[:-3], -1, shape[-1])


def yat(q, k, v, causal):
    import torch
    s = q @ k.transpose(-1, -2)
    p = (s + 0.5) ** 2 / ((q * q).sum(-1, keepdim=True) + (k * k).sum(-1).unsqueeze(-2) - 2 * s + 0.5)
    if causal:
        p = torch.tril(p)
    return p @ v / p.sum(-1, keepdim=True)


def step(q, k, v, states, sums):
    """A token of elu(x) + 1 for each of the states, of f32; they change."""
    import torch
    import torch.nn.functional as F
    q, k = ((F.elu(x) + 1).float().flatten(0, 1) for x in (q, k))
    states.baddbmm_(k.transpose(-1, -2), v.float().flatten(0, 1))
    sums.add_(k)
    return (q @ states / (q * sums).sum(-1, keepdim=True)).to(v.dtype)


def decode(q, k, v):
    """What runs attention with heads that share keys, as well as this PyTorch can."""
    import torch.nn.functional as F
    try:
        F.scaled_dot_product_attention(q, k, v, enable_gqa=True)
        return lambda: F.scaled_dot_product_attention(q, k, v, enable_gqa=True)
    except TypeError:  # before 2.5
        k, v = (x.repeat_interleave(q.shape[1] // k.shape[1], 1) for x in (k, v))
        return lambda: F.scaled_dot_product_attention(q, k, v)


def seconds(name, d, shape):
    """The least time of a run; raises where PyTorch or its memory does not do."""
    import torch
    import torch.nn.functional as F
    q, k, v = (torch.randn(shape["B"], shape["H" + x], shape["N" + x], d, device="cuda", dtype=torch.bfloat16)
               for x in "qkk")
    causal, times = name.endswith("causal"), 1
    if name == "linear step":  # other states each time, as in gpu-check
        heads, times = shape["B"] * shape["Hk"], 32
        all_states = [(torch.zeros(heads, d, d, device="cuda"), torch.zeros(heads, 1, d, device="cuda"))
                      for _ in range(8)]
    run = {"softmax": lambda: F.scaled_dot_product_attention(q, k, v, is_causal=causal),
           "softmax decode": decode(q, k, v) if name == "softmax decode" else None,
           "yat": lambda: yat(q, k, v, causal),
           "linear": lambda: linear(q, k, v, causal),
           "linear step": lambda: [step(q, k, v, *all_states[n % 8]) for n in range(times)],
           }[name.replace(" causal", "")]
    best = float("inf")
    for n in range(12):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        run()
        end.record()
        end.synchronize()
        if n >= 2:
            best = min(best, begin.elapsed_time(end) / 1e3 / times)
    return best
