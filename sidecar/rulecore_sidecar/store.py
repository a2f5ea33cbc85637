"""What the guard service remembers across processes: SQLite, written before an answer leaves.

One transaction per decision (``BEGIN IMMEDIATE``, WAL, ``synchronous=NORMAL``): what was answered survives ``kill -9``
of the process at any point. Limit: a power failure may take the last commits with it.

The standard library's sqlite3 and not an ORM: this is the guard's hot path and its start-up (the service must be ready
in 150 ms). A store that is damaged is set aside with a date and begun anew; one of a newer version, a read-only or a
full disk leaves the service working in memory. Each of these is said in :attr:`Store.notices`.

Source: spec sidecar.md sections 4 and 5.
"""

import json
import sqlite3
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from rulecore_kernel.rules.guards.session import SHAPE, Scalars, Session, Write, from_plain

SCHEMA_VERSION = 1
MAX_SESSIONS = 500
MAX_DECISIONS = 100_000
_PRUNE_EVERY = 2_000
_EVERYTHING = (1 << 63) - 1
_WAL_PAGES = 4_000
"""Pages of the write-ahead log before a checkpoint, which is the one thing here that waits for the disk."""
_TALLY = "SELECT phase || '.' || action AS name, count(*) AS value FROM decision WHERE id <= :upto GROUP BY 1"

_SCHEMA = """
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE session(id INTEGER PRIMARY KEY, agent TEXT NOT NULL, session TEXT NOT NULL, agent_id TEXT NOT NULL,
    used_at REAL NOT NULL, UNIQUE(agent, session, agent_id));
CREATE TABLE record(session_id INTEGER NOT NULL REFERENCES session(id) ON DELETE CASCADE, map TEXT NOT NULL,
    key BLOB NOT NULL, value TEXT NOT NULL, position INTEGER NOT NULL, PRIMARY KEY(session_id, map, key)) WITHOUT ROWID;
CREATE TABLE operation(op_id TEXT PRIMARY KEY, session_id INTEGER NOT NULL REFERENCES session(id) ON DELETE CASCADE,
    owner INTEGER, started_at REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE decision(id INTEGER PRIMARY KEY, at REAL NOT NULL, session_id INTEGER NOT NULL, phase TEXT NOT NULL,
    action TEXT NOT NULL, tool TEXT NOT NULL, call_key TEXT NOT NULL, inputs TEXT NOT NULL, answer TEXT NOT NULL,
    generation INTEGER NOT NULL);
CREATE TABLE file_cache(path BLOB PRIMARY KEY, hash TEXT NOT NULL, at REAL NOT NULL, modified REAL NOT NULL)
    WITHOUT ROWID;
CREATE TABLE counter(name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
"""


class SessionName(NamedTuple):
    """Whose state it is: sub-agents of one session have their own."""

    agent: str
    session: str
    agent_id: str


class Operation(NamedTuple):
    """A call that was let through and has not come back."""

    op_id: str
    session_id: int
    owner: int | None
    started_at: float


class Recorded(NamedTuple):
    """One decision with its inputs, as it is kept."""

    phase: str
    action: str
    tool: str
    call_key: str
    inputs: str
    answer: str
    generation: int


class Cached(NamedTuple):
    """A file that agents were told about: its content's hash and when it was modified (seconds since the epoch)."""

    path: str
    hash: str
    modified: float


