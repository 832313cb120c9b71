#!/bin/sh
# The least that is an agent: it reads its turn and answers.
cat >/dev/null
echo '{"type":"done","text":"ok"}'
