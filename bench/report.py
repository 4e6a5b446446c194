"""The table that the benchmarks end with."""


class Table:
    def __init__(self):
        self.rows = []

    def row(self, what, measured, target="", met=None):
        self.rows.append((what, measured, target, {None: "", True: "yes", False: "NO"}[met]))

    def print(self):
        rows = [("what", "measured", "target", "met"), *self.rows]
        widths = [max(len(row[column]) for row in rows) for column in range(4)]
        for number, row in enumerate(rows):
            print(" | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
            if number == 0:
                print("-|-".join("-" * width for width in widths))
