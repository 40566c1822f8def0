"""click's own messages in both languages: the English templates of the catalogue `usage` are click's, so that its text
tells which message it is and what its values are. What no template fits stays English."""

from __future__ import annotations

from provision.messages import Text
from provision.messages.recognising import recognised


def told(text: str) -> str:
    """A text of click as a message; its English is the same."""
    return text if isinstance(text, Text) else recognised(text, "usage")
