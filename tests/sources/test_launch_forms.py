"""One small launch of every kind, read from text."""

import re

import pytest

from specpreflight.errors import InputError
from specpreflight.sources.launch_command import read_launch, read_launch_file, read_launch_text
from specpreflight.sources.launch_files import LaunchFiles

EAGLE = ("--speculative-algorithm", "EAGLE3", "--speculative-draft-model-path", "d")


def read(text, name="launch", **given):
    return read_launch_text(text, name, **given)


def variables(command):
    return {variable.name: variable.value for variable in command.environment}


@pytest.mark.parametrize(
    "words",
    [
        "python -m sglang.launch_server --model-path m",
        "python3.11 -u -X faulthandler -m sglang.launch_server --model-path m",
        "/opt/venv/bin/python /src/sglang/launch_server.py --model-path m",
        "sglang serve --model-path m",
        "nohup nice -n 10 numactl --cpunodebind=0 --membind 0 sglang serve --model-path m",
        "timeout 3600 sudo -E -u llm env A=B sglang serve --model-path m",
        "torchrun --nproc_per_node 8 -m sglang.launch_server --model-path m",
        "srun -N 2 --ntasks=2 --container-image img:v1 bash -c 'exec sglang serve --model-path m'",
        "docker run --rm -it --gpus all -p 1:1 img:v1 sglang serve --model-path m",
        "podman run --entrypoint sglang img:v1 serve --model-path m",
        "docker exec -e A=B name bash -lc 'cd /x && sglang serve --model-path m'",
        "singularity exec --nv -B /a:/b x.sif sglang serve --model-path m",
        "conda run -n sglang --no-capture-output sglang serve --model-path m",
        "uv run --with sglang python -m sglang.launch_server --model-path m",
        "tmux new-session -d -s serve 'sglang serve --model-path m 2>&1 | tee log'",
        "ssh host 'cd /x; sglang serve --model-path m'",
        "ssh -p 22 -o BatchMode=yes u@host sglang serve --model-path m",
        "bash <<EOF\nsglang serve --model-path m\nEOF",
        "ssh -T host <<'EOF'\nsglang serve --model-path m\nEOF",
        "cat <<EOF | ssh host bash -s -- m\nsglang serve --model-path \\$1\nEOF",
        "docker exec -i name bash <<EOF\nsglang serve --model-path m\nEOF",
        "kubectl exec -i pod -- bash -s m <<'EOF'\nsglang serve --model-path $1\nEOF",
        "cat > /tmp/s.sh <<EOF\nsglang serve --model-path m\nEOF\n"
        "docker run -v /tmp/s.sh:/s.sh img:v1 bash /s.sh",
        "kubectl exec pod -- sglang serve --model-path m",
        "nsys profile -o out --trace=cuda python -m sglang.launch_server --model-path m",
    ],
)
def test_finds_the_engine_behind_whatever_is_wrapped_around_it(words):
    command = read(words + "\n")
    assert (command.engine, command.argv) == ("sglang", ("--model-path", "m"))


@pytest.mark.parametrize(
    "text",
    [
        "echo python -m sglang.launch_server --model-path m",
        "pip install sglang",
        "pkill -f 'sglang serve'",
        "docker run -it lmsysorg/sglang:latest bash",
        "docker pull lmsysorg/sglang:v0.5.9",
        "vllm bench serve --model m",
        "grep -r 'vllm serve' .",
    ],
)
def test_takes_nothing_else_for_a_launch(text):
    with pytest.raises(InputError, match="no launch of SGLang or vLLM found"):
        read(text)


def test_a_script_that_is_given_no_arguments_may_have_some():
    script = (
        "if [ $# -lt 1 ]; then echo usage; exit 1; fi\n"
        'while [ $# -gt 0 ]; do case $1 in --model) MODEL="$2"; shift 2;; esac; done\n'
        "while getopts d: o; do case $o in d) DRAFT=$OPTARG;; esac; done\n"
        'sglang serve --model-path "$MODEL" --speculative-draft-model-path $DRAFT\n'
    )
    command = read(script)
    assert command.argv == (
        "--model-path", "${MODEL}", "--speculative-draft-model-path", "${DRAFT}",
    )  # fmt: skip
    assert command.unresolved == ("${DRAFT}", "${MODEL}")
    assert read(script, arguments=("--model", "m")).argv[1] == "m"


