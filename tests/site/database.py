"""database.py - where a site of the tests keeps everything: a new file, or, where with-postgres
(tests/unit/store) runs one, a new database of that PostgreSQL."""

from __future__ import annotations

import itertools
import os
import sqlite3
import subprocess
import urllib.parse
from contextlib import closing
from pathlib import Path

SERVER = os.environ.get("TOKGRID_TEST_POSTGRES", "")
PSQL = os.environ.get("TOKGRID_TEST_PSQL", "psql")
NUMBERS = itertools.count(1)


class Database:
    """An SQLite file, which the site makes."""

    is_postgres = False

    def __init__(self, place: str, options: tuple[str, ...] = ()) -> None:
        self.place = place  # what --db says
        self.options = options  # of `tokgrid serve`

    def seen_from_elsewhere(self) -> Database:
        """For processes in another folder than the one whose tokgrid.db it is."""
        return type(self)(self.place, ("--db", self.place))

    def execute(self, sql: str) -> list[str]:
        """The first column of what comes back."""
        with closing(sqlite3.connect(self.place, timeout=30)) as connection:
            with connection:
                return [str(row[0]) for row in connection.execute(sql)]

    def drop(self) -> None:
        """Files go with the folder."""

    def forget_rates(self) -> None:
        """Limits count from the beginning: for tests that send more than a user may."""
        self.execute("DELETE FROM rate")


class PostgresDatabase(Database):
    is_postgres = True

    def seen_from_elsewhere(self) -> Database:
        return self

    def execute(self, sql: str) -> list[str]:
        return psql(self.place, sql)

    def drop(self) -> None:
        psql(SERVER, f"DROP DATABASE {self.name} WITH (FORCE)")

    @property
    def name(self) -> str:
        return urllib.parse.urlsplit(self.place).path.strip("/")

    def allow_connections(self, allowed: bool) -> None:
        """False: as when the server is down, for whoever is connected too."""
        psql(SERVER, f"ALTER DATABASE {self.name} ALLOW_CONNECTIONS {allowed}")
        if not allowed:
            self.end_connections()

    def end_connections(self) -> None:
        """As when the server is restarted."""
        psql(SERVER, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                     f"WHERE datname = '{self.name}'")


def psql(url: str, sql: str) -> list[str]:
    done = subprocess.run(
        [PSQL, "-XAtq", "-v", "ON_ERROR_STOP=1", "-c", sql, url],
        capture_output=True, text=True, timeout=120,
    )
    if done.returncode != 0:
        raise OSError(f"{sql}: {done.stderr}")
    return done.stdout.splitlines()


def new_database(folder: Path) -> Database:
    if not SERVER:
        return Database(str(folder / "tokgrid.db"))
    name = f"site_{next(NUMBERS)}"
    psql(SERVER, f"CREATE DATABASE {name}")
    url = urllib.parse.urlsplit(SERVER)._replace(path=f"/{name}")
    place = f"{url.scheme}://{url.netloc}{url.path}?{url.query}"
    return PostgresDatabase(place, ("--db", place, "--threads", "4"))
