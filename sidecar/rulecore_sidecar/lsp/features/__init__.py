"""What the server does for the editor: one file for the methods that belong together, each with ``register``."""

from collections.abc import Callable

from ..server import EditorServer
from . import lifecycle, text_sync, watched_files

FEATURES: tuple[Callable[[EditorServer], None], ...] = (
    lifecycle.register,
    text_sync.register,
    watched_files.register,
)
"""What every client gets. The lifecycle adds what depends on the client and on the workspace's services."""
