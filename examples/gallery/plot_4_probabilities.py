"""
Probabilities
=============

A support vector machine gives scores, not probabilities. Learn the step from one to the other on rows that were left
out, see whether the result can be trusted, and let it decide which cases a human should look at.
"""

# %%
# Two classes with a known truth: the label is drawn with a probability that depends on the row, so that a good answer
# is 70 % in some places, and no model can do better.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.calibration import calibration_curve
from sklearn.datasets import load_digits
from sklearn.metrics import brier_score_loss
from sklearn.model_selection import train_test_split

from maxmargin import LinearSVC, LinearSVCCV

rng = np.random.default_rng(0)
X = rng.normal(size=(6000, 10))
truth = 1 / (1 + np.exp(1.5 - X @ rng.normal(size=10)))
y = rng.random(len(truth)) < truth
train, test = np.arange(len(y)) < 3000, np.arange(len(y)) >= 3000

# %%
# ``calibrated`` is ``fit`` with probabilities: it trains on all rows, leaves out each fold once, and lays a sigmoid or
# a rising step function through the scores of rows that were left out. Folds start from the fit of all rows, so they
# take little time. To compare with, the usual mistake: a sigmoid of the score itself. The Brier score is the mean
# squared error of probabilities: smaller is better, and not even the truth has zero.
model = LinearSVC()
told = {"sigmoid of the score": 1 / (1 + np.exp(-model.fit(X[train], y[train]).decision_function(X[test])))}
for method in ("sigmoid", "isotonic"):
    told[f'calibrated, "{method}"'] = model.calibrated(X[train], y[train], method=method).predict_proba(X[test])[:, 1]
told["the truth"] = truth[test]
for name, probability in told.items():
    print(f"{name:24} Brier score {brier_score_loss(y[test], probability):.4f}")

# %%
# On the left what can be seen in practice: of the rows that get about 80 %, how many are positive? On the right what
# only a made-up example can show: the probability of each row beside the true one. The score is not on any scale
# of probabilities; calibrated it is nearly the truth.
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.8))
for (name, probability), color in zip(list(told.items())[:3], ("C7", "C0", "C1"), strict=True):
    share, mean = calibration_curve(y[test], probability, n_bins=8, strategy="quantile")
    left.plot(mean, share, "o-", color=color, label=name)
    right.plot(truth[test], probability, ".", color=color, markersize=2, alpha=0.5)
for axis in (left, right):
    axis.plot([0, 1], [0, 1], color="black", linestyle=":", linewidth=1)
    axis.set_aspect("equal")
left.set(xlabel="probability that the model gives", ylabel="share of positive rows")
right.set(xlabel="true probability", ylabel="probability that the model gives")
left.legend()
figure.tight_layout()
plt.show()

# %%
# With several classes ``LinearSVCCV`` chooses C and calibrates in one go: the scores of left-out rows are there anyway.
# ``"temperature"`` needs one number for all classes and keeps the order of their scores, so that predictions stay what
# they are.
X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X / 16, y, test_size=0.5, random_state=0)
digits = LinearSVCCV(Cs=np.logspace(-3, 1, 9), multi_class="crammer_singer", calibrate="temperature")
digits.fit(X_train, y_train)
probability = digits.predict_proba(X_test)
print(f"C = {digits.C_:.3g}, test accuracy {digits.score(X_test, y_test):.3f}")

# %%
# What probabilities are good for: leave the doubtful pictures to a human. Sorted by how sure the model is, the first
# ones are nearly all right, and the mistakes come last.
sure = probability.max(axis=1)
order = np.argsort(-sure)
right_so_far = np.cumsum(digits.predict(X_test)[order] == y_test[order]) / np.arange(1, len(order) + 1)
kept = np.arange(1, len(order) + 1) / len(order)
for limit in (0.5, 0.9):
    count = np.sum(sure >= limit)
    print(f"surer than {limit:.0%}: {count / len(sure):.0%} of the pictures, {right_so_far[count - 1]:.1%} right")

figure, (curve, least) = plt.subplots(1, 2, figsize=(11, 4), width_ratios=(3, 2))
curve.plot(kept, right_so_far, color="C0")
curve.set(xlabel="share of the pictures that the model decides", ylabel="share of these that are right")
least.imshow(np.hstack(X_test[order[-4:]].reshape(4, 8, 8)), cmap="gray_r")
for place, row in enumerate(order[-4:]):
    first, second = digits.classes_[np.argsort(-probability[row])[:2]]
    least.text(8 * place + 3.5, 9.5, f"{first} or {second}?\nis {y_test[row]}", ha="center", va="center")
least.set_title("the four least certain ones")
least.set_ylim(11, -0.5)
least.axis("off")
figure.tight_layout()
plt.show()

# %%
# Model files keep the probabilities, and the command knows them too: ``maxmargin cv --calibrate sigmoid`` and
# ``maxmargin predict --proba``.
