"""auto_pad."""

from scan import changed, same_pads, scan


def upper_is_lower(X, attributes):
    """Takes SAME_UPPER for SAME_LOWER. Seen: root-project/root#21737."""
    return scan(X, attributes, same=lambda n, k, s, d, upper: same_pads(n, k, s, d, False))


def lower_is_upper(X, attributes):
    """Takes SAME_LOWER for SAME_UPPER. Plausible: frameworks that have the one only."""
    return scan(X, attributes, same=lambda n, k, s, d, upper: same_pads(n, k, s, d, True))


def same_with_the_kernel(X, attributes):
    """Pads by the kernel instead of the effective one. Seen: ONNX Runtime 1.23.2 and 1.31.1, in the output size."""

    def same(n, k, s, d, upper):
        begin, end, _ = same_pads(n, k, s, 1, upper)
        return begin, end, max(0, (n + begin + end - ((k - 1) * d + 1)) // s + 1)

    return scan(X, attributes, same=same)


def same_pads_with_the_kernel(X, attributes):
    """Pads by the kernel instead of the effective one, and keeps the output size. Plausible: half a repair."""
    return scan(X, attributes, same=lambda n, k, s, d, upper: same_pads(n, k, s, 1, upper))


def same_rounds_down(X, attributes):
    """Gives floor(n / s) windows. Seen: onnx ReferenceEvaluator with SAME_LOWER."""

    def same(n, k, s, d, upper):
        begin, end, _ = same_pads(n, k, s, d, upper)
        return begin, end, max(1, n // s)

    return scan(X, attributes, same=same)


def padding_at_one_end(X, attributes):
    """Adds all padding of SAME_UPPER at the end, and of SAME_LOWER at the beginning. Plausible: the rule for an odd cell taken for all."""

    def same(n, k, s, d, upper):
        begin, end, output = same_pads(n, k, s, d, upper)
        return (0, begin + end, output) if upper else (begin + end, 0, output)

    return scan(X, attributes, same=same)


def auto_pad_is_ignored(X, attributes):
    """Takes every auto_pad for NOTSET. Plausible: the attribute is deprecated."""
    return scan(X, changed(attributes, auto_pad="NOTSET"))


def valid_keeps_pads(X, attributes):
    """Applies pads beside VALID. Plausible: pads are read first."""
    valid = attributes["auto_pad"] == "VALID"
    return scan(X, changed(attributes, auto_pad="NOTSET") if valid else attributes)


def same_keeps_pads(X, attributes):
    """Applies pads instead of SAME where both are given. Plausible: pads are read last."""
    both = str(attributes["auto_pad"]).startswith("SAME") and any(attributes["pads"])
    return scan(X, changed(attributes, auto_pad="NOTSET") if both else attributes)


def valid_is_same(X, attributes):
    """Takes VALID for SAME_UPPER. Plausible: a table of two words."""
    return scan(X, {**attributes, "auto_pad": "SAME_UPPER"} if attributes["auto_pad"] == "VALID" else attributes)
