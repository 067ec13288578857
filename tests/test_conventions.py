"""The house rules that a machine can keep."""

import ast
import dataclasses
import functools
import re
import subprocess
from graphlib import TopologicalSorter

import pytest

from shipping_portal.apps import REGISTERING
from shipping_portal.carrier.points import Fields
from tests.product_files import CODE, ROOT, named


@functools.cache
def trees() -> list[tuple[str, ast.AST]]:
    return [(named(path), ast.parse(path.read_text())) for path in CODE]


@functools.cache
def imported(tree: ast.AST) -> set[str]:
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.split(".")[0])
    return names


def test_only_the_carrier_package_speaks_http() -> None:
    speakers = {name for name, tree in trees() if imported(tree) & {"requests", "urllib3", "httpx", "aiohttp"}}
    assert {name for name in speakers if not name.startswith("shipping_portal/carrier/")} == set()


def test_the_sandbox_shares_no_code_with_the_rest() -> None:
    for name, tree in trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module and name.startswith("shipping_portal/sandbox/"):
                foreign = node.module.startswith(("shipping_portal", "orders", "tracking", "django"))
                assert not foreign or node.module.startswith("shipping_portal.sandbox"), name
            if isinstance(node, ast.ImportFrom) and node.module and not name.startswith("shipping_portal/sandbox/"):
                assert not node.module.startswith("shipping_portal.sandbox"), name


def test_only_pages_and_admin_import_from_template_tags() -> None:
    """Money and days are formatted in a plain module, `accounts/formatting.py`, which the tags import like everybody else."""
    pages = ("/templatetags/", "/views/", "/views.py", "/admin/", "/admin.py")
    for name, tree in trees():
        if any(part in f"/{name}" for part in pages):
            continue
        modules = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        assert not any("templatetags" in module.split(".") for module in modules), name


def test_there_is_no_import_cycle() -> None:
    """Not even one that only a type checker follows. TopologicalSorter raises an error with the cycle."""
    modules = {name[:-3].replace("/", ".").removesuffix(".__init__"): tree for name, tree in trees()}
    imports: dict[str, set[str]] = {module: set() for module in modules}
    for module in imports:
        for node in ast.walk(modules[module]):
            if isinstance(node, ast.ImportFrom) and node.module:
                found = {f"{node.module}.{alias.name}" for alias in node.names} & imports.keys()
                imports[module] |= found or {node.module} & imports.keys()
    assert list(TopologicalSorter(imports).static_order())


def test_every_point_of_the_contract_is_read_somewhere() -> None:
    """A point that nothing reads would ask an integrator a question and ignore the answer."""
    code = "\n".join(path.read_text() for path in CODE if path.parent.name != "sandbox")
    by_side = ("query_", "sender_", "receiver_")  # read by the names of a party's parts and of a query's values
    ours = {point.name for point in dataclasses.fields(Fields) if not point.name.startswith(by_side)}
    read = set(re.findall(r"contract(?:\(\)|_of\([\w.]+\))?\.(\w+)", code)) | set(re.findall(r'"(\w+)"', code))
    methods = code.partition("class Contract(Fields):")[2].partition("\ndef ")[0]
    read |= set(re.findall(r"self\.(\w+)", methods.partition("def operation")[2]))  # not by its checks alone
    assert ours - read == set()


def test_status_is_assigned_nowhere_but_in_the_model() -> None:
    for name, tree in trees():
        for node in ast.walk(tree):
            targets = node.targets if isinstance(node, ast.Assign) else []
            assigned = [t for t in targets if isinstance(t, ast.Attribute) and t.attr == "status"]
            inside_http = name.startswith(("shipping_portal/carrier/", "shipping_portal/sandbox/"))
            assert not assigned or inside_http, f"{name}:{node.lineno}"


def test_status_is_updated_only_through_its_entry_point() -> None:
    for name, tree in trees():
        if name == "orders/status/transitions.py" or name.startswith("shipping_portal/sandbox/"):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "update":
                assert "status" not in {keyword.arg for keyword in node.keywords}, f"{name}:{node.lineno}"


