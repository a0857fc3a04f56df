"""
Choosing C
==========

``C`` is the only number that has to be chosen. See what it does along a path, choose it by cross-validation, and see
what the choice is worth.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from maxmargin import LinearSVCCV, PathDisplay, ScoreDisplay, svm_path

X, y = load_breast_cancer(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.4, random_state=0)
scaler = StandardScaler().fit(X_train)
X_train, X_test = scaler.transform(X_train), scaler.transform(X_test)

# %%
# A path: one model for each C, each started from the one before and certified.
path = svm_path(X_train, y_train, Cs=np.logspace(-4, 2, 25), loss="hinge")
PathDisplay.from_path(path)
plt.show()

# %%
# Cross-validation over one shared matrix, each C seeded by the one before.
model = LinearSVCCV(Cs=np.logspace(-4, 2, 13)).fit(X_train, y_train)
print(f"C = {model.C_:.3g}, test accuracy {model.score(X_test, y_test):.3f}")
ScoreDisplay.from_estimator(model)
plt.show()

# %%
# The curve is flat at the top: many values are as good as the best one, as far as the folds can tell.
# ``rule="one_standard_error"`` takes the smallest of them: the simplest model, and the quickest to train. That is a
# matter of taste: here the folds are small and their errors large, and the test rows prefer the best one.
simple = LinearSVCCV(Cs=np.logspace(-4, 2, 13), rule="one_standard_error").fit(X_train, y_train)
print(f"C = {simple.C_:.3g}, test accuracy {simple.score(X_test, y_test):.3f}")

# %%
# The folds have scores of rows that were left out, from which :doc:`probabilities <plot_4_probabilities>` can be made.
# How a choice of C is *proved* is in :doc:`Choosing C <../mathematics/choice>`.
