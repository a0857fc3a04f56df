"""
Ranking: search results in order
================================

Learn an order from judged search results: only results of one query are compared, and no pair is ever written down.
"""

# %%
# Results of 60 queries with six features each, judged from 0 (useless) to 3 (perfect). Two features matter, and each
# query has a level of its own, which a regression would have to explain and a ranking need not.
import matplotlib.pyplot as plt
import numpy as np

from maxmargin import LinearRankSVM, LinearSVR, ndcg

rng = np.random.default_rng(0)
query = np.repeat(np.arange(60), 15)
X = rng.normal(size=(len(query), 6))
level = 2.0 * rng.normal(size=60)[query]
grade = np.digitize(X @ [1.5, 1.0, 0, 0, 0, 0] + level + rng.normal(size=len(query)), [-1.5, 0.5, 2.5])
train, test = query < 40, query >= 40

# %%
ranker = LinearRankSVM(C=100.0).fit(X[train], grade[train], qid=query[train])
print(f"{ranker.n_pairs_:.0f} pairs, certified gap {ranker.duality_gap_:.1e}")
print(f"pairs in order on new queries: {ranker.score(X[test], grade[test], qid=query[test]):.3f}")
print(f"NDCG@5 on new queries: {ndcg(grade[test], ranker.predict(X[test]), query[test], k=5):.3f}")

# %%
# A regression on the grades learns the same weights, but less exactly.
regression = LinearSVR(C=1.0).fit(X[train], grade[train])
names = [f"feature {k}" for k in range(6)]
figure, axis = plt.subplots(figsize=(7, 3.5))
for shift, (label, weights) in enumerate({"ranking": ranker.coef_, "regression": regression.coef_}.items()):
    axis.bar(np.arange(6) + 0.4 * shift, np.ravel(weights) / np.abs(weights).max(), width=0.4, label=label)
axis.set_xticks(np.arange(6) + 0.2, names)
axis.set_ylabel("weight, relative to the largest")
axis.legend()
plt.show()
