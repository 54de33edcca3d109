"""The three files of the golden cases, shared by the scripts that make them.

specs.attn   every spec, by name
cases.json   arguments, expected arrays and pass rules of each case
arrays.bin   the arrays, little-endian, each once however many cases use it
"""
import hashlib
import json
import os

import numpy as np


class Pack:
    def __init__(self):
        self.specs, self.cases, self.data, self.known = {}, [], bytearray(), {}

    def array(self, x, dtype=None):
        """Stores an array; what stands in the manifest for it."""
        x = np.ascontiguousarray(x if dtype is None else np.asarray(x, dtype))
        name = {'float32': 'f32', 'float64': 'f64', 'int32': 'i32', 'int64': 'i64'}[str(x.dtype)]
        raw = x.tobytes()
        key = hashlib.sha256(raw).digest() + name.encode()
        if key not in self.known:
            self.data += b'\0' * (-len(self.data) % 8)
            self.known[key] = len(self.data)
            self.data += raw
        return dict(type=name, shape=list(x.shape), offset=self.known[key])

    def spec(self, name, text):
        """Stores a spec under its name; one name is one text."""
        assert f'attention {name}(' in text, (name, text)
        assert self.specs.setdefault(name, text) == text, f'two specs are called {name}'
        return name

    def case(self, ident, spec, arguments, expected):
        """Arguments are arrays or numbers; expected is name -> (array, rule)."""
        assert all(c['id'] != ident for c in self.cases), ident
        args = {}
        for name, x in arguments.items():
            if isinstance(x, (int, float)):
                args[name] = x
            else:
                x = np.asarray(x)
                args[name] = self.array(x, np.int64 if x.dtype.kind == 'i' else np.float32)
        out = {}
        for name, (x, rule) in expected.items():
            out[name] = dict(self.array(x, np.int32 if name == 'argmax' else np.float64), **rule)
        self.cases.append(dict(id=ident, spec=spec, arguments=args, expected=out))

    def write(self, folder):
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, 'specs.attn'), 'w') as f:
            f.write('# The specs of the golden cases, made by import_cases.py.\n')
            for name in sorted(self.specs):
                f.write('\n' + self.specs[name].strip() + '\n')
        with open(os.path.join(folder, 'cases.json'), 'w') as f:
            f.write('[\n' + ',\n'.join(json.dumps(c) for c in self.cases) + '\n]\n')
        with open(os.path.join(folder, 'arrays.bin'), 'wb') as f:
            f.write(self.data)
