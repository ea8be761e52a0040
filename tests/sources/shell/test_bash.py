"""Bash itself is the oracle: what a stub in place of the engine is given, and its variables."""

import json
import shutil
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from specpreflight.sources.shell import Shell

BASH = shutil.which("bash")
pytestmark = pytest.mark.skipif(BASH is None, reason="needs bash")

STUB = f"""#!{sys.executable}
import json, os, sys
seen = {{k: v for k, v in os.environ.items() if k.startswith(("E_", "NCCL"))}}
with open(os.environ["OUT__"], "a") as out:
    out.write(json.dumps([sys.argv[1:], seen]) + "\\n")
"""

#: (arguments of the script, script)
SCRIPTS = [
    (
        (),
        r"""
engine a "b c" 'd e' f\ g "h\"i" 'j'"k"l $'m\tn' "o\\p" "q\r" "\$x"
""",
    ),
    ((), r"""X="a b  c"; engine $X "$X" x${X}y "x${X}y" ${X}"""),
    (
        (),
        r"""
A=(1 "2 3" 4); engine "${A[@]}" ${A[@]} "${A[*]}" ${#A[@]} "${A[1]}" "${A[-1]}" "${!A[@]}" "${A[@]:1}" "${A[@]:0:2}"
""",
    ),
    (
        (),
        r"""
A=(); engine x "${A[@]}" y "a${A[@]}b"
""",
    ),
    (
        (),
        r"""
A=(1); A+=(2 3); A[5]=x; engine "${A[@]}" "${!A[@]}"
""",
    ),
    (
        (),
        r"""
declare -A M=([k]=v ["a b"]="c d"); engine "${M[k]}" "${M[a b]}"
""",
    ),
    (
        (),
        r"""X=abc; engine ${X%c} ${X#a} ${X%%b*} ${X##*b} ${X/b/Z} ${X//[ab]/_} ${X:1} ${X:1:1} ${X^^} ${X^} ${#X} ${X: -2}""",
    ),
    (
        (),
        r"""F=/a/b/c.tar.gz; engine "${F##*/}" "${F%.*}" "${F%%.*}" "${F%/*}" $(basename $F .gz) $(dirname $F)""",
    ),
    (
        (),
        r"""engine ${U:-d} ${U-d} "${U:-d e}" ${U:-d e} ${U:+x} ${U:="as s"} "$U" ; U=; engine ${U:-n} ${U-n}y ${U:+z}""",
    ),
    (
        (),
        r"""engine {a,b}c {1..4} {a..c} x{1,2}{y,z} {a} {a,} "{a,b}" {1..10..3} {"a":1,"b":2} '{"x":1}'""",
    ),
    (
        (),
        r"""engine $((1+2*3)) $((7/2)) $((-7/2)) $((7%3)) $((2**3**2)) $((1<2)) $((3>2?10:20)) $(( (1+2)*3 )) $((0x10)) $((010))""",
    ),
    ((), r"""i=5; ((i++)); ((i+=2)); engine $i $((i--)) $i; let "i=i*2"; engine $i"""),
    ((), r"""for i in 1 2 3; do [ $i -eq 2 ] && continue; engine $i; done"""),
    ((), r"""for ((i=0;i<3;i++)); do engine $i; done"""),
    (
        ("--a", "1", "-b"),
        r"""
while [[ $# -gt 0 ]]; do case "$1" in --a) A=$2; shift 2;; --b|-b) B=1; shift;; *) shift;; esac; done; engine "$A" "$B"
""",
    ),
    (
        (),
        r"""f() { local x=$1; shift; engine "$x" "$@"; return 3; }; f a "b c" d || engine failed""",
    ),
    ((), r"""f() { E_X=1 engine "$@"; }; export NCCL_A=1; NCCL_B=2 f "x y"; engine z"""),
    (
        (),
        r"""case abc in a*) engine 1;; esac; case "a*" in "a*") engine 2;; esac; case x in y|x) engine 3;;& *) engine 4;; esac; case q in q) engine 5;& z) engine 6;; esac""",
    ),
    (
        (),
        r"""
if [[ "abc" == a* && "x" != "y" ]]; then engine yes; else engine no; fi; [[ "v0.5.9" =~ ^v([0-9]+)\.([0-9]+) ]] && engine "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}"
""",
    ),
    ((), r"""if [ "a" = "b" ] || [ -z "" ]; then engine 1; elif true; then engine 2; fi"""),
    (
        (),
        r"""read -r a b c <<< "1 2 3 4"; engine "$a" "$b" "$c"; IFS=, read -ra L <<< "x,y z,w"; engine "${L[@]}"; IFS='|' read -r p q <<<"u|v"; engine $p $q""",
    ),
    (
        (),
        r"""cat > f.sh <<'EOF'
engine in "$1"
EOF
. ./f.sh hi""",
    ),
    (
        (),
        r"""
X=$(cat <<EOF
a $HOME b
EOF
); engine "$X"
""",
    ),
    (
        (),
        r"""
X='--a 1 --b "2 3"'; engine $X; eval engine $X; eval "engine $X"
""",
    ),
    (
        (),
        r"""
CMD="engine --x 1"; $CMD --y; C=(engine --z "a b"); "${C[@]}"
""",
    ),
    (
        (),
        r"""
set -- a "b c"; engine "$@" $# "$1" ${2} $*; shift; engine "$1"
""",
    ),
    (
        (),
        r"""
engine a `echo b c` "`echo d e`" $(echo "f  g") "$(echo "h  i")"
""",
    ),
    (
        (),
        r"""engine x 2>&1 | cat; engine y > /dev/null 2>&1 &
wait""",
    ),
    (
        (),
        r"""export E_A="x y" E_B; E_B=2; E_C=3; export E_C; engine; unset E_A; engine; export -n E_C; engine""",
    ),
    ((), r"""set -a; E_Z=1; set +a; E_Y=2; engine"""),
    ((), r"""(export E_S=1; engine in); engine out"""),
    ((), r"""{ E_G=1; export E_G; }; engine"""),
    ((), r"""true && engine a || engine b; false && engine c || engine d; ! false && engine e"""),
    ((), r"""X=1; if (( X == 1 )); then engine eq; fi; (( X > 5 )) || engine small"""),
    (
        (),
        r"""
printf -v V '%s-%03d' a 7; engine "$V" $(printf '%s ' a b c) "$(printf '%s\n' x y)"
""",
    ),
    (
        (),
        r"""engine a \
  b \
  # comment
  c""",
    ),
    (
        (),
        r"""engine a # comment \
engine b#c "#d" '#e' \#f""",
    ),
    (
        (),
        r"""
x=(a b \
 c # comment
 "d e"
); engine "${x[@]}"
""",
    ),
    (
        (),
        r"""
engine --json '{"a": "b"}' --j2 "{\"a\": \"$HOME\"}" --j3 {\"a\":1} --j4 "{'a': 1}"
""",
    ),
    (
        (),
        r"""
engine --x=$(echo 1) --y="a b"c --z= --w=""
""",
    ),
    (
        (),
        r"""f() { for x in "$@"; do engine "$x"; done; }; f "a b" c; g() (E_Q=1; export E_Q; engine sub); g; engine after""",
    ),
    (
        (),
        r"""
a=1 b=$a; engine "$a" "$b"; a=2 engine "$a"
""",
    ),
    ((), r"""X="a:b:c"; IFS=:; engine $X; unset IFS; engine $X"""),
    (
        (),
        r"""
mapfile -t M < <(printf 'l1\nl2 x\n'); engine "${M[@]}"
""",
    ),
    ((), r"""while read -r l; do engine "$l"; done < <(echo "a b"; echo c)"""),
    ((), r"""echo "p q" | while read -r a b; do engine "$b" "$a"; done"""),
    ((), r"""n=3; engine $(seq $n) $(seq -s, 1 3) $(seq 1 2 5)"""),
    (
        (),
        r"""
engine "${1:-none}" "${@:2}" "$0"
""",
    ),
    (
        (),
        r"""
v=abc; r=v; engine "${!r}" "${v@Q}"
""",
    ),
    ((), r"""until [ "${k:-0}" -ge 2 ]; do k=$(( ${k:-0} + 1 )); engine $k; done"""),
    (
        (),
        r"""x="a
b"; engine "$x" $x""",
    ),
    (
        (),
        r"""
f() { echo "--a 1"; }; engine $(f) "$(f)"
""",
    ),
    (
        (),
        r"""
local_test() { local -a arr=("$@"); arr+=(z); engine "${arr[@]}"; }; local_test 1 "2 3"
""",
    ),
    (
        (),
        r"""select_model() { case $1 in big) echo "org/Big";; *) echo "org/Small";; esac; }; M=$(select_model big); engine $M""",
    ),
    ((), r"""ARGS=""; ARGS="$ARGS --a 1"; ARGS+=" --b 2"; engine $ARGS"""),
    ((), r"""test -n "x" -a 1 -lt 2 && engine ok; [ ! -z "x" -o "a" = "b" ] && engine ok2"""),
    (
        ("-m", "mod", "-v", "-t", "8"),
        r"""
while getopts "m:t:v" o; do case $o in m) M=$OPTARG;; t) T=$OPTARG;; v) V=1;; esac; done; engine "$M" "$T" "$V"
""",
    ),
    (
        (),
        r"""
s="x=1,y=2"; engine "${s//,/ }" ${s//,/ } "${s%%,*}" "${s#*,}"
""",
    ),
    (
        (),
        r"""
d="a.b.c"; IFS=. read -r x y z <<< "$d"; engine $x $y $z; arr=(${d//./ }); engine "${arr[2]}"
""",
    ),
    ((), r"""function foo { engine foo "$1"; }; foo bar"""),
    (
        (),
        r"""if ! [[ -n "" ]]; then engine neg; fi; [[ ( a == a ) && ! ( b == c ) ]] && engine paren""",
    ),
    (
        (),
        r"""x=5; [[ $x -gt 3 ]] && engine gt; [[ $x < 6 ]] && engine lt; [ "$x" -ne 5 ] || engine same""",
    ),
    (
        (),
        r"""
engine "a$(echo b "c")d" "${X:-$(echo z)}" "${X:-"q w"}" ${X:-'s t'} "${X:-'s t'}"
""",
    ),
    ((), r"""echo a > t1; engine $(cat t1) $(< t1)"""),
    ((), r"""engine -1 -- - --x"""),
    ((), r"""exec engine last; engine never"""),
    ((), r"""E_M=1 E_N="$E_M" engine; env E_P=1 true"""),
    ((), r"""trap 'echo bye' EXIT; set -euo pipefail; engine ok; exit 0; engine no"""),
    ((), r"""nohup_cmd="engine"; ${nohup_cmd} a; "$nohup_cmd" b"""),
    (
        (),
        r"""
x=$'a\nb'; engine "$x"; engine $"loc"
""",
    ),
    ((), r"""engine ${x:-a{1,2}b} {x,$HOME}"""),
    (
        (),
        r"""for f in a b; do for g in 1 2; do [ $g = 2 ] && continue 2; engine $f$g; done; done""",
    ),
    ((), r"""a=(1 2 3); for i in "${!a[@]}"; do engine $i ${a[$i]} ${a[i]} $((a[i]*2)); done"""),
    ((), r"""i=0; a=(x y); engine ${a[$((i+1))]} ${a[i]}; i=1; engine ${a[i]}"""),
    (
        (),
        r"""[ -n "$UNSETT" ] && engine set; [[ -z ${UNSETT:-} ]] && engine unset; [ -z "$UNSETT" ] && engine unset2""",
    ),
    ((), r"""f() { engine "${FUNCNAME:-x}" ; }; engine a;: comment; :; engine b"""),
    ((), r"""x='a*b'; engine "$x" '*.nonexist' *.nonexist [ngram] a?zz"""),
    (
        (),
        r"""cat <<EOF | while read -r line; do engine "$line"; done
one $((1+1))
two
EOF""",
    ),
    ((), r"""engine <<< "in" a; engine < /dev/null b 2> /dev/null"""),
    ((), r"""if engine cond; then engine then; fi; engine x || engine y; engine z && engine w"""),
    (
        (),
        r"""tr_test=$(echo "AbC" | tr 'A-Z' 'a-z'); engine $tr_test $(echo "a b c" | cut -d' ' -f2) $(echo "a b c" | awk '{print $3}') $(echo x,y | tr , ' ')""",
    ),
    ((), r"""engine "\`date\`" '$(x)' "\$(y)" \$z"""),
    (
        (),
        r"""
A="x"; A="${A} y"; export E_L="${A}"; engine "${E_L}"
""",
    ),
    ((), r"""f() { local v="${1:?need}"; engine "$v"; }; f q"""),
    ((), r"""coproc true; engine after"""),
]


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bin")
    stub = folder / "engine"
    stub.write_text(STUB)
    stub.chmod(0o755)

    def run(script, arguments=()):
        out = folder / "out"
        out.write_text("")
        subprocess.run(
            [BASH, "-c", script, "x.sh", *arguments],
            env={"PATH": f"{folder}:/usr/bin:/bin", "OUT__": str(out), "HOME": "${HOME}"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=20,
            cwd=folder,
            check=False,
        )
        return [json.loads(line) for line in out.read_text().splitlines()]

    return run


def ours(script, arguments=()):
    found = []

    def start(execution):
        if execution.words[0] == "engine":
            seen = {
                name: known.value
                for name, known in execution.environment.items()
                if name.startswith(("E_", "NCCL"))
            }
            found.append([list(execution.words[1:]), seen])

    Shell(start, lambda name: None, {}, arguments, "x.sh").run(script)
    return found


@pytest.mark.parametrize(("arguments", "script"), SCRIPTS)
def test_gives_the_engine_what_bash_gives_it(real, arguments, script):
    assert ours(script, arguments) == real(script, arguments)


PIECES = st.sampled_from(
    [
        "-a",
        "--x",
        " ",
        "  ",
        "'q r'",
        '"q  r"',
        '"$A"',
        "${A}",
        '"${L[@]}"',
        "${L[@]}",
        "\\ ",
        "\\\n",
        "=",
        "{1,2}",
        "{a..c}",
        "$((1+2))",
        "$(echo m n)",
        '"$(echo m  n)"',
        "${A#x}",
        "${U:-d e}",
        '"${U:-d e}"',
        "'",
        '"',
        "#",
        "# c",
        "''",
        '""',
        "\\$A",
        "${A/x/ }",
        "*",
        "${#A}",
        "\n",
        ";",
        "$'t\\tu'",
        "[n]",
        "${L[1]}",
        "${A:1:2}",
        ",",
    ]
)


@settings(
    max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(PIECES, max_size=9))
def test_splits_words_as_bash_does(real, pieces):
    script = "set -f; A='x y  z'; L=('one' 'two 2' '')\nengine " + "".join(pieces) + "\n"
    assert ours(script) == real(script)
