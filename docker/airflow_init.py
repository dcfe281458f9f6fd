"""Before Airflow's parts start: bring the database up, make the pool of Foreset's tasks, put the passwords in place."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from foreset.orchestrate.names import POOL


def main() -> int:
    """Migrate, then make the pool unless somebody has made it, perhaps with other slots."""
    subprocess.run(["airflow", "db", "migrate"], check=True)
    pools = subprocess.run(["airflow", "pools", "get", POOL], check=False, capture_output=True)
    if pools.returncode:
        slots = os.environ.get("AIRFLOW__CORE__PARALLELISM", "4")
        subprocess.run(["airflow", "pools", "set", POOL, slots, "Tasks of Foreset"], check=True)
    secret = Path("/run/secrets/airflow_passwords")
    target = os.environ.get("AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE")
    if target and secret.is_file():
        handle = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(secret.read_text(encoding="utf-8"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
