"""The white lists: what a plan may hold so that the rules of incremental work may judge it."""

from __future__ import annotations

import re

NODES = frozenset(
    {
        "Project", "Filter", "Generate", "Expand", "Sort", "Repartition", "RepartitionByExpression",
        "RebalancePartitions", "SubqueryAlias", "View", "ResolvedHint", "Union", "Join", "Aggregate", "Window",
        "Distinct", "Deduplicate", "Intersect", "Except", "GlobalLimit", "LocalLimit", "Offset", "Tail",
        "LocalRelation", "OneRowRelation", "Range",
    }
)  # fmt: skip
"""The operators that a rule names, or that are constants."""

CONSTANTS = frozenset({"LocalRelation", "OneRowRelation", "Range"})
"""Leaves that are no table."""

TRANSPARENT = frozenset(
    {"SubqueryAlias", "View", "ResolvedHint", "Sort", "Repartition", "RepartitionByExpression", "RebalancePartitions"}
)
"""Operators that put out the rows of their child, each once, unchanged."""

LIMITS = frozenset({"GlobalLimit", "LocalLimit", "Offset", "Tail"})

ROW_WISE = TRANSPARENT | {"Project", "Filter"}
"""Operators that look at one row at a time and put out at most one for it."""

PRINTABLE = frozenset(
    {
        "AttributeReference", "Cast", "Year", "Month", "DayOfMonth", "TruncDate", "TruncTimestamp", "Upper", "Lower",
        "Substring", "StringTrim", "Coalesce", "Concat", "Literal",
    }
)  # fmt: skip
"""What the key of a slice may be made of: compared here, and computed again on rows of a table."""

CONSTANT_PARTS = {"TruncDate": (1,), "TruncTimestamp": (0,), "Substring": (1, 2)}
"""The arguments that must be constants in the key of a slice."""

AGGREGATES_SIGNED = frozenset({"Sum", "Count", "Average"})
"""Aggregates whose partial results can be added and, where they are exact, taken back."""

AGGREGATES_GROWING = frozenset({"Min", "Max"})
"""Aggregates that can take in rows, but not forget them."""

AGGREGATES_EXACT = AGGREGATES_SIGNED | AGGREGATES_GROWING | {
    "Percentile", "BoolAnd", "BoolOr", "BitAndAgg", "BitOrAgg", "BitXorAgg", "Median",
}  # fmt: skip
"""Aggregates with one right answer, of exact types."""

AGGREGATES_ANY = frozenset(
    {
        "First", "Last", "AnyValue", "CollectList", "CollectSet", "MaxBy", "MinBy", "Mode", "StddevSamp", "StddevPop",
        "VarianceSamp", "VariancePop", "Corr", "CovSample", "CovPopulation", "Skewness", "Kurtosis",
        "ApproximatePercentile", "HyperLogLogPlusPlus", "PivotFirst",
    }
)  # fmt: skip
"""Aggregates with several right answers: by ties, by the order of rows, by rounding."""

WINDOW_EXACT = frozenset({"Rank", "DenseRank", "PercentRank", "CumeDist"})
WINDOW_ANY = frozenset({"RowNumber", "Lag", "Lead", "NTile", "NthValue"})

