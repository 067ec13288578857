#!/bin/sh
# Back up the database into a folder, stamp it, and delete the backups past their term:
#   BACKUP_DAYS=35 deploy/backup.sh /srv/backups
# Ends with 0 when all is done, 1 when there is no new backup, 3 when there is one that is not stamped: run it again.
# Outside of compose, both name what a program is run through, and may be empty for this very machine:
#   POSTGRES  for pg_dump, which finds its server by the PG… variables of libpq
#   PORTAL    for `python manage.py …`, with the portal's settings in its environment
set -u
umask 077
compose="docker compose --env-file .env -f deploy/compose.yaml"
postgres=${POSTGRES-$compose exec -T --env PGUSER=portal --env PGDATABASE=portal postgres}
portal=${PORTAL-$compose exec -T web-a}
folder=$(cd "${1:?name the folder of the backups}" && pwd) || exit 1
cd "$(dirname "$0")/.." || exit 1
name=$folder/portal-$(date -u +%Y%m%dT%H%M%SZ).dump

fail() { echo "backup: $2" >&2; exit "$1"; }

trap 'rm -f "$name.part"' EXIT
$postgres pg_dump --format=custom >"$name.part" || fail 1 "pg_dump failed"
mv "$name.part" "$name" && (cd "$folder" && sha256sum "$(basename "$name")" >"$name.sha256") || fail 1 "$name is not there"
sync "$name" "$name.sha256" "$folder" || fail 1 "$name is not on the disk"
$portal python manage.py backup_taken || fail 3 "$name is not stamped, so a restore of it would not be recognised"
find "$folder" -name 'portal-*.dump*' -mtime "+${BACKUP_DAYS:-35}" -delete || fail 1 "old backups are still there"
echo "backup: $name, $(wc -c <"$name") bytes"
