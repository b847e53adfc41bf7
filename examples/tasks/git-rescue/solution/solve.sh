#!/bin/bash
# The lost commit is in the reflog, under its message.
set -euo pipefail
lost=$(git reflog --format='%H %gs' main | awk '/commit: Third day, lost/ {print $1; exit}')
git branch rescued "$lost"
git tag lost-and-found "$lost"
