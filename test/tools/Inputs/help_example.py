"""Prints the command that follows "Example:" in a help text."""
import sys

text = sys.stdin.read()
command = text[text.index("Example:") + len("Example:"):]
print("\n".join(line.strip() for line in command.strip().splitlines()))
