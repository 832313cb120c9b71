# Sourced with $here set to this directory and $entry to the program; runs a clone from source and a package from what was built.
. "$here/find-node.sh"
main=$root/src/$entry.ts
[ -f "$main" ] || main=$root/src/$entry.js
exec "$node" --require "$here/preload.cjs" "$main" "$@"
