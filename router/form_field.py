"""One field of a form that may hold files: found without copying the rest."""

import re
from email.message import Message

# Forms of engines have a dozen.
FIELDS_MAX = 64
_NAME = re.compile(rb'^content-disposition:[^\r\n]*;\s*name="?([^";\r\n]*)"?', re.I | re.M)


def boundary(content_type: str) -> bytes | None:
    """What parts the fields of a `multipart/form-data` body, None where it is no such body."""
    if not content_type.lstrip().lower().startswith("multipart/form-data"):
        return None
    message = Message()
    message["Content-Type"] = content_type
    told = message.get_boundary()
    if message.get_content_type() != "multipart/form-data" or not told:
        return None
    return told.encode("utf-8", "surrogateescape")


def form_field(body: bytes, parting: bytes, wanted: str) -> str | None:
    """The text of the first field of that name; None where there is none, or the form is broken."""
    mark = b"--" + parting
    at = body.find(mark)
    for _ in range(FIELDS_MAX):
        head_at = at + len(mark)
        end = body.find(b"\r\n" + mark, head_at)
        if at < 0 or end < 0:
            return None
        text_at = body.find(b"\r\n\r\n", head_at, end)
        named = _NAME.search(body[head_at:text_at]) if text_at >= 0 else None
        if named is not None and named[1] == wanted.encode():
            return body[text_at + 4 : end].decode("utf-8", "replace")
        at = end + 2
    return None
