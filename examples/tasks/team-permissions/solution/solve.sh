#!/bin/bash
# From the general rule to its exceptions; links are left alone.
set -euo pipefail
cd /work/share
find . ! -type l -exec chown alice:editors {} +
find . -type d -exec chmod 0770 {} +
find . -type f -exec chmod 0660 {} +
find . -type f -name '*.sh' -exec chmod 0750 {} +
chmod 1770 drafts
find private -type d -exec chmod 0700 {} +
find private -type f -exec chmod 0600 {} +
chown bob drafts/bob-*
chmod 0775 . public
chmod 0644 public/index.html
