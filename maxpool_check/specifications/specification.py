"""The common form of all documents: how they read the attributes of a graph, what they mean, and the refusal of others."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from maxpool_check.reference import geometry as rules
from maxpool_check.reference.geometry import AutoPad, Geometry, NoWindow, Placement, Rounding
from maxpool_check.reference.numbering import Layout, Numbering, StorageOrder
from maxpool_check.reference.policies import (
    INTERPRETATIONS,
    CeilClip,
    LargePads,
    Policies,
    SameClamp,
    ValidCeil,
    ZeroSize,
)
from maxpool_check.reference.pooling import Pooling
from maxpool_check.specifications.roles import Attribute, AttributeType, Role, RoundingType
from maxpool_check.words import Term

if TYPE_CHECKING:
    from maxpool_check.specifications.onnx import Onnx

_LOWEST = {
    **dict.fromkeys((Role.KERNEL, Role.STRIDE, Role.DILATION, Role.COUNT), 1),
    **dict.fromkeys((Role.PADS, Role.BEGIN, Role.END, Role.START), 0),
}
"""The smallest number that an attribute may have."""


class Reason(Term):
    """What a document excludes of a graph that it refuses, as written in case files."""

    INVALID_ATTRIBUTE = "invalid-attribute", "the value of an attribute"
    INVALID_SHAPE = "invalid-shape", "the rank or a size of X"
    INVALID_TYPE = "invalid-type", "the element type"
    OUTSIDE_PROFILE = "outside-profile", "what the profile of a document, such as SONNX, leaves out"
    WINDOW_LARGER_THAN_INPUT = "window-larger-than-input", "a window that is larger than the padded input"


@dataclass(eq=False)
class Refused(ValueError):
    """The document excludes a graph.

    ``clause`` is the place in the document that excludes it, ``attribute`` the attribute at fault, if any. ``axes`` are
    n, k, s, d, b, e of each spatial axis, if a window is larger than the padded input. ``is_open``: the document gives the
    graph no meaning, but does not exclude it either, so that outputs are not judged.
    """

    reason: Reason
    message: str
    _: KW_ONLY
    clause: str
    attribute: str | None = None
    axes: tuple[tuple[int, ...], ...] = ()
    is_open: bool = False

    def __str__(self) -> str:
        return f"{self.message} [{self.clause}]"

    def by(self, title: str, origin: str) -> "Refused":
        """The same refusal by a document that takes the clause over from ``origin``, the title of another."""
        return replace(self, clause=self.clause.replace(origin, title))


class IllTyped(Refused):
    """An unknown attribute, or a value of another type: a mistake in a case file unless the case expects it."""


@dataclass(frozen=True, kw_only=True)
class Specification(ABC):
    """One document: turns its attributes into a :class:`Pooling` and refuses what it excludes.

    ``name`` is that in case files, ``title`` the document's own. ``attributes`` are its attributes by name, from which
    :mod:`~maxpool_check.specifications.roles` makes those of a geometry. ``dtypes`` are the element types of X;
    ``ranks`` the numbers of spatial axes, ascending (where the document sets no limit, those of drawn cases). The number
    of channels must be a multiple of ``channel_multiple``. ``indices``: whether there is a second output. ``layout`` is
    the order of the axes of its tensors, ``domain`` its operator domain in ONNX models, if it has one besides ONNX's.
    ``round_up`` is the output size with ``RoundingType.CEIL``.
    """

    name: str
    title: str
    attributes: Mapping[str, Attribute] = field(compare=False)
    dtypes: tuple[str, ...]
    ranks: tuple[int, ...]
    policies: Policies
    channel_multiple: int = 1
    indices: bool = True
    layout: Layout = Layout.CHANNELS_FIRST
    domain: str | None = None
    round_up: Rounding = rules.ceil_output

    @property
    def roles(self) -> frozenset[Role]:
        """What its attributes mean."""
        return frozenset(attribute.role for attribute in self.attributes.values())

    @property
    def onnx(self) -> "Onnx | None":
        """The ONNX version whose attributes it has; None if its graphs must be translated to ONNX."""
        return None

    def resolve(
        self, attributes: Mapping[str, Any], dtype: str, shape: tuple[int, ...], policies: Policies | None = None
    ) -> Pooling | Refused:
        """The pooling that the attributes mean for an X of a dtype and shape, or why the document excludes it.

        ``policies`` are the document's own unless given.
        """
        try:
            return self.pooling(self.typed(attributes), dtype, shape, self.policies if policies is None else policies)
        except Refused as refused:
            return refused

    @abstractmethod
    def pooling(self, attributes: Mapping[str, Any], dtype: str, shape: tuple[int, ...], policies: Policies) -> Pooling:
        """What :meth:`resolve` gives, of :meth:`typed` attributes. Raises :class:`Refused`."""

    def typed(self, attributes: Mapping[str, Any]) -> dict[str, Any]:
        """The attributes as plain Python values, lists as tuples.

        Raises :class:`IllTyped` for a name that the document does not have and for a value of another type.
        """
        values: dict[str, Any] = {}
        for name, value in attributes.items():
            if name not in self.attributes:
                message = f"{self.title} has no attribute '{name}'{nearest(name, self.attributes)}"
                raise IllTyped(Reason.INVALID_ATTRIBUTE, message, clause=f"{self.title}, Attributes", attribute=name)
            try:
                values[name] = self.attributes[name].typed(value)
            except TypeError:
                entries = value if isinstance(value, (list, tuple)) else [value]
                is_long = any(isinstance(entry, int) and abs(entry) >= 2**63 for entry in entries)
                kind = f"{self.attributes[name].type.value}{' of 64 bits' if is_long else ''}"
                message, clause = f"{name} must be {kind}, got {value!r}", f"{self.title}, attribute {name}"
                raise IllTyped(Reason.INVALID_ATTRIBUTE, message, clause=clause, attribute=name) from None
        return values

    def complete(self, attributes: Mapping[str, Any], rank: int, optional: Collection[str] = ()) -> dict[str, Any]:
        """All attributes in the document's order: those that are missing at their defaults, choices as their meanings.

        Lists have an entry for each of ``rank`` spatial axes, pads two. Attributes that are ``optional`` may be missing
        without a default. Raises :class:`Refused` for others that are missing, for a list of another length, a number
        that is too small for its role, and a value that the document does not have.
        """
        values: dict[str, Any] = {}
        for name, attribute in self.attributes.items():
            value = attributes.get(name, attribute.default_for(rank))
            if value is None:
                if name in optional:
                    continue
                raise self.refusal(Reason.INVALID_ATTRIBUTE, f"{name} is required", f"attribute {name}")
            entries = [value]
            if attribute.type is AttributeType.INTEGERS:
                self.check_length(name, value, attribute.length(rank))
                entries = list(value)
            lowest = _LOWEST.get(attribute.role)
            if lowest is not None and any(entry < lowest for entry in entries):
                limit = "be at least 1 on every axis" if lowest else "not be negative"
                raise self.invalid(name, f"must {limit}, got {entries}")
            if attribute.values:
                if value not in attribute.values:
                    raise self.invalid(name, f"must be one of {', '.join(map(str, attribute.values))}, got {value!r}")
                value = attribute.values[value]
            values[name] = value
        return values

    def padded(
        self, values: Mapping[str, Any], sizes: Sequence[int], policies: Policies, refusable: str | None = None
    ) -> Pooling:
        """The pooling with the meanings of :meth:`complete` attributes, of spatial axes of these ``sizes``.

        Pads count without ``auto_pad`` alone. Raises :class:`Refused` if a window is larger than the padded input, and
        for pads that are not smaller than the kernel, where the policies refuse them.
        """
        names = {self.attributes[name].role: name for name in values}
        roles = {role: values[name] for role, name in names.items()}
        auto_pad = roles.get(Role.AUTO_PAD, AutoPad.EXPLICIT)
        rounding_type = roles.get(Role.ROUNDING, RoundingType.FLOOR)
        if auto_pad is AutoPad.VALID and policies.valid_ceil is ValidCeil.FORMULA:
            rounding_type = RoundingType.FLOOR
        clips = rounding_type is RoundingType.CEIL_TORCH or policies.ceil_clip is CeilClip.DROPS
        ceil = rules.clipped_ceil_output if clips else self.round_up
        rounding = rules.floor_output if rounding_type is RoundingType.FLOOR else ceil
        placement = Placement(
            auto_pad,
            rounding,
            clamps=policies.same_clamp is not SameClamp.CROPS,
            zero_size=policies.zero_size is not ZeroSize.REFUSED,
        )
        begin = end = (0,) * len(sizes)
        if auto_pad is AutoPad.EXPLICIT:
            pads = roles.get(Role.PADS, ())
            begin, end = roles.get(Role.BEGIN, pads[: len(sizes)]), roles.get(Role.END, pads[len(sizes) :])
        dilations = roles.get(Role.DILATION, (1,) * len(sizes))
        axes = zip(sizes, roles[Role.KERNEL], roles[Role.STRIDE], dilations, begin, end, strict=True)
        numbering = Numbering(
            roles.get(Role.STORAGE_ORDER, StorageOrder.ROW_MAJOR),
            axis=roles.get(Role.INDEX_AXIS, 0) % (len(sizes) + 2),
            dtype=roles.get(Role.INDEX_TYPE, "int64"),
        )
        geometry = self.placed(placement, axes)
        if policies.zero_size is ZeroSize.EITHER and any(axis.exceeds_padded_input for axis in geometry):
            refusable = f"{self.title}, output shape: the window is larger than the padded input"
        pooling = Pooling(geometry, policies, numbering, indices=self.indices, refusable=refusable, placement=placement)
        if policies.large_pads is LargePads.REFUSED and pooling.has_large_pads:
            name = names.get(Role.PADS) or names[Role.BEGIN]
            clause = f"{self.title} with large_pads: refused, attribute {name}"
            message = f"{name} must be smaller than the kernel"
            raise Refused(Reason.INVALID_ATTRIBUTE, message, clause=clause, attribute=name)
        return pooling

    def placed(self, placement: Placement, axes: Iterable[tuple[int, ...]]) -> Geometry:
        """The spatial axes of a pooling from n, k, s, d, b, e of each.

        Raises :class:`Refused` if a window is larger than the padded input.
        """
        numbers = tuple(axes)
        try:
            return tuple(placement.axis(*axis) for axis in numbers)
        except NoWindow as error:
            clause = f"{self.title}, output shape"
            raise Refused(Reason.WINDOW_LARGER_THAN_INPUT, str(error), clause=clause, axes=numbers) from error

    def check_length(self, name: str, values: Sequence[object], length: int) -> None:
        """Refuse an attribute's list of another length."""
        if len(values) != length:
            raise self.invalid(name, f"must have {length} values, got {len(values)}")

    def check_dtype(self, dtype: str, clause: str) -> None:
        """Refuse an element type of X that the document does not have."""
        if dtype not in self.dtypes:
            raise self.refusal(Reason.INVALID_TYPE, f"X must be one of {', '.join(self.dtypes)}, got {dtype}", clause)

    def invalid(self, name: str, message: str) -> Refused:
        """The refusal of an attribute's value."""
        return self.refusal(Reason.INVALID_ATTRIBUTE, f"{name} {message}", f"attribute {name}", name)

    def refusal(self, reason: Reason, message: str, clause: str, attribute: str | None = None) -> Refused:
        """The refusal of a graph by a clause of this document."""
        return Refused(reason, message, clause=f"{self.title}, {clause}", attribute=attribute)


