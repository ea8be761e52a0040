"""The text report, as it stands in a terminal, a pipe and a narrow window."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from sample_report import SAMPLE, SHORTER

from specpreflight.reports.terminal import render_terminal
from specpreflight.reports.text import Layout, render_text

COMMAND = ("specpreflight check t d --diff", " -- --speculative-num-steps 3")

SNAPSHOT = """\
SGLang 0.5.11 crashes when the draft's config is read: the draft's context
length 131072 is shorter than the target's 262144.

error[draft-context-shorter] the draft's context length 131072 is shorter than
  the target's 262144
  draft   131072  d/config.json:4:30
          "max_position_embeddings": 131072,
                                     ^^^^^^
  target  262144  t/config.json:9:32
          "max_position_embeddings": 262144,
                                     ^^^^^^
  why:         The draft worker is given the target's length and refuses one
               above its own.
  engine says: Warning: Target model's context_length (262144) is greater than
               the derived context_length (131072).
  to do:       1. set `max_position_embeddings` to 262144  [--fix]
               2. launch with --context-length 131072

changed since launch.lock.json
  the draft's config.json changed: max_position_embeddings 262144 → 131072
      draft-context-shorter: the launch crashes now
  NCCL_PROTO was unset, is LL (set by this shell)
  other files: draft/model.safetensors

of several changes together, or of what is not compared
      vocab-size-differs: gone is an <error> of | before

1 error, 0 warnings, 1 note, 1 ignored (-v), 1 rule skipped (-v), 1 fixable.
next: specpreflight check t d --diff -- --speculative-num-steps 3
"""


def test_snapshot() -> None:
    assert render_text(SAMPLE, Layout(80, command=COMMAND)) == SNAPSHOT


def test_verbose_shows_notes_resolved_and_skipped() -> None:
    text = render_text(SAMPLE, Layout(80, verbose=True))
    assert "note[rope-theta-differs]" in text
    assert "ignored:     trained like this (--ignore)" in text
    assert "context_length  262144 · the target's max_position_embeddings" in text
    assert "draft.weights: no safetensors files here (lm-head-missing)" in text


@pytest.mark.parametrize("width", [40, 60, 79, 80, 100])
def test_stays_within_the_width(width: int) -> None:
    lines = render_text(SAMPLE, Layout(width, verbose=True)).splitlines()
    assert [line for line in lines if len(line) > width and " " in line.strip()] == []


@pytest.mark.parametrize("width", [1, 20, 39])
def test_very_narrow_is_laid_out_for_forty_columns(width: int) -> None:
    assert render_text(SAMPLE, Layout(width)) == render_text(SAMPLE, Layout(40))


def test_underline_is_left_out_where_the_line_does_not_fit() -> None:
    assert "^^^^^^" not in render_text(SAMPLE, Layout(40))


def test_plain_text_has_no_control_or_box_characters() -> None:
    text = render_text(SAMPLE, Layout(80, verbose=True))
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f\u2500-\u257f]", text)


def test_colour_adds_nothing_but_colour() -> None:
    coloured = render_terminal(SAMPLE, Layout(80, command=COMMAND))
    assert "\x1b[" in coloured
    plain = re.sub(r"\x1b\[[0-9;]*m", "", coloured)
    assert [line.rstrip() for line in plain.splitlines()] == SNAPSHOT.splitlines()


@pytest.mark.parametrize("colour", [False, True])
def test_content_cannot_write_on_the_terminal(colour: bool) -> None:
    text = "a\x1b[2Jb\u202ec\ud800d\re"
    value = replace(SHORTER.values[0], value=text, label=text)
    report = replace(SAMPLE, findings=(replace(SHORTER, message=text, values=(value,)),))
    layout = Layout(80, verbose=True)
    shown = render_terminal(report, layout) if colour else render_text(report, layout)
    assert r"\x1b[2Jb\u202ec\ud800d" in shown
    assert not re.search("\x1b\\[2J|[\u202e\ud800\r]", shown)
