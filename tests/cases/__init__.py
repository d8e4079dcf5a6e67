import pytest

pytest.register_assert_rewrite("tests.cases.emitter", "tests.cases.replayer")