def test_says_which_unknown_output_a_branch_hangs_on():
    command = read(
        'case "$(uname -m)" in x86_64) B=fa3;; *) echo no; exit 1;; esac\n'
        'if [ "$(hostname)" = a ]; then B=triton; fi\n'
        "sglang serve --model-path m --attention-backend $B\n"
    )
    assert [note for note in command.notes if "depends on" in note] == [
        "which way the script goes depends on $(uname -m), which is not known",
        "which way the script goes depends on $(hostname), which is not known",
    ]


def test_sudo_drops_what_is_exported_unless_it_is_kept():
    script = "export NCCL_DEBUG=INFO\nsudo {} sglang serve --model-path m"
    assert variables(read(script.format("-E"))) == {"NCCL_DEBUG": "INFO"}
    assert variables(read(script.format("A=1"))) == {"A": "1"}


def test_a_container_has_only_the_variables_it_is_given():
    command = read(
        "export OUT=1 PASSED=2\n"
        "docker run -e PASSED -e HF_TOKEN --env A=1 -eB=2 -v /m:/models:ro img:v1 \\\n"
        "  bash -c 'export C=3; sglang serve --model-path /models/x'"
    )
    assert variables(command) == {
        "PASSED": "2",
        "HF_TOKEN": "${HF_TOKEN}",
        "A": "1",
        "B": "2",
        "C": "3",
    }
    assert command.unresolved == ("${HF_TOKEN}",)
    assert (command.image, command.engine_version) == ("img:v1", "v1")
    assert command.outside("/models/x") == "/m/x"
    assert command.outside("/modelsx") == "/modelsx"


def test_what_is_set_without_export_is_told_apart():
    command = read("NCCL_P2P_LEVEL=SYS\nexport NCCL_DEBUG=INFO\nsglang serve --model-path m\n")
    assert variables(command) == {"NCCL_DEBUG": "INFO"}
    (left,) = command.unexported
    assert (left.name, left.value, left.origin.line) == ("NCCL_P2P_LEVEL", "SYS", 1)


def test_variables_know_the_line_that_sets_them():
    command = read("#!/bin/bash\nexport A=1\n\nB=2 \\\n  sglang serve --model-path m\n", "x.sh")
    places = {found.name: (found.origin.path, found.origin.line) for found in command.environment}
    assert places == {"A": ("x.sh", 2), "B": ("x.sh", 4)}


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        (
            "sglang serve --model-path m \\\n  --tp 8\n  --mem 1 \\\n  --x\n",
            3,
            ("--mem", "1", "--x"),
        ),
        ("sglang serve --model-path m \\\n# note\n--tp 8\n", 3, ("--tp", "8")),
        ("sglang serve --model-path m \\ \n --tp 8\n", 2, ("--tp", "8")),
    ],
)
def test_what_the_shell_never_passes_on_is_lost(text, line, words):
    (lost,) = read(text).lost
    assert (lost.line, lost.words) == (line, words)


def test_a_usage_check_does_not_end_the_reading():
    command = read('[ -d "$1" ] || { echo usage; exit 1; }\nsglang serve --model-path "$1"\n')
    assert command.argv == ("--model-path", "${1}")
    assert command.unresolved == ("${1}",)


def test_a_condition_that_hides_the_only_launch_is_taken_as_true():
    text = "if [ -f /models/x/config.json ]; then sglang serve --model-path /models/x; fi\n"
    assert read(text).argv == ("--model-path", "/models/x")


def test_a_script_that_is_written_and_run():
    command = read(
        "cat > run.sh <<EOF\nexport A=$X\nsglang serve --model-path m --tp \\$N\nEOF\n"
        "chmod +x run.sh\nN=8 ./run.sh\n",
        environment={"X": "1"},
    )
    assert command.argv == ("--model-path", "m", "--tp", "8")
    assert variables(command) == {"A": "1", "N": "8"}


