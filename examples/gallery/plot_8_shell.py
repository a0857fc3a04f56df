"""
On the command line
===================

The same models without a line of Python: data in LIBLINEAR's format, a table or numpy's files in, a model file out. (A
page of the site is a script, so that the lines are run from one here; in a shell they are typed as they are printed.)
"""

# %%
import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from maxmargin import save_svmlight

folder = Path(tempfile.mkdtemp())
X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X / 16, y, test_size=0.3, random_state=0)
save_svmlight(X_train, y_train, folder / "train.svm")
save_svmlight(X_test, y_test, folder / "test.svm")


def maxmargin(line: str) -> None:
    """Run the command and print what it says."""
    print(f"$ maxmargin {line}")
    code = "from maxmargin.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code, *line.split()], cwd=folder, capture_output=True, text=True)
    print(done.stdout)
    assert done.returncode == 0, done.stderr


# %%
# Train, and see what has been proved.
maxmargin("train train.svm digits.mm --loss hinge -C 0.1")

# %%
# How good is it on other rows?
maxmargin("predict test.svm digits.mm")

# %%
# Which C is best? ``--plot`` draws a picture of what was found; so do ``train``, ``predict``, ``path`` and ``info``.
maxmargin("cv train.svm --folds 3 -C 0.001,0.01,0.1,1,10 --plot scores.png")
figure, axis = plt.subplots(figsize=(7, 5))
axis.imshow(plt.imread(folder / "scores.png"))
axis.axis("off")
plt.show()

# %%
# A model file for LIBLINEAR.
maxmargin("convert digits.mm digits.model")
