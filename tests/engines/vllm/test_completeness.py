"""What is known of each vLLM release, as `specpreflight engines` tells it."""

from __future__ import annotations

from specpreflight.engines.vllm.completeness import summarize
from specpreflight.engines.vllm.releases import releases


def test_every_release_is_summarized_oldest_first():
    known = list(summarize())
    assert [each.release.version for each in known] == list(releases())
    assert all(each.flags > 100 and each.classes > 100 and each.probes for each in known)


def test_a_release_tells_its_date_and_what_it_brings():
    about = next(each.release for each in summarize() if each.release.version == "0.33.0")
    assert about[:5] == ("0.33.0", "2026-11-01", "2.14.0", "5.19.0", "2.30.7")