def override(policies: Policies, interpretations: Mapping[str, str]) -> Policies:
    """The policies with other interpretations of some points; ``ValueError`` for an unknown point or interpretation."""
    points = policies.names()
    for point, interpretation in interpretations.items():
        if point not in INTERPRETATIONS:
            hint = nearest(point, INTERPRETATIONS)
            raise ValueError(f"unknown policy '{point}'{hint}; there are {', '.join(points)}")
        if point not in points:
            raise ValueError(f"the document has no policy '{point}'; it has {', '.join(points)}")
        options = [option.value for option in INTERPRETATIONS[point]]
        if interpretation not in options:
            raise ValueError(
                f"policy '{point}' has no interpretation '{interpretation}'{nearest(str(interpretation), options)}; "
                f"there are {', '.join(options)}"
            )
        changed: dict[str, Any] = {point: INTERPRETATIONS[point](interpretation)}
        policies = replace(policies, **changed)
    return policies


def nearest(name: str, names: Iterable[str]) -> str:
    """`` (did you mean 'x'?)`` for the known name nearest to a misspelt one; empty if none is near."""
    import difflib

    by_lower = {known.lower(): known for known in names}
    matches = difflib.get_close_matches(name.lower(), list(by_lower), 1, 0.5)
    return f" (did you mean '{by_lower[matches[0]]}'?)" if matches else ""
