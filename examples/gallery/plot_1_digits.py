"""
Digits: a first model
=====================

Train a classifier of handwritten digits, read its certificate, and see which digits it takes for which.
"""

# %%
# The data ship with scikit-learn: 1,797 pictures of 8 x 8 pixels. Pixels from 0 to 16 are divided by 16.
import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from maxmargin import ConfusionDisplay, HistoryDisplay, LinearSVC

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X / 16, y, test_size=0.3, random_state=0)

# %%
# One fit over all classes at once. ``tol`` is not a hint: the fit ends when it has *proved* that no weights have an
# objective lower by more than one part in ten thousand.
model = LinearSVC(multi_class="crammer_singer", C=0.1, tol=1e-4).fit(X_train, y_train)
print(f"test accuracy   {model.score(X_test, y_test):.3f}")
print(f"the optimum is between {model.dual_objective_:.4f} and {model.primal_objective_:.4f}")
print(f"chosen method   {model.solver_used_}")

# %%
# How the two bounds came together, and what the model confuses.
figure, axes = plt.subplots(1, 2, figsize=(11, 4.5))
HistoryDisplay.from_estimator(model, ax=axes[0])
ConfusionDisplay.from_estimator(model, X_test, y_test, ax=axes[1])
figure.tight_layout()
plt.show()

# %%
# The weights of a class are a picture too: bright pixels speak for the digit, dark ones against it.
figure, axes = plt.subplots(2, 5, figsize=(9, 4))
for axis, weights, digit in zip(axes.ravel(), model.coef_, model.classes_, strict=True):
    axis.imshow(weights.reshape(8, 8), cmap="RdBu_r", vmin=-0.6, vmax=0.6)
    axis.set_title(digit)
    axis.axis("off")
plt.show()
