#!/bin/bash
# A repository with fixed dates, so that its commits have the same ids wherever it is built.
set -euo pipefail
export HOME=/root
git config --system user.name 'Robin Author'
git config --system user.email 'robin@example.com'
git init --quiet --initial-branch=main /work/notes
cd /work/notes
chapter() {
  export GIT_AUTHOR_DATE="2024-05-0$1T10:00:00Z" GIT_COMMITTER_DATE="2024-05-0$1T10:00:00Z"
  printf '# Chapter %s\n\nNotes of day %s.\n' "$1" "$1" > "chapter-$1.md"
  git add "chapter-$1.md"
  git commit --quiet --message "$2"
}
chapter 1 'Begin the notes'
chapter 2 'Second day'
git checkout --quiet -b side
chapter 4 'A side track that nobody asked for'
git checkout --quiet main
git branch --quiet -D side
chapter 3 'Third day, lost'
git reset --quiet --hard HEAD~1
