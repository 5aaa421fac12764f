"""python3 -m shop serve | migrate [--check]"""

import argparse
import sys
from pathlib import Path

from shop import settings as environment
from shop.store import Store


def migrate(database_url: str, check: bool) -> int:
    store = Store(database_url)
    if check:
        pending = store.pending_migrations()
        print("\n".join(f"pending {name}" for name in pending) or "nothing is pending")
        return 1 if pending else 0
    applied = store.migrate()
    print("\n".join(f"applied {name}" for name in applied) or "nothing to apply")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python3 -m shop", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("serve", help="answer HTTP on $HOST:$PORT (127.0.0.1:8000)")
    step = verbs.add_parser("migrate", help="bring the database's schema up to date")
    step.add_argument("--check", action="store_true", help="only tell; exit 1 if something is pending")
    arguments = parser.parse_args()

    directory = Path.cwd()
    settings = environment.load(directory)
    if arguments.verb == "migrate":
        return migrate(settings.database_url, arguments.check)
    from shop.web import serve  # here, so that migrations run without aiohttp

    serve(settings, directory)
    return 0


if __name__ == "__main__":
    sys.exit(main())
