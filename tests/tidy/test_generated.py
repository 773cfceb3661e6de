"""What is generated is what the generator would write now."""

from tools.compatibility import PAGE, page


def test_the_compatibility_page_is_fresh() -> None:
    assert PAGE.read_text() == page(), "run make generate"
