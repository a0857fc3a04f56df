"""
Choosing C, and probabilities
=============================

``C`` is the only number that has to be chosen. See what it does along a path, choose it by cross-validation, and get
probabilities from the same folds.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.calibration import CalibrationDisplay
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
# Cross-validation over one shared matrix; ``rule="one_standard_error"`` would take the smallest C that is as good.
model = LinearSVCCV(Cs=np.logspace(-4, 2, 13), calibrate="sigmoid").fit(X_train, y_train)
print(f"C = {model.C_:.3g}, test accuracy {model.score(X_test, y_test):.3f}")
ScoreDisplay.from_estimator(model)
plt.show()

# %%
# The scores of left-out rows have already been computed: a sigmoid through them gives probabilities, without another
# fit. Of the rows to which the model gives 80 %, about 80 % should be right.
CalibrationDisplay.from_predictions(y_test, model.predict_proba(X_test)[:, 1], n_bins=5, strategy="quantile")
plt.show()
