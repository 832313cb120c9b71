#!/bin/sh
# An agent that starts 500 processes, or allocates 2 GB, as it is told.
case "$(cat)" in
*processes*) exec perl -e 'for (1..500) { fork or last } sleep 600' ;;
*) exec perl -e '$x = "x" x 1100000000; sleep 600' ;;
esac
