# Sourced with $here set to this directory, $entry to the program and perhaps $flags of Node; runs a clone from source and a package from what was built.
. "$here/find-node.sh"
main=$root/src/$entry.ts
[ -f "$main" ] || main=$root/src/$entry.js
exec "$node" $flags --require "$here/preload.cjs" "$main" "$@"
