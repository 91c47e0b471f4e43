"""Reads a page as a browser would: a text -> its tags; refuses one that is not well formed."""
from html.parser import HTMLParser


class Reader(HTMLParser):
    """Start tags with their attributes; every element is closed in its turn."""

    VOID = {"meta", "link", "img", "line", "rect", "circle", "polyline"}

    def __init__(self, text: str):
        super().__init__()
        self.tags, self.open, self.text = [], [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        if tag not in self.VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)

    def all(self, tag: str) -> list[dict]:
        return [attrs for name, attrs in self.tags if name == tag]
