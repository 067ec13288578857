#!/bin/sh
# Restore the newest backup of a folder, or one file, into a database beside the one in use, see that the copy is
# recognised as restored and that after_restore fences it, count what is in it, and drop it again:
#   deploy/restore-drill.sh /srv/backups
# Ends with 0 when the backup can be restored. The database in use, its mark and the broker are not touched.
# Outside of compose, both name what a program is run through, and may be empty for this very machine:
#   POSTGRES  for createdb, pg_restore, psql and dropdb, as the owner, by the PG… variables of libpq
#   PORTAL    for `env` and `python manage.py …`, with the portal's settings and MIGRATE_DATABASE_URL in its environment
set -eu
file=$(realpath "${1:?name the folder of the backups, or one of them}")
cd "$(dirname "$0")/.."
compose="docker compose --env-file .env -f deploy/compose.yaml"
copy="portal_drill${DRILL:+_$DRILL}" # DRILL tells two drills at a time apart
postgres=${POSTGRES-$compose exec -T --env PGUSER=portal --env PGDATABASE=postgres postgres}
portal=${PORTAL-$compose run --rm -T --no-deps migrate}
[ ! -d "$file" ] || file=$(find "$file" -name 'portal-*.dump' | sort | tail -n 1)
at=$(basename "$file" | sed -nE 's/^portal-([0-9]{4})([0-9]{2})([0-9]{2})T([0-9]{2})([0-9]{2})([0-9]{2})Z\.dump$/\1-\2-\3T\4:\5:\6Z/p')
[ -n "$at" ] || { echo "drill: there is no backup called portal-TIME.dump here" >&2; exit 1; }

echo "drill: $file, begun at $at"
(cd "$(dirname "$file")" && sha256sum --check --quiet "$file.sha256")
$postgres dropdb --if-exists "$copy"
trap '$postgres dropdb --if-exists "$copy"' EXIT
$postgres createdb "$copy"
$postgres pg_restore --exit-on-error --dbname="$copy" <"$file"
for table in orders_order orders_bookingattempt tracking_trackingevent billing_charge accounts_audit; do
    echo "drill: $($postgres psql --dbname="$copy" -Atc "SELECT count(*) FROM $table") rows of $table"
done
$portal env copy="$copy" sh -euc '
    beside() { echo "$1" | sed -E "s|(//[^/]*/)[^?]*|\1$copy|"; } # the same server, and never the database in use
    export DATABASE_URL=$(beside "$DATABASE_URL") MIGRATE_DATABASE_URL=$(beside "${MIGRATE_DATABASE_URL-}")
    case $DATABASE_URL in *"/$copy"*) ;; *) echo "drill: DATABASE_URL names no database" >&2; exit 1 ;; esac
    mark=$(mktemp -d)
    cp "$RESTORE_MARK_FILE" "$mark/stamp"
    [ ! -f "${ERASED_FILE-}" ] || cp "$ERASED_FILE" "$mark/erased"
    export RESTORE_MARK_FILE="$mark/stamp" ERASED_FILE="$mark/erased" REDIS_URL=redis://:none@127.0.0.1:1/0
    python manage.py migrate --noinput --verbosity 0
    said=$(python manage.py backup_taken 2>&1) || true
    case $said in
        *"restored from a backup"*) ;;
        *) echo "drill: the copy is not recognised: $said" >&2; exit 1 ;;
    esac
    python manage.py after_restore --backup-at '"$at"'
    python manage.py backup_taken
    rm -r "$mark"'
echo "drill: passed"
