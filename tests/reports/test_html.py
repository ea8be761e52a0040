"""The HTML report in a real browser, opened from the disk as its readers do."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sample_report import BESIDE, SAMPLE, SHORTER, THETA

from specpreflight.cli.rendering import render
from specpreflight.models.beside import NOTHING, Beside
from specpreflight.models.finding import Origin, Severity, Value
from specpreflight.models.idle import Idle
from specpreflight.models.report import Report, Summary

#: Tries to become markup, script, style or an attribute wherever it lands.
HOSTILE = "</script></style><script>document.title='owned'</script><img src=x onerror=alert(1)>\"'"

#: Three launches: with an error, with a warning and strange texts, and with nothing.
WARNED = replace(
    SAMPLE,
    inputs=replace(SAMPLE.inputs, draft=f"b{HOSTILE}", target="t2"),
    findings=(
        replace(
            THETA,
            severity=Severity.WARNING,
            ignored=None,
            message=HOSTILE,
            detail=HOSTILE,
            values=(Value(HOSTILE, HOSTILE, Origin("file", f"b/{HOSTILE}", "/x", 1, 2, 4)),),
        ),
    ),
    summary=Summary(warnings=1),
    excerpts={(f"b/{HOSTILE}", 1): HOSTILE},
)
CLEAN = replace(
    SAMPLE, findings=(), summary=Summary(), inputs=replace(SAMPLE.inputs, draft="c", target="t10")
)
REPORTS = [SAMPLE, WARNED, CLEAN]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A headless Chromium; the test is skipped where there is none."""
    driver, chromium = shutil.which("chromedriver"), shutil.which("chromium")
    if driver is None or chromium is None:
        pytest.skip("needs chromium and chromedriver (apt-get install chromium chromium-driver)")
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1280,900"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    opened = webdriver.Chrome(options, webdriver.ChromeService(driver))
    yield opened
    opened.quit()


@pytest.fixture
def page(browser: Any, tmp_path: Path) -> Any:
    """The browser with the report of three launches, and nothing in its console."""
    return open_page(browser, tmp_path, REPORTS)


def open_page(browser: Any, folder: Path, reports: list[Report], beside: Beside = NOTHING) -> Any:
    file = folder / "report.html"
    file.write_text(render("html", reports, beside), encoding="utf-8")
    browser.get(file.as_uri())
    assert browser.get_log("browser") == []
    return browser


def texts(page: Any, selector: str) -> list[str]:
    """The texts of the elements that can be seen."""
    found = page.find_elements("css selector", selector)
    return [element.text for element in found if element.is_displayed()]


def rows(page: Any) -> list[str]:
    return [text.split(" for ")[0][:1] for text in texts(page, "tbody tr[data-launch] th")]


def type_words(page: Any, words: str) -> None:
    field = page.find_element("name", "words")
    field.clear()
    field.send_keys(words)


def test_a_table_of_launches_and_rules(page: Any) -> None:
    assert texts(page, ".scroll thead th.rule") == ["draft-context-shorter", "rope-theta-differs"]
    assert rows(page) == ["d", "b", "c"]
    assert texts(page, ".mark") == ["E", "W"]
    assert texts(page, "output") == ["3 of 3 launches"]


def test_both_files_side_by_side(page: Any) -> None:
    figures = page.find_elements("css selector", "#l1-1 figure")
    assert [figure.find_element("tag name", "mark").text for figure in figures] == [
        "131072",
        "262144",
    ]
    assert "d/config.json:4:30" in figures[0].text
    assert "t/config.json:9:32" in figures[1].text
    assert figures[0].location["y"] == figures[1].location["y"]
    page.set_window_size(480, 900)
    assert figures[0].location["y"] < figures[1].location["y"]
    page.set_window_size(1280, 900)


def test_sorting(page: Any) -> None:
    launch, _, outcome, errors, *_ = page.find_elements("css selector", ".scroll thead button")
    launch.click()
    assert rows(page) == ["b", "c", "d"]
    launch.click()
    assert rows(page) == ["d", "c", "b"]
    errors.click()
    assert rows(page)[-1] == "d"
    outcome.click()
    heads = page.find_elements("css selector", "th[aria-sort]")
    assert [(head.text, head.get_attribute("aria-sort")) for head in heads] == [
        ("outcome", "ascending")
    ]