@pytest.mark.parametrize("package", ["PIL", "fitz", "pypdf", "PyPDF2", "pikepdf", "reportlab", "pdfplumber", "cv2"])
def test_no_pdf_or_image_library_comes_near_a_label(package: str) -> None:
    ours = {"shipping_portal/billing/pages/paper.py"} if package == "reportlab" else set()
    assert {name for name, tree in trees() if package in imported(tree)} == ours


@pytest.mark.parametrize("module", ["pickle", "yaml", "marshal", "shelve"])
def test_nothing_is_unpickled(module: str) -> None:
    assert {name for name, tree in trees() if module in imported(tree)} == set()


def test_no_rule_of_the_running_portal_is_an_assert() -> None:
    for name, tree in trees():
        assert not any(isinstance(node, ast.Assert) for node in ast.walk(tree)), name


def test_no_module_has_a_meaningless_name() -> None:
    empty = {"services.py", "utils.py", "helpers.py", "managers.py", "signals.py", "exceptions.py"}
    assert {named(path) for path in CODE if path.name in empty} == set()


LONGEST_LINE = 160  # of a template
DJANGO_CALLS = {"save_model"}  # signatures that are Django's, not ours


def test_decisions_are_numbered_one_after_the_other() -> None:
    numbers = [int(file.name.split("-")[0]) for file in sorted((ROOT / "docs" / "decisions").glob("*.md"))]
    assert numbers == list(range(1, len(numbers) + 1))


def test_boolean_parameters_are_named_where_they_are_given() -> None:
    for name, tree in trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and node.name not in DJANGO_CALLS:
                for argument in node.args.args:
                    flag = isinstance(argument.annotation, ast.Name) and argument.annotation.id == "bool"
                    assert not flag, f"{name}:{node.lineno} {argument.arg}"


def test_templates_hold_no_inline_script_or_style_and_mark_nothing_safe() -> None:
    for path in (ROOT / "templates").rglob("*.html"):
        text = path.read_text()
        assert not re.search(r"<script(?![^>]*\bsrc=)", text), named(path)
        assert not re.search(r"<style|\sstyle=|\son[a-z]+=\"", text), named(path)
        assert not re.search(r"\|\s*safe\b|autoescape off|mark_safe", text), named(path)


def test_no_line_of_a_template_is_longer_than_160_characters() -> None:
    """One tag a line. If a sentence depends on something, Python decides it."""
    for path in (ROOT / "templates").rglob("*.*"):
        long = [number for number, line in enumerate(path.read_text().splitlines(), 1) if len(line) > LONGEST_LINE]
        assert long == [], named(path)


def test_nothing_is_marked_safe_in_code() -> None:
    for path in CODE:
        assert "mark_safe" not in path.read_text(), named(path)


def test_no_file_names_a_package_registry() -> None:
    hosts = [".".join(words) for words in (("pypi", "org"), ("pythonhosted", "org"), ("npmjs", "org"))]
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout  # noqa: S607
    for name in listed.splitlines():
        path = ROOT / name
        if path.is_file() and path.suffix not in {".png"}:
            text = path.read_text(errors="replace")
            assert not any(host in text for host in hosts), name


def test_the_first_sentence_of_a_docstring_is_one_line() -> None:
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef)
    texts = [
        (name, ast.get_docstring(node) or "")
        for name, tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, kinds)
    ]
    assert len(texts) > 3000
    assert [(name, text) for name, text in texts if text.partition("\n\n")[0].count("\n")] == []


def test_no_todo_is_left() -> None:
    marks = re.compile(r"TODO|FIXME|XXX|raise NotImplementedError|coming soon", re.IGNORECASE)
    for path in [*CODE, *(ROOT / "templates").rglob("*.html")]:
        assert not marks.search(path.read_text()), named(path)


def test_what_registers_itself_is_imported_when_the_portal_starts() -> None:
    """A check, a signal's receiver or a metric that nothing imports is silent."""
    folder = ROOT / "shipping_portal"
    files = [*folder.glob("*.py"), *folder.glob("ops/*.py")]
    registers = {file for file in files if re.search(r"^@register\(|^@?\w+\.connect\b", file.read_text(), re.MULTILINE)}
    names = {".".join(file.relative_to(folder).with_suffix("").parts) for file in registers}
    assert names == set(REGISTERING)
