"""Text preparation that keeps offsets: normalised characters, JSON echoes blanked, sentences, language."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from .rules import word_lists

_FIXED = {
    **dict.fromkeys("“”„‟«»「」『』＂", '"'),
    **dict.fromkeys("‘’‚‛`´＇", "'"),
    **dict.fromkeys("‐‑‒−－", "-"),
    **dict.fromkeys("*_~\u20e3\ufe0f\u200b\ufeff", " "),
    **dict.fromkeys("⇒➜➡⟶⟹", "→"),
    "…": ".",
}
_SIMPLIFIED = str.maketrans(
    "邊數個還這應該顯確認為麼嗎會無檢驗證沒閉圓彎橫豎結論後來錯對換來過見當時實際總共兩隻單猜測傾側頂關於從紅點條將們現發線樣",
    "边数个还这应该显确认为么吗会无检验证没闭圆弯横竖结论后来错对换来过见当时实际总共两只单猜测倾侧顶关于从红点条将们现发线样",
)
_THOUGHT_KEYS = r"(?:thoughts?|reasoning|analysis|thinking|observation|explanation)"
_KEY = r"[\"'][a-z][a-z -]{0,40}[\"']\s*:"
_VALUE = (
    r"(?:\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|\[[^\[\]{}\n]*\]|[\[{]|-?\d[\d.eE+-]*|true|false|null)?"
)
_JSON_THOUGHT = re.compile(rf"[{{,]\s*[\"']{_THOUGHT_KEYS}[\"']\s*:", re.I)
_JSON_PAIR = re.compile(rf"{_KEY}\s*{_VALUE}")
_LOOSE_PAIR = re.compile(
    r"\baction\s*[:=]\s*\w+(?:\s*[,;\n]\s*\w+\s*[:=]\s*[\"']?\w+[\"']?)*"
    r"|\b(?:features|coords|coordinates|spatial map)\s*[:=]\s*(?:\"[^\"\n]*\"|\[[^\]\n]*\]|\S+)"
)
_SENTENCE_END = re.compile(r"(?<!\be\.g)(?<!\bi\.e)(?<!\bvs)(?<!\bca)[.!?]+(?=[\s\"')\]]|$)|\n+|[。！？]+")
_LIST_NUMBER = re.compile(r"[\s>#|-]*\d{1,2}")
_LONGEST = 600
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")
_CJK = re.compile(r"[\u4e00-\u9fff\u3007]")
_OTHER_SCRIPT = re.compile(
    r"[\u3040-\u30ff\uac00-\ud7af\u0400-\u04ff\u0590-\u07ff\u0900-\u0dff\u0e00-\u0e7f\u0370-\u03ff]"
)

_WORDS = word_lists("words")


def tail(text: str, longest: int) -> str:
    """The last `longest` characters from the start of a line on; the rest becomes spaces, to keep offsets."""
    if len(text) <= longest:
        return text
    start = text.find("\n", len(text) - longest)
    start = len(text) - longest if start < 0 else start
    return " " * start + text[start:]


def normalise(text: str) -> str:
    """Lower case, plain quotes and dashes, any script's decimal digits as ASCII; same length as `text`."""
    table = {ord(c): _plain(c) for c in set(text)}
    return text.translate(table).translate(_SIMPLIFIED)


def _plain(char: str) -> str:
    if char in _FIXED:
        return _FIXED[char]
    circled = unicodedata.decomposition(char).startswith("<circle>")
    value = unicodedata.digit(char, None) if circled else unicodedata.decimal(char, None)
    if value is not None:
        return str(int(value))
    if char.isspace() and char != "\n":
        return " "
    folded = (
        unicodedata.normalize("NFKC", char)
        if "\uff00" <= char <= "\uffef" and char not in "！？，：；"
        else char
    )
    folded = folded.lower()
    return folded if len(folded) == 1 else char


def blank_json(text: str) -> str:
    """Blank keys and values of JSON that the thought echoes, but keep the string under a `thought` key.

    A map's `features` and an answer's `value` are no statements of the thought (docs/metrics.md 3.5, mode 14).
    """
    text = _JSON_THOUGHT.sub(lambda m: "\n" * len(m[0]), text)
    text = _JSON_PAIR.sub(lambda m: "\n" * len(m[0]), text)
    text = _LOOSE_PAIR.sub(lambda m: "\n" * len(m[0]), text)
    return text.replace("\\n", " \n")


def sentences(text: str) -> Iterator[tuple[int, int]]:
    """Offsets [start, end) of the sentences; longer ones are cut at a space, so that work stays linear."""
    start = 0
    for match in _SENTENCE_END.finditer(text):
        if _LIST_NUMBER.fullmatch(text, start, match.start()) and text[match.end() : match.end() + 2].strip():
            continue
        yield from _pieces(text, start, match.end())
        start = match.end()
    yield from _pieces(text, start, len(text))


def _pieces(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    while start < end and text[start].isspace():
        start += 1
    while end - start > _LONGEST:
        cut = text.rfind(" ", start + _LONGEST // 2, start + _LONGEST)
        cut = start + _LONGEST if cut < 0 else cut
        yield start, cut
        start = cut
    if start < end:
        yield start, end


def language(text: str, fallback: str | None = "en") -> str | None:
    """`en`, `zh`, or None for any other language; `fallback` where there are no telling words.

    Votes of function words for Latin script, the script itself for the others.
    """
    if _OTHER_SCRIPT.search(text):
        return None
    words = _WORD.findall(text)
    han = len(_CJK.findall(text))
    latin = [w for w in words if not _CJK.search(w)]
    if han and han >= len(latin):
        return "zh"
    english = sum(w in _WORDS["english"] for w in latin)
    foreign = sum(w in _WORDS["other"] for w in latin) + sum(not w.isascii() for w in latin)
    if english > foreign:
        return "en"
    if english < foreign or len([w for w in latin if len(w) > 1]) > 2:
        return None
    return fallback
