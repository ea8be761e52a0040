"""Write a tree of checkpoints as training teams have them, with faults, and say where they are.

    python tools/make_tree.py DIRECTORY [--checkpoints 10000] [--families 40] [--differ KIND]

Each family is a target and the drafts that training runs have left for it, epoch after epoch. One
draft in ten has the fault of its family. `DIRECTORY/answer.json` lists each draft with its target
and the rules that must report it at warning or above; no other may. But for faults, the drafts of a
family differ by `nothing`; by `provenance`, as nightly exports do: run, step, date, loss, path,
version of the writer; or by `values`: sizes and lengths that make each launch another one.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

#: What makes a family's configs different.
Kind = Literal["nothing", "provenance", "values"]

Config = dict[str, Any]


class Fault(NamedTuple):
    """A way to break a draft's config: the rule that sees it, and the text that it becomes."""

    rule: str
    write: Callable[[Config], str]


class Made(NamedTuple):
    """A draft of the tree: where it is, its target, and the rules that must report it."""

    draft: str
    target: str | None
    rules: tuple[str, ...]


def _text(config: Config) -> str:
    return json.dumps(config, indent=2) + "\n"


def _changed(**changes: Callable[[Config], Any]) -> Callable[[Config], str]:
    return lambda config: _text({**config, **{key: new(config) for key, new in changes.items()}})


FAULTS = (
    Fault(
        "draft-context-shorter",
        _changed(max_position_embeddings=lambda config: config["max_position_embeddings"] // 2),
    ),
    Fault("model-type-unknown", _changed(model_type=lambda _: "lama")),
    Fault("dtype-unknown", _changed(torch_dtype=lambda _: "bfloat")),
    Fault(
        "aux-layers-out-of-range",
        _changed(eagle_config=lambda _: {"eagle_aux_hidden_state_layer_ids": [2, 14, 99]}),
    ),
    Fault("config-unreadable", lambda config: _text(config)[: len(_text(config)) // 2]),
    Fault("hidden-size-differs", _changed(target_hidden_size=lambda _: 1000)),
)


def target_config(family: int) -> Config:
    """Return the config of a family's target; no two families have the same facts."""
    heads = 16 + 8 * (family % 7)
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": heads * 128,
        "num_attention_heads": heads,
        "num_key_value_heads": 8,
        "head_dim": 128,
        "intermediate_size": heads * 448,
        "num_hidden_layers": 28 + family % 5,
        "vocab_size": 128_000 + 256 * family,
        "max_position_embeddings": 131_072,
        "rope_theta": 500_000.0,
        "rms_norm_eps": 1e-05,
        "hidden_act": "silu",
        "tie_word_embeddings": False,
        "bos_token_id": 1,
        "eos_token_id": 2,
        "torch_dtype": "bfloat16",
    }


def draft_config(target: Config) -> Config:
    """Return the config of a sound EAGLE-3 head for a target."""
    return {
        **target,
        "architectures": ["LlamaForCausalLMEagle3"],
        "num_hidden_layers": 1,
        "draft_vocab_size": 32_000,
        "use_cache": True,
    }


def _provenance(number: int) -> Config:
    """Return what an export says of where it comes from; no two say the same."""
    step = 500 * (number + 1)
    return {
        "_name_or_path": f"/runs/eagle3-{number // 50:04}/checkpoints/step_{step}",
        "transformers_version": f"4.{51 + number % 7}.{number % 3}",
        "run_id": f"{number:08x}-eagle3",
        "global_step": step,
        "exported_at": f"2026-{1 + number // 28 % 12:02}-{1 + number % 28:02}T02:00:00",
        "final_loss": 1 + number / 7,
    }


def _values(config: Config, number: int) -> Config:
    """Return values of a head that differ from all others of its family, and are as sound."""
    return {
        "intermediate_size": config["intermediate_size"] + 8 * number,
        "max_position_embeddings": config["max_position_embeddings"] + 64 * (number % 13),
        "draft_vocab_size": config["draft_vocab_size"] + 64 * (number % 7),
        "rms_norm_eps": (1e-05, 1e-06)[number % 2],
    }


def make_tree(
    root: Path,
    checkpoints: int,
    families: int,
    *,
    differ: Kind = "nothing",
    seed: int = 1,
    faults: float = 0.1,
) -> list[Made]:
    """Write the tree and return its drafts.

    Args:
        root: the directory to fill.
        checkpoints: how many directories with a config.json there will be.
        families: how many of them are targets.
        differ: by what the configs of a family differ.
        seed: decides which drafts have a fault.
        faults: the share of drafts that have one.
    """
    chance = random.Random(seed)
    made = _drafts(root, checkpoints, families, lambda: chance.random() < faults, differ=differ)
    return list(made)


def _drafts(
    root: Path, checkpoints: int, families: int, is_faulty: Callable[[], bool], *, differ: Kind
) -> Iterator[Made]:
    for family in range(families):
        folder = root / f"family-{family:02}"
        target = target_config(family)
        _write(folder / "target", _text(target))
        count = (checkpoints - families) // families
        count += family < (checkpoints - families) % families
        for number in range(count):
            config = draft_config(target)
            names_target = family % 2 == 1
            if names_target:
                config["target_model_name_or_path"] = "../../target"
            if differ == "provenance":
                config.update(_provenance(family * checkpoints + number))
            elif differ == "values":
                config.update(_values(config, number))
            fault = FAULTS[family % len(FAULTS)] if is_faulty() else None
            place = folder / f"run-{number // 50}" / f"epoch_{number % 50}"
            _write(place, _text(config) if fault is None else fault.write(config))
            is_readable = fault is None or fault.rule != "config-unreadable"
            yield Made(
                place.relative_to(root).as_posix(),
                f"family-{family:02}/target" if is_readable else None,
                () if fault is None else (fault.rule,),
            )


def _write(folder: Path, text: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(text, encoding="utf-8")


def main() -> None:
    """Write a tree and its answer."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--checkpoints", type=int, default=10_000)
    parser.add_argument("--families", type=int, default=40)
    parser.add_argument("--differ", choices=get_args(Kind), default="nothing")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    made = make_tree(
        options.directory,
        options.checkpoints,
        options.families,
        differ=options.differ,
        seed=options.seed,
    )
    answer = [one._asdict() for one in made]
    (options.directory / "answer.json").write_text(json.dumps(answer, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
