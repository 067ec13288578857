"""Count the product's size in syntax nodes: `python tools/count_nodes.py`.

A node is an `ast.stmt` or an `ast.expr`. Unlike lines, they don't change with the way code is laid out. The product is
what runs at a sender's or an operator's request: tests, tools, the sandbox carrier and
migrations are counted separately.
"""

import ast
import functools
import statistics
import subprocess
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OTHERS = ("tests", "tools", "migrations", "sandbox")


def product_files() -> list[Path]:
    """Return the Python files of the product, as paths from the root of the project."""
    return [file for file in _files() if room_of(file) not in OTHERS]


def room_of(file: Path) -> str:
    """Return the part of the project that a file belongs to: an app, or one of OTHERS."""
    for name in OTHERS:
        if name in file.parts[:-1]:
            return name
    if file.parts[0] == "shipping_portal" and len(file.parts) > 2:
        return "/".join(file.parts[:2])
    return file.parts[0] if len(file.parts) > 1 else "shipping_portal"  # manage.py belongs to it too


def nodes_by_room(files: Iterable[Path]) -> Counter[str]:
    """Return the number of nodes of these files in each room."""
    rooms: Counter[str] = Counter()
    for file in files:
        rooms[room_of(file)] += count_nodes(file)
    return rooms


def count_nodes(file: Path) -> int:
    return sum(isinstance(node, (ast.stmt, ast.expr)) for node in ast.walk(_tree(file)))


def function_lengths() -> dict[str, int]:
    """Return how many lines each function of the product has without its docstring, by file and line."""
    return {
        f"{file}:{node.lineno} {node.name}": node.end_lineno - node.lineno + 1 - _docstring_lines(node)
        for file in product_files()
        for node in ast.walk(_tree(file))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno
    }


def _docstring_lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    first = node.body[0]
    return (first.end_lineno or 0) - first.lineno + 1 if ast.get_docstring(node) else 0


def _files() -> Iterator[Path]:
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "*.py"]
    for name in subprocess.check_output(listed, cwd=ROOT, text=True).split("\0"):
        if name and (ROOT / name).is_file():
            yield Path(name)


@functools.cache
def _tree(file: Path) -> ast.Module:
    return ast.parse((ROOT / file).read_text())


def main() -> None:
    rooms = nodes_by_room(_files())
    product = {room: nodes for room, nodes in rooms.most_common() if room not in OTHERS}
    for room, nodes in product.items():
        print(f"{room:30} {nodes:8,}")
    print(f"{'the product':30} {sum(product.values()):8,}\n")
    for room in OTHERS:
        print(f"{room:30} {rooms[room]:8,}")
    lengths = sorted(function_lengths().values())
    short = sum(length <= 40 for length in lengths) / len(lengths)
    print(f"\n{len(lengths):,} functions: median {statistics.median(lengths):g} lines, {short:.2%} at most 40")


if __name__ == "__main__":
    main()
