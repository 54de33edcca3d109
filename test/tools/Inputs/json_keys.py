"""Prints the keys and values of JSON objects, one object a line of input."""
import json
import sys

for line in sys.stdin:
    for key, value in json.loads(line).items():
        print(key, "=", value)
