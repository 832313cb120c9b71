# Sourced with $here set to this directory, $name to the program, $entry to its source and perhaps $flags of Node; runs a clone from source and a package from its bundle.
. "$here/find-node.sh"
bundle=$root/bundle/$name
if [ -f "$bundle.js" ]; then
  # Help is made when the package is built, wrapped at 80 columns.
  case $#$1 in 1--help | 1-h) exec cat "$bundle.help" ;; esac
  main=$bundle.js
else
  main=$root/src/$entry.ts
fi
exec "$node" $flags --require "$here/preload.cjs" "$main" "$@"