def test_filtering(page: Any) -> None:
    type_words(page, "shorter 262144")
    assert (rows(page), texts(page, "output")) == (["d"], ["1 of 3 launches"])
    assert len(texts(page, "article")) == 1
    type_words(page, "t10")
    assert rows(page) == ["c"]
    type_words(page, "")
    page.find_element("name", "found").click()
    assert rows(page) == ["d", "b"]
    page.find_element("css selector", "[value=warning]").click()
    assert rows(page) == ["d"]
    page.find_element("css selector", "[value=note]").click()
    assert texts(page, ".badge") == ["ERROR", "NOTE"]


def test_a_mark_leads_to_its_finding(page: Any) -> None:
    page.find_element("css selector", ".mark.error").click()
    assert page.current_url.endswith("#l1-1")


def test_hostile_content_is_only_text(page: Any) -> None:
    assert page.title == "specpreflight report"
    assert page.find_elements("css selector", "img, iframe, object, embed, link") == []
    assert len(page.find_elements("tag name", "script")) == 1
    assert len(page.find_elements("tag name", "style")) == 1
    assert HOSTILE in page.find_element("css selector", "#l2-1 h3").get_attribute("textContent")


def test_its_policy_stops_other_scripts(page: Any) -> None:
    page.execute_script(
        "const script = document.createElement('script');"
        "script.textContent = 'document.title = \"owned\"'; document.body.append(script);"
    )
    assert page.title == "specpreflight report"
    page.get_log("browser")


def test_light_and_dark(page: Any) -> None:
    def lightness(scheme: str) -> float:
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        body = page.find_element("tag name", "body")
        paper, ink = (
            sum(map(int, re.findall(r"\d+", body.value_of_css_property(name))[:3])) / 765
            for name in ("background-color", "color")
        )
        assert abs(paper - ink) > 0.7
        return paper

    assert lightness("light") > 0.9
    assert lightness("dark") < 0.2


def test_print(page: Any, tmp_path: Path) -> None:
    printed = page.print_page()
    assert len(printed) > 10_000
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert texts(page, ".controls") == []
    assert len(texts(page, "article")) == 3
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


def test_what_changed_since_a_record_and_what_it_did(page: Any) -> None:
    changes = page.find_elements("css selector", "#l1 .since > ul > li")
    assert changes[0].text.splitlines() == [
        "the draft's config.json changed: max_position_embeddings 262144 → 131072",
        "draft-context-shorter: the launch crashes now",
    ]
    colours = [
        change.find_element("css selector", "ul li").value_of_css_property("color")
        for change in (changes[0], changes[-1])
    ]
    assert len(set(colours)) == 2


def test_what_is_ignored_in_vain_is_folded(browser: Any, tmp_path: Path) -> None:
    idle = [Idle("gone", HOSTILE, "r", HOSTILE), *BESIDE.idle]
    page = open_page(browser, tmp_path, REPORTS, Beside(idle=idle))
    [folded] = page.find_elements("css selector", "body > details")
    assert folded.text == "ignores and known findings that have nothing to do any more: 4"
    folded.find_element("tag name", "summary").click()
    first, second, *_ = texts(page, "body > details li")
    assert first == f"{HOSTILE}: {HOSTILE}"
    assert second == "conf/specpreflight.toml:7: the ignore of a-rule ended on 2026-01-31"


def test_what_could_not_be_checked_is_seen_at_once(browser: Any, tmp_path: Path) -> None:
    page = open_page(browser, tmp_path, REPORTS, BESIDE)
    assert texts(page, "body > details li") == [
        "x for t: WorkerError: the process that checked it was ended",
        "closed: permission denied",
    ]
    assert len(texts(page, "body > details")) == 4


def test_nothing_is_fetched(page: Any) -> None:
    fetched = page.execute_script("return performance.getEntriesByType('resource').length")
    assert fetched == 0


def test_no_launch_at_all(browser: Any, tmp_path: Path) -> None:
    page = open_page(browser, tmp_path, [])
    assert texts(page, "output") == ["0 of 0 launches"]


def test_without_excerpts_the_values_are_still_there() -> None:
    text = render("html", [replace(SAMPLE, findings=(SHORTER,), excerpts={})])
    assert "<pre>" not in text
    assert "<strong>131072</strong>" in text
