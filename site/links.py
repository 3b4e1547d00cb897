"""Checks each link inside the site: its page is there, and has the anchor.

    python3 site/links.py FOLDER
"""
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.anchors, self.links = set(), []
        # Whether it has Rust that mdBook would run on a server.
        self.asks = False
        self.feed(path.read_text())

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name in ("id", "name") and value:
                self.anchors.add(value)
            if name == "class" and "playground" in (value or "").split():
                self.asks = True
            if name in ("href", "src") and value:
                self.links.append((value, self.getpos()[0]))


def main():
    root = Path(sys.argv[1]).resolve()
    # The playground is a page of its own, with its own test. Of print.html, all is on other pages.
    left_out = {root / "print.html", root / "404.html", root / "toc.html"}
    paths = [path for path in sorted(root.rglob("*.html")) if path not in left_out and path.parent.name != "playground"]
    pages = {path: Page(path) for path in paths}
    if not pages:
        sys.exit(f"site/links.py: expected pages below {root}, found none")
    wrong = count = 0
    for path, page in pages.items():
        if page.asks:
            print(f"{path.relative_to(root)}: asks a server")
            wrong += 1
        for link, line in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            count += 1
            to = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            anchor = unquote(parts.fragment)
            known = pages.get(to)
            if not to.exists() or (anchor and known and anchor not in known.anchors):
                print(f"{path.relative_to(root)}:{line}: nothing is at {link}")
                wrong += 1
    print(f"site/links.py: {count} links in {len(pages)} pages, {wrong} of them wrong")
    sys.exit(1 if wrong else 0)


main()
