"""Makes the pages of the site from the files of the project.

    python3 site/pages.py FOLDER

The pages stand where their files stand, so that links between documents stay as they are. Tests of the suite
are on a page for each folder, models and libraries on a page each, and any other file that a document links to
has a page with its text.
"""
import os
import re
import sys
from pathlib import Path

# A link, or code in a line, in which nothing is a link.
LINK = re.compile(r"(?<!!)\[([^\[\]]*(?:\[[^\[\]]*\][^\[\]]*)*)\]\(([^()\s]+)\)|`[^`\n]+`")
BLOCK = re.compile(r"(^ {0,3}```.*?^ {0,3}```[ \t]*$|^ {4}[^\n]*\n(?:(?: *\n)* {4}[^\n]*\n)*)", flags=re.M | re.S)
# A whole program in an indented block: its name, and a rule.
PROGRAM = re.compile(r"    litmus \S+(?: *//.*)?\n(?=.*^ *-{3,}$)", flags=re.M | re.S)
# A command that prints a whole program.
PRINTED = re.compile(r"(```console\n\$ litmus fmt [^\n]+\n)(litmus \S+\n.*?)\s*```$", flags=re.S)
LANGUAGES = {".litmus": "litmus", ".cat": "cat", ".lib": "lib", ".rs": "rust", ".c": "c", ".json": "json", ".yml": "yaml", ".js": "js"}


class Site:
    def __init__(self, out):
        self.out = out
        self.documents = [
            path
            for folder in (".", "docs", "litmus-suite", "cli", "executor")
            for path in sorted(Path(folder).glob("*.md" if folder == "." else "**/*.md"))
            if "target" not in path.parts
        ]
        self.others = {}  # files that documents link to, and their pages

    def page_of(self, path, anchor):
        """Where a link to a file or folder leads."""
        parts = path.parts
        if not path.exists():
            sys.exit(f"site: {path} is linked to, and is not there")
        if path.suffix == ".md" and path in self.documents:
            return self.folder_page(path) or path, anchor
        if parts[0] == "litmus-suite" and len(parts) == 3 and path.suffix == ".litmus":
            return Path(parts[0], parts[1] + ".md"), path.stem
        if parts[0] == "litmus-suite" and len(parts) == 2 and path.is_dir():
            return Path(parts[0], parts[1] + ".md"), anchor
        if path.is_dir() and (path / "README.md") in self.documents:
            return path / "README.md", anchor
        if path.parent in (Path("model/models"), Path("model/libraries")):
            return path.with_suffix(path.suffix + ".md"), anchor
        if path.is_dir():
            page = path / "index.md"
        else:
            page = path.with_name(path.name + ".md")
        self.others[path] = page
        return page, anchor

    @staticmethod
    def folder_page(path):
        """A folder of the suite has one page, with the text of its README."""
        parts = path.parts
        is_folder = parts[0] == "litmus-suite" and len(parts) == 3 and path.name == "README.md"
        return Path(parts[0], parts[1] + ".md") if is_folder else None

    def relinked(self, text, at, page):
        """A document's text, its links to files led to pages."""

        def one(found):
            label, target = found.groups()
            if target is None:
                return found.group()
            if "://" in target or target.startswith(("#", "mailto:")):
                return found.group()
            path, _, anchor = target.partition("#")
            path = Path(os.path.normpath(at.parent / path))
            to, anchor = self.page_of(path, anchor)
            # mdBook makes index.html of a README, but not in links.
            to = to.with_name("index.md") if to.name == "README.md" else to
            to = os.path.relpath(to, page.parent)
            return f"[{label}]({to}{'#' + anchor if anchor else ''})"

        parts = BLOCK.split(text)
        return "".join(part if index % 2 else LINK.sub(one, part) for index, part in enumerate(parts))

    def write(self, page, text):
        path = self.out / page
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def document(self, path):
        text = path.read_text()
        page = self.folder_page(path) or path
        # What follows a fence's language is for the tests.
        text = re.sub(r"^(```[a-z]+) [^\n]+$", r"\1", text, flags=re.M)
        parts = BLOCK.split(text)
        text = "".join(fenced(part) if index % 2 else part for index, part in enumerate(parts))
        return page, self.relinked(text, path, page)


