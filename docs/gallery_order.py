"""The order of the gallery, in a module of its own because Sphinx caches only importable values."""

ORDER = (
    "digits_in_ten_lines",
    "text_sparse",
    "several_labels",
    "estimate_transition",
    "noisy_labels",
    "choose_without_truth",
    "how_many_labels",
    "plan_a_collection",
    "why_this_class",
    "streaming",
    "cnn",
    "own_method",
)


class ReadingOrder:
    """A sort key of sphinx-gallery."""

    def __init__(self, folder: str) -> None:
        pass

    def __call__(self, file_name: str) -> int:
        """Return the position of an example."""
        return ORDER.index(file_name.removesuffix(".py"))
