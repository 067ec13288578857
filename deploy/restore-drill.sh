#!/bin/sh
# Restore the newest backup of a folder, or one file, into a database beside the one in use, see that the copy is
# recognised as restored and that after_restore fences it, count what is in it, and drop it again:
#   deploy/restore-drill.sh /srv/backups
# Ends with 0 when the backup can be restored. The database in use, its mark and the broker are not touched.
set -eu
file=$(realpath "${1:?name the folder of the backups, or one of them}")
cd "$(dirname "$0")/.."
compose="docker compose --env-file .env -f deploy/compose.yaml"
export DATABASE_NAME="portal_drill${DRILL:+_$DRILL}" # the migrate container takes it; DRILL tells two drills apart
postgres=${POSTGRES-$compose exec -T --env PGUSER=postgres --env PGDATABASE=postgres postgres}
portal=${PORTAL-$compose run --rm -T --no-deps migrate}
[ ! -d "$file" ] || file=$(find "$file" -name 'portal-*.dump' | sort | tail -n 1)
at=$(basename "$file" | sed -nE 's/^portal-([0-9]{4})([0-9]{2})([0-9]{2})T([0-9]{2})([0-9]{2})([0-9]{2})Z\.dump$/\1-\2-\3T\4:\5:\6Z/p')
[ -n "$at" ] || { echo "drill: there is no backup called portal-TIME.dump here" >&2; exit 1; }

echo "drill: $file, begun at $at"
(cd "$(dirname "$file")" && sha256sum --check --quiet "$file.sha256")
$postgres dropdb --if-exists "$DATABASE_NAME"
trap '$postgres dropdb --if-exists "$DATABASE_NAME"' EXIT
$postgres createdb "$DATABASE_NAME"
$postgres pg_restore --exit-on-error --dbname="$DATABASE_NAME" <"$file"
for table in orders_order orders_bookingattempt tracking_trackingevent billing_charge accounts_audit; do
    echo "drill: $($postgres psql --dbname="$DATABASE_NAME" -Atc "SELECT count(*) FROM $table") rows of $table"
done
$portal sh -euc '
    mark=$(mktemp -d)
    cp "$RESTORE_MARK_FILE" "$mark/stamp"
    export RESTORE_MARK_FILE="$mark/stamp" REDIS_URL=redis://:none@127.0.0.1:1/0
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
