"""Lines of a diagnosis on a terminal."""

from specpreflight.reports.diagnosis_text import fit_lines


def test_long_lines_are_broken_at_blanks_and_indented():
    text = "died\n  fix: " + "word " * 5 + "end\n\n  " + "x" * 40 + "\n"
    assert fit_lines(text, 24) == (
        "died\n  fix: word word word\n    word word end\n\n  " + "x" * 40 + "\n"
    )


def test_a_line_of_the_width_is_left_alone():
    assert fit_lines("ab cd\n", 5) == "ab cd\n"
    assert fit_lines("ab cd\n", 4) == "ab\n  cd\n"
