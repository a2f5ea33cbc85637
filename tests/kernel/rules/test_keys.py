"""Call keys."""

import pytest

from rulecore_kernel.rules.keys import call_key
from rulecore_kernel.values import JsonObject


@pytest.mark.parametrize(
    ("params", "key"),
    [
        ({}, "t|{}"),
        ({"b": 1, "a": [1, 2.5, None, True]}, 't|{"a":[1,2.5,null,true],"b":1}'),
        ({"路径": "模块/文件.py"}, 't|{"路径":"模块/文件.py"}'),
        ({"a": {"z": 1, "y": " "}}, 't|{"a":{"y":" ","z":1}}'),
        ({"q": 'a"b\\c\n\u2028'}, 't|{"q":"a\\"b\\\\c\\n\u2028"}'),
    ],
)
def test_call_key(params: JsonObject, key: str) -> None:
    assert call_key("t", params) == key


def test_the_order_of_keys_does_not_matter() -> None:
    assert call_key("t", {"a": 1, "b": 2}) == call_key("t", {"b": 2, "a": 1})
