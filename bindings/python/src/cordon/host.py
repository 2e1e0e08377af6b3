"""What this host can enforce."""

from __future__ import annotations

import ctypes
import json
from typing import Any, Optional

from ._library import ErrorStruct, library, policy_error, take_text
from .errors import PolicyError


def doctor(profile: Optional[str] = None) -> dict[str, Any]:
    """The document of `cordon doctor --json`: each capability with its reason and remedy."""
    if profile is not None and "\0" in profile:  # C would read it up to there
        raise PolicyError(f"no profile: {profile!r}")
    error = ErrorStruct()
    text = library().cordon_doctor_json(profile.encode() if profile is not None else None, ctypes.byref(error))
    if not text:
        raise policy_error(error)
    document: dict[str, Any] = json.loads(take_text(text))
    return document