class Store:
    """The store of one workspace; ``path`` None keeps everything in memory."""

    def __init__(self, path: Path | None) -> None:
        self.notices: list[str] = []
        self.path = path
        self._db = self._open(path)
        self._keep_shape()
        self._position = int(self._db.execute("SELECT coalesce(max(position), 0) FROM record").fetchone()[0])
        self._since_prune = 0

    def _open(self, path: Path | None) -> sqlite3.Connection:
        if path is not None:
            try:
                return self._open_file(path)
            except sqlite3.DatabaseError as error:
                if isinstance(error, sqlite3.OperationalError) and "malformed" not in str(error):
                    self.notices.append(f"{path}: {error}; working in memory, nothing will be remembered")
                else:
                    aside = _set_aside(path)
                    self.notices.append(f"{path} was damaged ({error}); kept as {aside.name}, a new one was begun")
                    return self._open(path)
            except OSError as error:
                self.notices.append(f"{path}: {error.strerror}; working in memory, nothing will be remembered")
        return _prepared(sqlite3.connect(":memory:", isolation_level=None))

    def _open_file(self, path: Path) -> sqlite3.Connection:
        path.parent.mkdir(mode=0o700, exist_ok=True)
        ignore = path.parent / ".gitignore"
        if not ignore.exists():
            ignore.write_text("*\n", encoding="utf-8")
        db = sqlite3.connect(path, timeout=2.0, isolation_level=None)
        path.chmod(0o600)
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("PRAGMA synchronous=NORMAL")
        db.execute(f"PRAGMA wal_autocheckpoint={_WAL_PAGES}")
        (verdict,) = db.execute("PRAGMA quick_check(1)").fetchone()
        if verdict != "ok":
            raise sqlite3.DatabaseError(verdict)
        found = db.execute("PRAGMA user_version").fetchone()[0]
        if found > SCHEMA_VERSION:
            self.notices.append(
                f"{path} was written by a newer rulecore (schema {found}, this one knows {SCHEMA_VERSION}); it is left "
                "alone, working in memory. Upgrade rulecore to use it."
            )
            db.close()
            return _prepared(sqlite3.connect(":memory:", isolation_level=None))
        return _prepared(db)

    def _keep_shape(self) -> None:
        """Begin sessions anew when their records were written by a version with other fields."""
        row = self._db.execute("SELECT value FROM meta WHERE key='shape'").fetchone()
        if row is not None and row[0] != SHAPE:
            self.notices.append(f"{self.path}: another version of rulecore wrote it; sessions begin anew")
            with self._transaction():
                self._db.execute("DELETE FROM record")
        if row is None or row[0] != SHAPE:
            with self._transaction():
                self._db.execute("INSERT OR REPLACE INTO meta VALUES('shape', ?)", (SHAPE,))

    def close(self) -> None:
        """Close the database."""
        self._db.close()

    def session_id(self, name: SessionName) -> int:
        """The number of ``name``; a new one is given to a session that is not known."""
        with self._transaction():
            self._db.execute(
                "INSERT INTO session(agent, session, agent_id, used_at) VALUES(?,?,?,?) "
                "ON CONFLICT(agent, session, agent_id) DO UPDATE SET used_at=excluded.used_at",
                (*name, time.time()),
            )
        row = self._db.execute("SELECT id FROM session WHERE agent=? AND session=? AND agent_id=?", name).fetchone()
        return int(row[0])

    def load(self, session_id: int) -> Session:
        """The state of a session. Records that cannot be read are left out and said."""
        session = Session()
        rows = self._db.execute(
            "SELECT map, key, value FROM record WHERE session_id=? ORDER BY position", (session_id,)
        ).fetchall()
        for map_name, key, value in rows:
            try:
                session.apply([Write(map_name, _text(key), from_plain(map_name, json.loads(value)))])
            except (ValueError, AssertionError) as error:
                self.notices.append(f"session {session_id}: {map_name}[{key}] left out: {error}")
        return session

    def scalars(self) -> Iterator[tuple[SessionName, Scalars]]:
        """The single-valued part of every session that is known."""
        rows = self._db.execute(
            "SELECT s.agent, s.session, s.agent_id, r.value FROM session s JOIN record r ON r.session_id = s.id "
            "WHERE r.map = 'scalars' ORDER BY s.id"
        ).fetchall()
        for agent, session, agent_id, value in rows:
            scalars = from_plain("scalars", json.loads(value))
            if isinstance(scalars, Scalars):
                yield SessionName(agent, session, agent_id), scalars

    def commit(
        self,
        session_id: int,
        writes: Iterable[Write],
        *,
        opened: Operation | None = None,
        ended: Iterable[str] = (),
        decision: Recorded | None = None,
        cached: Iterable[Cached] = (),
    ) -> None:
        """Write everything that one message changed, in one transaction.

        Arguments: ``opened`` an operation that starts, ``ended`` the ids of those that are over; ``decision`` what was
        answered, counted by phase and action; ``cached`` entries for the file cache.
        """
        now = time.time()
        try:
            with self._transaction():
                self._write_records(session_id, writes)
                for op_id in ended:
                    self._db.execute("DELETE FROM operation WHERE op_id=?", (op_id,))
                if opened is not None:
                    self._db.execute("INSERT OR REPLACE INTO operation VALUES(?,?,?,?)", opened)
                for path, content, modified in cached:
                    self._db.execute(
                        "INSERT OR REPLACE INTO file_cache VALUES(?,?,?,?)", (_bytes(path), content, now, modified)
                    )
                if decision is not None:
                    self._db.execute(
                        "INSERT INTO decision(at, session_id, phase, action, tool, call_key, inputs, answer, "
                        "generation) VALUES(?,?,?,?,?,?,?,?,?)",
                        (now, session_id, *decision),
                    )
        except sqlite3.Error as error:
            self._say(f"could not remember a decision: {error}; going on from memory")
        self._since_prune += 1
        if self._since_prune >= _PRUNE_EVERY:
            self._since_prune = 0
            self.prune()

    def _write_records(self, session_id: int, writes: Iterable[Write]) -> None:
        latest = {(write.map, write.key): write.value for write in writes}
        for (map_name, key), value in latest.items():
            if value is None:
                self._db.execute(
                    "DELETE FROM record WHERE session_id=? AND map=? AND key=?", (session_id, map_name, _bytes(key))
                )
                continue
            self._position += 1
            plain = json.dumps(value, separators=(",", ":"))
            self._db.execute(
                "INSERT OR REPLACE INTO record VALUES(?,?,?,?,?)",
                (session_id, map_name, _bytes(key), plain, self._position),
            )

    def operations(self) -> list[Operation]:
        """Every call that was let through and has not come back."""
        return [Operation(*row) for row in self._db.execute("SELECT * FROM operation ORDER BY started_at")]

    def file_cache(self) -> Iterator[Cached]:
        """Every file that agents were told about."""
        for path, content, modified in self._db.execute("SELECT path, hash, modified FROM file_cache").fetchall():
            yield Cached(_text(path), content, modified)

    def count(self, name: str, by: int = 1) -> None:
        """Add ``by`` to the counter ``name``."""
        try:
            with self._transaction():
                self._add(name, by)
        except sqlite3.Error as error:
            self._say(f"could not count {name}: {error}")

    def _add(self, name: str, by: int) -> None:
        upsert = "INSERT INTO counter VALUES(?,?) ON CONFLICT(name) DO UPDATE SET value=value+excluded.value"
        self._db.execute(upsert, (name, by))

    def counters(self) -> dict[str, int]:
        """Every counter, and how often each action was answered in each phase."""
        found = dict(self._db.execute("SELECT name, value FROM counter").fetchall())
        for name, count in self._db.execute(_TALLY, {"upto": _EVERYTHING}).fetchall():
            found[name] = found.get(name, 0) + count
        return found

    def prune(self) -> None:
        """Keep the newest :data:`MAX_DECISIONS` decisions and :data:`MAX_SESSIONS` sessions."""
        with self._transaction():
            newest = self._db.execute("SELECT coalesce(max(id), 0) FROM decision").fetchone()[0]
            bounds = {"upto": newest - MAX_DECISIONS}
            for name, count in self._db.execute(_TALLY, bounds).fetchall():
                self._add(name, count)
            self._db.execute("DELETE FROM decision WHERE id <= :upto", bounds)
            self._db.execute(
                "DELETE FROM session WHERE id NOT IN (SELECT id FROM session ORDER BY used_at DESC LIMIT ?)",
                (MAX_SESSIONS,),
            )

    def _say(self, notice: str) -> None:
        if notice not in self.notices[-20:]:
            self.notices.append(notice)

    def _transaction(self) -> "_Transaction":
        return _Transaction(self._db)


