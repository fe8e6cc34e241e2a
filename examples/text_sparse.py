"""
Classify texts
==============

Sort short texts by topic when readers only say which topic a text is not about.

You learn that sparse features and pipelines work as in scikit-learn, that classes can be strings,
and how to interpret the model: words that make "not sport" unlikely are the words of sport.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from ybar import CPEClassifier, labels, transition

TOPICS = {
    "food": "soup bread oven salt spoon butter recipe onion taste kitchen",
    "law": "judge court appeal verdict lawyer clause trial witness statute fine",
    "music": "guitar chorus melody drum violin tempo singer album concert chord",
    "science": "gene atom telescope theory enzyme sample laboratory orbit cell proof",
    "sport": "match goal team coach league sprint referee medal stadium score",
}
COMMON = "the a of and in was with after before new old said many first last year people"

rng = np.random.default_rng(0)
classes = np.array(list(TOPICS))
y = rng.choice(classes, size=3000)
texts = []
for topic in y:  # 4 of 13 words belong to the topic, one to a random topic
    words = [*rng.choice(COMMON.split(), 8), *rng.choice(TOPICS[topic].split(), 4)]
    texts.append(" ".join([*words, rng.choice(TOPICS[rng.choice(classes)].split())]))
y_comp = labels.draw(y, transition.uniform(5), random_state=1, classes=classes)

base = LogisticRegression(max_iter=1000)
clf = make_pipeline(TfidfVectorizer(ngram_range=(1, 2)), CPEClassifier(base))
clf.fit(texts[:2000], y_comp[:2000])
X = clf[0].transform(texts)
nonzero = X.nnz / np.prod(X.shape)
accuracy = (clf.predict(texts[2000:]) == y[2000:]).mean()
print(f"{X.shape[0]} texts, {X.shape[1]} words and pairs, {nonzero:.1%} of X is not zero")
print(f"{texts[2000]!r}: not {y_comp[2000]}, so {clf.predict(texts[2000:2001])[0]}")
print(f"accuracy {accuracy:.3f}")

words, against = clf[0].get_feature_names_out(), -clf[1].estimator_.coef_
# %%
# The words that are the strongest evidence for each topic:

figure = plt.figure(figsize=(10, 2.8), layout="constrained")
for ax, topic, weights in zip(figure.subplots(1, 5), clf.classes_, against, strict=True):
    top = np.argsort(weights)[-6:]
    ax.barh(words[top], weights[top], color="#0072B2")
    ax.set_title(f"against “not {topic}”", fontsize=10)
    ax.tick_params(labelsize=9)
figure.supxlabel("weight of the word (logistic regression)", fontsize=10)
plt.show()
