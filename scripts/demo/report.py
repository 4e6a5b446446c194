"""What the demo prints, and the checks behind it."""

import os
import sys

COLOUR = sys.stdout.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"


class Failed(Exception):
    """Something was not as the demo says."""


def paint(code, text):
    return f"\033[{code}m{text}\033[0m" if COLOUR and text else text


def bold(text):
    return paint("1", text)


def green(text):
    return paint("32", text)


def red(text):
    return paint("31", text)


def dim(text):
    return paint("2", text)


class Report:
    def __init__(self):
        self.steps = 0
        self.checks = 0
        self.missing = []

    def line(self, text=""):
        print(text, flush=True)

    def step(self, title):
        self.steps += 1
        self.line(f"\n{bold(f'{self.steps}  {title}')}")

    def did(self, text):
        """What the demo does to the world."""
        self.line(f"   > {text}")

    def quote(self, lines):
        """What a program printed, word for word."""
        for text in lines:
            self.line(f"     {dim(text)}")

    def served(self, caption, counts, networks):
        """A row for each backend, by network: how many requests it served."""
        self.line(f"   {caption}")
        most = max([*counts.values(), 1])
        for network, addresses in networks.items():
            for address in addresses:
                count = counts.get(address, 0)
                bar = "#" * -(-count * 30 // most)
                self.line(f"     {network:<5} {address:<10} {count:>5}  {green(bar)}".rstrip())

    def check(self, claim, holds, seen=""):
        """States a claim that has been tried; one that does not hold ends the demo."""
        if not holds:
            self.line(f"   {red('FAILED')}  {claim}")
            raise Failed(f"not so: {claim}" + (f" (seen: {seen})" if seen else ""))
        self.checks += 1
        self.line(f"   {green('ok')}  {claim}")

    def lacks(self, what):
        """Notes that a step could not be shown here; the demo goes on, and fails at its end."""
        self.missing.append(what)
        self.line(f"   {red('NOT SHOWN')}  {what}")