SCALARS = PRINTABLE | frozenset(
    {
        "Alias", "Abs", "Acos", "Add", "AddMonths", "And", "ArrayContains", "ArrayDistinct", "ArrayExcept",
        "ArrayIntersect", "ArrayJoin", "ArrayMax", "ArrayMin", "ArrayPosition", "ArrayRemove", "ArrayRepeat",
        "ArrayUnion", "ArraysOverlap", "Ascii", "Asin", "AssertNotNull", "AtLeastNNonNulls", "Atan", "Atan2", "Base64",
        "BitwiseAnd", "BitwiseNot", "BitwiseOr", "BitwiseXor", "BRound", "CaseWhen", "Cbrt", "Ceil", "CheckOverflow",
        "Chr", "ConcatWs", "Contains", "Conv", "Cos", "Cosh", "Crc32", "CreateArray", "CreateNamedStruct", "DateAdd",
        "DateAddInterval", "DateDiff", "DateFormatClass", "DateSub", "DayOfWeek", "DayOfYear", "Divide", "ElementAt",
        "EndsWith", "EqualNullSafe", "EqualTo", "Exp", "Explode", "Expm1", "Factorial", "FindInSet", "Flatten",
        "Floor", "FormatNumber", "FormatString", "FromUTCTimestamp", "GetArrayItem", "GetArrayStructFields",
        "GetJsonObject", "GetStructField", "GreaterThan", "GreaterThanOrEqual", "Greatest", "Hex", "Hour", "Hypot",
        "If", "In", "InSet", "InitCap", "Inline", "IntegralDivide", "IsNaN", "IsNotNull", "IsNull",
        "KnownFloatingPointNormalized", "KnownNotNull", "LastDay", "Least", "Length", "LessThan", "LessThanOrEqual",
        "Like", "LikeAll", "LikeAny", "Log", "Log10", "Log1p", "Log2", "Logarithm", "MakeDate", "MakeTimestamp", "Md5",
        "MicrosToTimestamp", "MillisToTimestamp", "Minute", "MonthsBetween", "Multiply", "Murmur3Hash", "NaNvl",
        "NextDay", "Not", "OctetLength", "Or", "Overlay", "PosExplode", "Pmod", "Pow", "PromotePrecision", "Quarter",
        "RLike", "RegExpExtract", "RegExpExtractAll", "RegExpReplace", "Remainder", "Reverse", "Rint", "Round",
        "Second", "SecondsToTimestamp", "Sha1", "Sha2", "ShiftLeft", "ShiftRight", "Signum", "Sin", "Sinh", "Size",
        "Slice", "SortArray", "SortOrder", "SoundEx", "Sqrt", "StartsWith", "StringInstr", "StringLPad", "StringLocate",
        "StringRPad", "StringRepeat", "StringReplace", "StringSpace", "StringSplit", "StringTranslate",
        "StringTrimLeft", "StringTrimRight", "SubstringIndex", "Subtract", "Tan", "Tanh", "TimestampAdd",
        "TimestampDiff", "ToDegrees", "ToRadians", "ToUTCTimestamp", "ToUnixTimestamp", "UnBase64", "UnaryMinus",
        "UnaryPositive", "Unhex", "UnixDate", "UnixMicros", "UnixMillis", "UnixSeconds", "UnixTimestamp", "WeekDay",
        "WeekOfYear", "WidthBucket", "XxHash64", "ArrayTransform", "ArrayFilter", "ArrayExists", "ArrayForAll",
        "ArrayAggregate", "LambdaFunction", "NamedLambdaVariable",
    }
)  # fmt: skip
"""Functions of one row alone: the same row gives the same value, today and tomorrow."""

FRAMES = frozenset(
    {
        "WindowExpression", "WindowSpecDefinition", "SpecifiedWindowFrame", "UnspecifiedFrame$", "UnboundedPreceding$",
        "UnboundedFollowing$", "CurrentRow$",
    }
)  # fmt: skip

SUBQUERIES = frozenset({"ScalarSubquery", "InSubquery", "Exists", "ListQuery"})
"""What is left of subqueries where they could not become joins; their tables are hidden."""

PYTHON_BY_ROW = frozenset({100, 101, 200, 250})
"""The kinds of Python functions that see rows, or batches of them of which each row stands for itself."""

_PLAIN = frozenset(
    {
        "boolean", "byte", "short", "integer", "long", "float", "double", "string", "binary", "date", "timestamp",
        "timestamp_ntz", "void",
    }
)  # fmt: skip
_DECIMAL = re.compile(r"decimal\(\d+,-?\d+\)")
INTEGRAL = ("byte", "short", "integer", "long")
FLOATS = frozenset({"float", "double"})


def is_known_type(name: str) -> bool:
    """Answer whether the rules hold for values of this type (as Spark's JSON writes it)."""
    return name in _PLAIN or _DECIMAL.fullmatch(name) is not None


def is_key_type(name: str) -> bool:
    """Answer whether equal values of this type are the same value, so that it can be the key of a slice."""
    return is_known_type(name) and name not in FLOATS


def is_exact_number(name: str) -> bool:
    """Answer whether sums of this type can be taken back without a trace."""
    return name in INTEGRAL or _DECIMAL.fullmatch(name) is not None