def test_files_beside_the_launch_are_read(tmp_path):
    (tmp_path / "common.env").write_text("export A=1\nTP=4\n")
    (tmp_path / "run.sh").write_text(
        'D="$(cd "$(dirname "$0")" && pwd)"\nsource "$D/common.env"\n'
        "sglang serve --model-path m --tp $TP\n"
    )
    command = read_launch_file(tmp_path / "run.sh")
    assert (command.argv[-1], variables(command)) == ("4", {"A": "1"})


def test_an_env_file_that_is_missing_is_unresolved(tmp_path):
    script = tmp_path / "run.sh"
    script.write_text("docker run --env-file ./a.env img sglang serve --model-path m")
    assert read_launch_file(script).unresolved == ("./a.env",)
    (tmp_path / "a.env").write_text('# c\nA="1"\n')
    assert variables(read_launch_file(script)) == {"A": '"1"'}


COMPOSE = """
x-env: &env
  NCCL_P2P_DISABLE: 1
  HF_TOKEN:
services:
  web: {image: nginx, command: nginx}
  sglang:
    image: lmsysorg/sglang:${TAG:-v0.5.6}
    environment:
      <<: *env
      SGLANG_ENABLE_SPEC_V2: true
    volumes: ["~/m:/models", "named:/cache"]
    command: >
      python3 -m sglang.launch_server --model-path /models/x
      --tp ${TP:-${GPUS:-2}} --x '{"a": "$$b"}' --draft ${DRAFT:?needed}
"""


def test_compose():
    command = read(COMPOSE, "compose.yaml", environment={"GPUS": "4"})
    assert (command.form, command.service) == ("compose", "sglang")
    assert command.image == "lmsysorg/sglang:v0.5.6"
    assert command.argv[2:] == ("--tp", "4", "--x", '{"a": "$b"}', "--draft", "${DRAFT}")
    assert variables(command) == {
        "NCCL_P2P_DISABLE": "1",
        "HF_TOKEN": "${HF_TOKEN}",
        "SGLANG_ENABLE_SPEC_V2": "true",
    }
    assert command.outside("/models/x") == "~/m/x"


KUBERNETES = """
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {spec: '{"method":"mtp"}'}
---
apiVersion: apps/v1
kind: Deployment
spec:
  template:
    spec:
      containers:
      - image: vllm/vllm-openai:v0.11.0
        env:
        - {name: SPEC, valueFrom: {configMapKeyRef: {name: c, key: spec}}}
        - {name: TOKEN, valueFrom: {secretKeyRef: {name: s, key: t}}}
        - {name: BOTH, value: "$(SPEC)-x"}
        args: [--model, m, --speculative-config=$(SPEC), --a, $(NOPE), --b, $$(SPEC)]
        volumeMounts: [{name: v, mountPath: /models}]
      volumes: [{name: v, hostPath: {path: /data}}]
"""


def test_kubernetes():
    command = read(KUBERNETES, "d.yaml")
    assert command.form == "kubernetes"
    assert command.service == "Deployment/spec/template/spec/containers/0"
    assert command.argv == (
        "--model",
        "m",
        '--speculative-config={"method":"mtp"}',
        "--a",
        "$(NOPE)",
        "--b",
        "$(SPEC)",
    )
    assert variables(command) == {
        "SPEC": '{"method":"mtp"}',
        "TOKEN": "${TOKEN}",
        "BOTH": '{"method":"mtp"}-x',
    }
    assert command.outside("/models/a") == "/data/a"


def test_helm_templates_become_markers():
    command = read(
        "apiVersion: apps/v1\nkind: Deployment\nspec:\n  {{- if .Values.x }}\n"
        "  containers:\n"
        "  - image: lmsysorg/sglang:{{ .Values.tag }}\n"
        "    command: [sglang, serve]\n    args: [--model-path, {{ .Values.model }}]\n"
        "  {{- end }}\n",
        "t.yaml",
    )
    assert command.argv == ("--model-path", "$(.Values.model)")
    assert command.unresolved == ("$(.Values.model)", "$(.Values.tag)")


