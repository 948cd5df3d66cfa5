"""From a shadow sentence to stances: what each mention says about its digit."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .chunks import DIGIT, Chunk, Shadow
from .model import TOPABLE
from .rules import Grammar, Rule

_REACH = 160
_NOT_ONLY = re.compile(r"\bnot\s+(?:only|just|merely|simply)\b")
_FRAGMENT_END = re.compile(
    r"^[\"']?\s*(?:$|[.,;:!()—–。，-]|\b(?:on|not|rather|instead|because|since|then|now|for|as|given|with|it|and|again|"
    r"after|due|in|at)\b)"
)
_COORDINATED = re.compile(
    r"^\s*,?\s*(?:or|nor|/)\s+(?:(?:maybe|perhaps|possibly|even|simply|just|also|a|an|the|something\s+like)\s+)*$"
)
_NOR = re.compile(r"\bnor\s+(?:is|are|can|could|does|do|would)\s+(?:it\s+be\s+)?$")
_GAPPED = re.compile(r"^\s*(?:for|on|in|as|at)\s+the\s+[\w\s-]{3,25}?,?\s*(?:and|or|nor)\s+$")
_STILL_IF = re.compile(
    r"(?!.*(?:[;.:—]|\b(?:but|however|so|here|this|now|currently|instead|it\s+is|it's|therefore|since|because)\b))"
)
_REPLY = re.compile(
    r"[\s\"')]*(?:(?P<no>no|nope|impossible)|(?P<yes>yes|yep|yeah|indeed|exactly|correct))\b"
    r"(?!,?\s*(?:wait|idea|clue|doubt|way\s+to))"
)
_HYPOTHESIS = re.compile(
    r"^\s*(?:\w+\s+)?(?:hypothesis|theory|option|possibility|reading|interpretation|idea|guess|assumption|case)\b"
    r"|^\s*(?:that\s+)?i\s+(?:\w+\s+)?(?:suspect|expect|imagine|hope|think)\b"
)
_DISCHARGED = re.compile(
    r"\ban?\s+(?P<how>[\w-]+)\s+(?P<what>\w+)\s+(?:means|would\s+mean|implies|indicates|makes\s+it|points\s+to|gives)"
    r"\s+¤.*\bthe\s+(?P=what)\s+(?:is|looks|seems|appears)\s+(?:to\s+be\s+|clearly\s+)?(?P=how)\b"
)
_AFFIRMED = re.compile(
    r"\bif\b[^;]*¤[^¤]*(?:,|;|—|\.)\s*(?:and|which)\s+(?:it|that|this|they)\s+"
    r"(?:is|does|has|do|are|indeed|clearly)\b"
)


@dataclass(frozen=True)
class Stance:
    """Kind (a belief kind or `negated`), strength, stated probability, and the rule that decided."""

    kind: str
    strength: str
    rule: str
    p: float | None = None


def stances(shadow: Shadow, grammar: Grammar, following: str = "") -> list[Stance | None]:
    """The stance of each chunk of the sentence; None where no rule licenses it as a belief.

    Args:
        shadow: The sentence.
        grammar: Rules of its language.
        following: The text after it, where a question may find its answer.
    """
    reply = _REPLY.match(following)
    out: list[Stance | None] = []
    for index, chunk in enumerate(shadow.chunks):
        stance = _discharged(shadow, chunk) or _stance(shadow, chunk, grammar)
        if out and stance and stance.kind in TOPABLE:
            between = shadow.text[shadow.chunks[index - 1].at + 1 : chunk.at]
            stance = _coordinated(out[-1], stance, between)
        if reply and stance and stance.rule == "question.mark":
            stance = Stance("negated" if reply["no"] else "asserted", "certain", "question.answered")
        out.append(stance)
    return out


def _coordinated(before: Stance | None, stance: Stance, between: str) -> Stance:
    """`the top of a 5 or a 2`, `exclude 0 for the left and 7 for the right`: one stance holds for both."""
    if before is None or before.kind in TOPABLE:
        return stance
    gapped = stance.rule == "plain.after_word" and _GAPPED.match(between)
    still_if = before.kind == "conditional" and stance.rule.startswith("plain.") and _STILL_IF.match(between)
    if gapped or still_if or _COORDINATED.match(between) or _NOR.search(between):
        return Stance(before.kind, before.strength, "coordinated")
    return stance


def _stance(shadow: Shadow, chunk: Chunk, grammar: Grammar) -> Stance | None:
    around = _around(shadow.text, chunk, grammar.boundary)
    if chunk.definite and grammar.definite:
        return _definite(around, grammar)
    stance = _first(around, grammar.rules)
    if stance is None or stance.kind == "generic":
        return None
    return _share(shadow, chunk, stance) if stance.kind == "share" else stance


def _around(text: str, chunk: Chunk, boundary: re.Pattern[str]) -> dict[str, str]:
    """The texts that rules search, by the name that a rule's `where` gives them.

    `full_pre` and `full_post` are the sentence before and after the mention, `pre` and `post` go to the clause
    boundaries, `lead` is `pre` with the boundary before it, `bare` is `pre` of a mention without determiner
    (else nothing that a rule matches), `clause` the clause with the mention as `◆`, or `◇` with a determiner.
    """
    full_pre = _NOT_ONLY.sub("also", text[max(0, chunk.at - _REACH) : chunk.at])
    full_post = text[chunk.at + 1 : chunk.at + 1 + _REACH]
    start, edge = 0, ""
    for match in boundary.finditer(full_pre):
        start, edge = match.end(), match[0]
    cut = boundary.search(full_post)
    pre = full_pre[start:]
    post = full_post[: cut.start() + (cut[0][:1] == "?")] if cut else full_post
    return {
        "pre": pre,
        "post": post,
        "full_pre": full_pre,
        "full_post": full_post,
        "lead": edge + pre,
        "bare": "\0" if chunk.article else pre,
        "clause": f"{pre}{'◇' if chunk.article else '◆'}{post}",
    }


def _first(around: dict[str, str], table: tuple[Rule, ...]) -> Stance | None:
    fragment = _FRAGMENT_END.match(around["post"]) is not None
    for rule in table:
        if (fragment or rule.kind != "fragment") and rule.pattern.search(around[rule.where]):
            return Stance("asserted" if rule.kind == "fragment" else rule.kind, rule.strength, rule.id)
    return None


def _definite(around: dict[str, str], grammar: Grammar) -> Stance:
    """A digit spoken of as known is asserted, unless it is `the 7 hypothesis`, `the 7 I suspect`."""
    hypothesis = _HYPOTHESIS.match(around["post"])
    if hypothesis is None:
        return _first(around, grammar.definite) or Stance("asserted", "certain", "definite")
    stance = _first({**around, "post": around["post"][hypothesis.end() :]}, grammar.rules)
    unsaid = stance is None or stance.kind in {"generic", "share"}
    return Stance("hedged", "possible", "definite.hypothesis") if unsaid or stance is None else stance


def _share(shadow: Shadow, chunk: Chunk, stance: Stance) -> Stance:
    """Strength of a stated probability: certain from .95, likely from .5."""
    after = [at for at in shadow.shares if at > chunk.at]
    before = [at for at in shadow.shares if at < chunk.at]
    p = shadow.shares[min(after) if stance.rule == "share.post" else max(before)]
    strength = "certain" if p >= 0.95 else "likely" if p >= 0.5 else "possible"
    return Stance("asserted" if p >= 0.95 else "hedged", strength, stance.rule, p)


def _discharged(shadow: Shadow, chunk: Chunk) -> Stance | None:
    """A conditional whose premise the sentence affirms (`a closed top means 9, and the top looks closed`)."""
    match = _DISCHARGED.search(shadow.text) or _AFFIRMED.search(shadow.text)
    if (
        match
        and match.start() < chunk.at < match.end()
        and DIGIT not in shadow.text[match.start() : chunk.at]
    ):
        return Stance("hedged", "likely", "cond.discharged")
    return None
