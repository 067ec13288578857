#!/bin/sh
# Write into .env which image each tag of compose.yaml stands for today, by its digest: nothing else is run from then on.
# Run it again to take newer ones, then `up --detach --build`.
set -eu
umask 077
cd "${1:-$(dirname "$0")/..}" # the folder of .env
trap 'rm -f .env.new .env.images' EXIT
grep -vE '^[A-Z]+_IMAGE=' .env >.env.new
sed -nE 's/.*\$\{([A-Z]+_IMAGE):-([^}]+)\}.*/\1 \2/p' deploy/compose.yaml | sort -u >.env.images
while read -r setting image; do
    digest=$(docker buildx imagetools inspect --format '{{.Manifest.Digest}}' "$image" </dev/null)
    case $digest in
        sha256:*) echo "$setting=$image@$digest" | tee -a .env.new ;;
        *) echo "pin-images: no digest of $image" >&2; exit 1 ;;
    esac
done <.env.images
mv .env.new .env