def test_helm_values():
    command = read(
        "servingEngineSpec:\n  modelSpec:\n  - repository: vllm/vllm-openai\n    tag: v0.11.0\n"
        "    modelURL: org/m\n    vllmConfig:\n      maxModelLen: 8192\n"
        "      enableChunkedPrefill: false\n      extraArgs: [--speculative-config, '{}']\n",
        "values.yaml",
    )
    assert command.form == "helm-values"
    assert command.argv == ("org/m", "--max-model-len", "8192", "--speculative-config", "{}")
    assert command.image == "vllm/vllm-openai:v0.11.0"


def test_a_recipe_with_roles():
    command = read(
        "model: {container: 'lmsysorg/sglang:v0.5.8'}\nbackend:\n"
        "  decode_environment: {NCCL_DEBUG: INFO}\n  sglang_config:\n"
        "    prefill: {model-path: m, tp-size: 4}\n"
        "    decode: {model-path: m, tp-size: 8, speculative-algorithm: EAGLE}\n",
        "r.yaml",
    )
    assert (command.form, command.command_index) == ("recipe-yaml", 1)
    assert variables(command) == {"NCCL_DEBUG": "INFO"}
    assert command.engine_version == "v0.5.8"
    assert [other.argv for other in command.others] == [("--model-path", "m", "--tp-size", "4")]


UNIT = """
[Service]
Environment="A=x y" 'B=2'
Environment=
Environment=C=3
ExecStart=
ExecStart=-/usr/bin/env D=4 /opt/bin/sglang serve \\
# comment
  --model-path ${M} --tp $ARGS --json "{\\"a\\": 1}" --x \\x41$$
"""


def test_systemd():
    command = read(UNIT, "x.service")
    assert command.form == "systemd"
    assert command.interpreter == "/opt/bin/sglang"
    assert command.argv == (
        "--model-path",
        "${M}",
        "--tp",
        "${ARGS}",
        "--json",
        '{"a": 1}',
        "--x",
        "A$",
    )
    assert variables(command) == {"C": "3", "D": "4"}


def test_quadlet():
    command = read(
        "[Container]\nImage=docker.io/vllm/vllm-openai:v0.11.0\nEnvironment=A=1\n"
        "Volume=/srv:/models:ro\nExec=--model /models/x\n",
        "vllm.container",
    )
    assert (command.engine, command.argv) == ("vllm", ("--model", "/models/x"))
    assert command.outside("/models/x") == "/srv/x"


def test_engine_configurations():
    sglang = read("model-path: m\nspeculative_algorithm: EAGLE\ncuda-graph-bs: [1, 2]\n", "c.yaml")
    assert sglang.form == "config-yaml"
    assert sglang.argv[2:] == ("--speculative-algorithm", "EAGLE", "--cuda-graph-bs", "1", "2")
    vllm = read("model: m\nspeculative-config: {method: mtp}\nenforce-eager: true\n", "c.yaml")
    assert vllm.argv == ("m", "--speculative-config", '{"method": "mtp"}', "--enforce-eager")


def test_skypilot():
    command = read(
        "envs: {MODEL: m, KEY: }\nresources: {image_id: 'docker:lmsysorg/sglang:v0.5.6'}\n"
        "run: |\n  sglang serve --model-path $MODEL --nnodes $SKYPILOT_NUM_NODES\n",
        "task.yaml",
    )
    assert command.argv == ("--model-path", "m", "--nnodes", "${SKYPILOT_NUM_NODES}")
    assert variables(command) == {"MODEL": "m", "KEY": "${KEY}"}
    assert command.engine_version == "v0.5.6"