class _Transaction:
    """``BEGIN IMMEDIATE`` … ``COMMIT``, rolled back when the body raises."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def __enter__(self) -> None:
        self._db.execute("BEGIN IMMEDIATE")

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self._db.execute("COMMIT")
        elif self._db.in_transaction:
            self._db.execute("ROLLBACK")


def _bytes(name: str) -> bytes:
    """A path as SQLite takes it: file names need not be Unicode, and then hold lone surrogates here."""
    return name.encode("utf-8", "surrogatepass")


def _text(stored: bytes) -> str:
    return stored.decode("utf-8", "surrogatepass")


def _prepared(db: sqlite3.Connection) -> sqlite3.Connection:
    db.execute("PRAGMA foreign_keys=ON")
    if db.execute("PRAGMA user_version").fetchone()[0] == 0:
        db.executescript(f"BEGIN IMMEDIATE; {_SCHEMA} PRAGMA user_version={SCHEMA_VERSION}; COMMIT;")
    return db


def _set_aside(path: Path) -> Path:
    stamp = time.strftime("%Y%m%d-%H%M%S")
    aside = path.with_name(f"{path.name}.damaged-{stamp}")
    path.rename(aside)
    for suffix in ("-wal", "-shm"):
        companion = path.with_name(path.name + suffix)
        if companion.exists():
            companion.rename(aside.with_name(aside.name + suffix))
    return aside
