#!/usr/bin/env python3
"""Compare many pairs of photos and write the results as CSV.

    FACEMATCH_KEY=... python3 compare_pairs.py pairs.csv > results.csv

pairs.csv has the columns image1 and image2. Requires Python 3.9, and docs/clients/facematch.py next to this file or in
a folder of PYTHONPATH. The client retries if the server is busy. The exit code is 1 if a pair could not be compared.
"""

import csv
import os
import sys
from concurrent.futures import ThreadPoolExecutor

from facematch import FacematchClient, FacematchError

client = FacematchClient(os.environ.get("FACEMATCH_URL", "http://127.0.0.1:8080"), os.environ["FACEMATCH_KEY"])


def compare(pair):
    """Returns one row of the result: the pair, and either its score or the error."""
    try:
        result = client.match(pair["image1"], pair["image2"])
    except OSError as error:
        return {**pair, "error": error.strerror or str(error)}
    except FacematchError as error:
        return {**pair, "error": error.code}
    return {
        **pair,
        "match": result["match"],
        "confidence_percent": result["confidence_percent"],
        "warnings": " ".join(warning["code"] for warning in result["warnings"]),
    }


def main(path):
    with open(path, newline="", encoding="utf-8") as file:
        pairs = [{name: row[name] for name in ("image1", "image2")} for row in csv.DictReader(file)]
    columns = ["image1", "image2", "match", "confidence_percent", "warnings", "error"]
    writer = csv.DictWriter(sys.stdout, columns)
    writer.writeheader()
    failed = False
    # Sends two requests at a time, because the server has other clients too.
    with ThreadPoolExecutor(max_workers=2) as pool:
        for row in pool.map(compare, pairs):
            writer.writerow(row)
            failed = failed or "error" in row
    return 1 if failed else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: compare_pairs.py PAIRS.csv")
    sys.exit(main(sys.argv[1]))
