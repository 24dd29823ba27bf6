"""Makes the small files that the example jobs read: `python make_data.py [DIRECTORY]`."""

from __future__ import annotations

import sys
from pathlib import Path

ORDERS = "id,customer,region,quantity,price\n"
REGIONS = ("EU", "US", "CN")


def make(root: Path) -> None:
    """Write orders of three days (the second file has a bad line) and a list of customers."""
    landing = root / "data" / "landing"
    landing.mkdir(parents=True, exist_ok=True)
    for day in (1, 2, 3):
        lines = [
            f"{day * 100 + number},c{number % 4},{REGIONS[number % 3]},{number},{number}.50\n" for number in range(1, 9)
        ]
        if day == 2:
            lines.insert(4, "oops,c1,EU,many,1.00\n")
        (landing / f"orders_{day}.csv").write_text(ORDERS + "".join(lines), encoding="utf-8")
    customers = "".join(f"c{number},  customer {number} \n" for number in range(3))
    (root / "data" / "customers.csv").write_text("customer,name\n" + customers, encoding="utf-8")


if __name__ == "__main__":
    make(Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent))
