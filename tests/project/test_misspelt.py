"""A name that Python does not know is answered with the one that was meant."""

from __future__ import annotations

import pytest

from pondage.project.inspect import instead


@pytest.mark.parametrize(
    ("source", "hint"),
    [
        ("from pondage import Dleta", "did you mean 'Delta'?"),
        ("from pondage import not_null\nnot_nul", "did you mean 'not_null'?"),
        ("from pondage import pond\npond(shedule=1)", "did you mean 'schedule'?"),
        ("from pondage import qqqqqq", None),
        ("int(qqqqqq=1)", None),
        ("1 / 0", None),
    ],
)
def test_a_misspelt_name_has_the_nearest_as_its_hint(source: str, hint: str | None) -> None:
    with pytest.raises(Exception) as caught:  # noqa: PT011 - each source has an error of its own
        exec(source, {})
    assert instead(caught.value) == hint