def fenced(block):
    """A block of a document; a whole program is one of the language, so that it has its colors and its button."""
    if printed := PRINTED.match(block):
        return f"{printed[1]}```\n\n```litmus\n{printed[2]}\n```"
    if not PROGRAM.match(block):
        return block
    lines = block.rstrip().splitlines()
    return "```litmus\n" + "".join(f"{line[4:]}\n" for line in lines) + "```\n"


def code(path):
    return f"```{LANGUAGES.get(path.suffix, 'text')}\n{path.read_text().rstrip()}\n```\n"


def suite_page(folder, head):
    text = head or f"# {folder.name}\n"
    for path in sorted(folder.rglob("*.litmus")):
        text += f'\n<a id="{path.stem}"></a>\n\n## {path.stem}\n\n{code(path)}'
    return text


def rendered(path):
    """A model or library: its text, with each table as a table."""
    text, block = f"# {path.name}\n\n", []

    def flush():
        nonlocal text
        if any(line.strip() for line in block):
            text += "```cat\n" + "\n".join(block).strip("\n") + "\n```\n\n"
        block.clear()

    rows = []

    def table():
        nonlocal text
        head, *body = [[cell.strip() for cell in row.split("|")[1:]] for row in rows]
        # What stands behind the last bar is a remark.
        head, body = head[:-1] + ["remark"], [row[:-1] + [row[-1].lstrip("/ ")] for row in body]
        for row in [head, ["---"] * len(head), *body]:
            text += "| " + " | ".join(row) + " |\n"
        text += "\n"
        rows.clear()

    for line in path.read_text().splitlines():
        if line.startswith("|"):
            flush()
            rows.append(line)
        else:
            if rows:
                table()
            block.append(line)
    if rows:
        table()
    flush()
    return text


def listing(folder):
    return f"# {folder}\n\n" + "".join(f"- `{path.name}`\n" for path in sorted(folder.iterdir()))


def main():
    site = Site(Path(sys.argv[1]))
    pages = dict(site.document(path) for path in site.documents)
    summary = Path("site/SUMMARY.md").read_text()

    folders = sorted(path for path in Path("litmus-suite").iterdir() if path.is_dir())
    summary += "\n# The suite\n\n- [How to read it](litmus-suite/README.md)\n"
    for folder in folders:
        page = Path("litmus-suite", folder.name + ".md")
        pages[page] = suite_page(folder, pages.get(page, ""))
        summary += f"- [{folder.name}]({page})\n"

    for title, place in (("Models as text", "model/models"), ("Libraries as text", "model/libraries")):
        summary += f"\n# {title}\n\n"
        for path in sorted(Path(place).iterdir()):
            page = path.with_suffix(path.suffix + ".md")
            pages[page] = rendered(path)
            summary += f"- [{path.name}]({page})\n"

    for path, page in site.others.items():
        pages[page] = listing(path) if path.is_dir() else f"# {path}\n\n{code(path)}"

    # Documents that the summary leaves out, then the files that they link to.
    def unlisted(chosen):
        return [page for page in sorted(chosen) if f"({page})" not in summary]

    for title, chosen in (("More", [page for page in pages if page not in site.others.values()]), ("Files", site.others.values())):
        summary += f"\n# {title}\n\n" + "".join(f"- [{page.with_suffix('')}]({page})\n" for page in unlisted(chosen))
    for page, text in pages.items():
        site.write(page, text)
    site.write(Path("SUMMARY.md"), summary)
    print(f"site: {len(pages)} pages")


main()
