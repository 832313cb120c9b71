# Sourced with $here set to this directory; sets $root and $node.
root=${here%/*}
# A clone brings its own Node, because many machines have only an older one.
node=$root/node_modules/.bin/node
[ -x "$node" ] || node=$(command -v node) || {
  echo 'substrat needs Node 22.18 or newer, and there is no node on the PATH.' >&2
  exit 1
}
