"""Computes the figures of `facematch eval` with NumPy, from their definitions.

The rates follow ISO/IEC 19795-1, and the intervals docs/research/error-rates.md.
"""

import json
import sys

import numpy as np

Z = 1.959963984540054
data = json.load(sys.stdin)
scores, same, people = (np.array(data[name]) for name in ("scores", "same", "people"))
mated, non_mated = scores[same], scores[~same]
not_acquired = data["not_acquired"]


def wilson(hits, trials):
    share = hits / trials
    middle = (share + Z**2 / trials / 2) / (1 + Z**2 / trials)
    half = Z / (1 + Z**2 / trials) * np.sqrt(share * (1 - share) / trials + Z**2 / trials**2 / 4)
    return (0 if hits == 0 else middle - half), (1 if hits == trials else middle + half)


def blend(observed, seen, unseen, weight):
    return max(1, (seen * max(1, observed) + weight * unseen) / (seen + weight))


def mated_interval(errors):
    """95 % interval of the FNMR, with the design effect of errors that cluster by person."""
    own = people[same][:, 0]
    count = people.max() + 1
    trials = np.bincount(own, minlength=count)
    hits = np.bincount(own[errors], minlength=count)
    n, rate, tested = trials.sum(), errors.mean(), (trials > 0).sum()
    independent = n * rate * (1 - rate)
    squares = ((hits - rate * trials) ** 2).sum()
    observed = tested / (tested - 1) * squares / independent if independent > 0 else 1
    seen = min((hits > 0).sum(), (trials > hits).sum())
    effect = blend(observed, seen, n * ((trials / n) ** 2).sum(), 2)
    return wilson(hits.sum() / effect, n / effect)


def non_mated_interval(matches):
    """95 % interval of the FMR, with the variance of the delete-one jackknife over people."""
    pairs = people[~same]
    count = people.max() + 1
    trials = np.bincount(pairs.ravel(), minlength=count)
    hits = np.bincount(pairs[matches].ravel(), minlength=count)
    n, rate = len(pairs), matches.mean()
    independent = n * rate * (1 - rate)
    squares = ((hits - rate * trials) ** 2).sum()
    keys = lambda some: len(np.unique(np.sort(some, axis=1), axis=0))
    unseen = n / keys(pairs) * (1 + Z**2 * 10 * ((trials / n) ** 2).sum())
    effect = blend(squares / independent if independent > 0 else 1, keys(pairs[matches]), unseen, 4)
    return wilson(matches.sum() / effect, n / effect)


result = {}


def add(name, threshold):
    matches, errors = non_mated >= threshold, mated < threshold
    low, high = non_mated_interval(matches)
    fnmr_low, fnmr_high = mated_interval(errors)
    figures = {
        "fmr": matches.mean(),
        "fmr_low": low,
        "fmr_high": high,
        "fnmr": errors.mean(),
        "fnmr_low": fnmr_low,
        "fnmr_high": fnmr_high,
        "far": matches.sum() / (len(non_mated) + not_acquired["non_mated"]),
        "frr": (errors.sum() + not_acquired["mated"]) / (len(mated) + not_acquired["mated"]),
    }
    for key, value in figures.items():
        result[f"{name}: {key}"] = float(value)


every = np.sort(scores)
fmr = np.array([(non_mated >= t).mean() for t in every])
fnmr = np.array([(mated < t).mean() for t in every])
closest = np.argmin(abs(fmr - fnmr))
result["equal error rate"] = float((fmr[closest] + fnmr[closest]) / 2)
result["accuracy"] = float(max(((mated >= t).sum() + (non_mated < t).sum()) / len(scores) for t in every))
for threshold in data["thresholds"]:
    add(f"threshold {threshold}", threshold)
for rate in data["fmrs"]:
    # The rate allows n non-mated pairs to match. The threshold is the lowest mated score above the (n + 1)th highest
    # non-mated score.
    barrier = np.sort(non_mated)[::-1][int(np.floor(rate * len(non_mated) + 1e-9))]
    add(f"FMR {rate:g}", mated[mated > barrier].min())
print(json.dumps(result))
