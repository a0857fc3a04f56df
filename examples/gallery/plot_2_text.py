"""
Text: which words decide?
=========================

Classify pieces of English, see which words decide, and how certain the choice of C is. The texts are the docstrings of
Python's own library, so that nothing has to be downloaded: does a docstring come from a module about files and
processes, or from one about numbers?
"""

# %%
# A docstring is a text, its module's topic the label.
import importlib
import inspect

import matplotlib.pyplot as plt
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import train_test_split

from maxmargin import LinearSVC, TopFeaturesDisplay

TOPICS = {
    "system": ["os", "shutil", "subprocess", "pathlib", "socket", "tarfile", "zipfile", "threading", "tempfile"],
    "numbers": ["math", "cmath", "decimal", "fractions", "statistics", "random", "numbers", "numpy", "numpy.linalg"],
}
texts, topics = [], []
for topic, modules in TOPICS.items():
    seen = set()
    for module in modules:
        for name, thing in inspect.getmembers(importlib.import_module(module)):
            text = inspect.getdoc(thing) if callable(thing) and not name.startswith("_") else None
            if text and text not in seen:
                seen.add(text)
                texts.append(text)
                topics.append(topic)
print(len(texts), "texts, for example:", texts[0].splitlines()[0])

# %%
# Rows of text are sparse and of norm 1. Nothing is converted or copied: the CSR matrix is used where it lies.
train, test, y_train, y_test = train_test_split(texts, topics, test_size=0.3, random_state=0)
words = TfidfVectorizer(sublinear_tf=True)
X_train = words.fit_transform(train)
model = LinearSVC("hinge", C=1.0).fit(X_train, y_train)
print(f"{X_train.shape[0]} x {X_train.shape[1]}, {X_train.nnz} nonzeros")
print(f"test accuracy {model.score(words.transform(test), y_test):.3f}, certified gap {model.duality_gap_:.1e}")

# %%
# The words of largest weight on either side.
TopFeaturesDisplay.from_estimator(model, feature_names=words.get_feature_names_out(), n_features=12)
plt.show()