PROGRAM = """
import argparse, json, os, subprocess, sys
parser = argparse.ArgumentParser()
parser.add_argument("--tp", type=int, default=2)
args = parser.parse_args()
os.environ["A"] = "1"
env = {**os.environ, "B": str(args.tp)}
cmd = [sys.executable, "-m", "sglang.launch_server", "--model-path", MODEL]
cmd += ["--tp", f"{args.tp * 2}"]
for name, value in {"steps": 3}.items():
    cmd.extend([f"--speculative-num-{name}", str(value)])
def main():
    subprocess.Popen(cmd, env=env)
if __name__ == "__main__":
    main()
"""


def test_python_launcher():
    command = read(PROGRAM, "launch.py")
    assert command.form == "python-launcher"
    assert command.argv == (
        "--model-path",
        "$(MODEL)",
        "--tp",
        "4",
        "--speculative-num-steps",
        "3",
    )
    assert variables(command) == {"A": "1", "B": "2"}


def test_python_engine_class():
    command = read("from vllm import LLM\nLLM('m', speculative_config={'method': 'mtp'})\n", "a.py")
    assert command.entry == "vllm.LLM"
    assert command.argv == ("--model", "m", "--speculative-config", '{"method": "mtp"}')


def test_windows():
    batch = read(
        '@echo off\nset "M=org/m"\ndocker run ^\n  vllm/vllm-openai:v0.18.0 ^\n'
        '  --model %M% --speculative-config "{\\"method\\": \\"mtp\\"}"\n',
        "run.bat",
    )
    assert batch.argv == ("--model", "org/m", "--speculative-config", '{"method": "mtp"}')
    shell = read('$env:A = "1"\n$m = "org/m"\nsglang serve `\n  --model-path $m\n', "run.ps1")
    assert (shell.argv, variables(shell)) == (("--model-path", "org/m"), {"A": "1"})


def test_flags_alone():
    listed = read("--model-path m\n# c\n--speculative-algorithm EAGLE\n", "flags.txt")
    assert (listed.form, listed.engine, listed.entry) == ("flags-list", "sglang", "(none)")
    given = read_launch(["--model", "m", "--speculative-config", "{}"])
    assert (given.engine, given.form) == ("vllm", "arguments")
    settings = read('X_MODEL=m\nA=1\nX_ARGS="--speculative-algorithm EAGLE"\n', "x.env")
    assert (settings.form, settings.settings) == ("env-file", {"MODEL": "m"})
    assert variables(settings) == {"A": "1"}


def test_json():
    command = read('{"engine": "sglang", "argv": ["--model-path", "m"], "env": {"A": "1"}}')
    assert (command.form, command.argv) == ("json", ("--model-path", "m"))
    assert variables(command) == {"A": "1"}


def test_of_several_launches_the_one_that_speculates_most_is_described():
    text = "sglang serve --model-path a\nsglang serve --model-path b " + " ".join(EAGLE) + "\n"
    command = read(text)
    assert (command.command_index, command.argv[1]) == (1, "b")
    assert [other.command_index for other in command.others] == [0]


@pytest.mark.parametrize(
    ("text", "name", "message"),
    [
        ("a: [1, 2\n", "x.yaml", "x.yaml:2: not valid YAML"),
        ('{"argv": [', "x.json", "x.json:1: not valid JSON"),
        ("", "x.sh", "x.sh: no launch of SGLang or vLLM found"),
        ("services:\n  a: {image: x, command: 'sglang \"serve'}\n", "x.yaml", "cannot be split"),
    ],
)
def test_bad_input_is_one_clear_line(text, name, message):
    with pytest.raises(InputError, match=re.escape(message)):
        read(text, name)


def test_a_launch_file_is_found_by_its_copy(tmp_path):
    (tmp_path / "u.files").mkdir()
    (tmp_path / "u.files" / "a.env").write_text("A=1\n")
    unit = tmp_path / "u.service"
    unit.write_text(
        "[Service]\nEnvironmentFile=/etc/x/a.env\nExecStart=/bin/sglang serve --model m"
    )
    assert variables(read_launch_file(unit)) == {"A": "1"}
    assert LaunchFiles(unit).find("/etc/x/none.env") is None
