#!/bin/bash
# A folder in which every owner and mode is more or less wrong.
set -euo pipefail
groupadd --gid 3000 editors
useradd --uid 3001 --groups editors alice
useradd --uid 3002 --groups editors bob
useradd --uid 3003 carol
mkdir -p /work/share/{drafts,private/keys,public,tools} /work/outside
cd /work/share
echo 'the plan' > drafts/bob-plan.md
echo 'an outline' > drafts/alice-outline.md
echo 'not a real key' > private/keys/deploy.pem
echo 'remember' > private/notes.txt
echo '<h1>Hello</h1>' > public/index.html
printf '#!/bin/sh\necho tidy\n' > tools/tidy.sh
echo 'how to tidy' > tools/README.md
echo 'name with a space' > 'tools/to do.txt'
echo 'leave me' > /work/outside/kept.txt
ln -s /work/outside/kept.txt tools/kept
chown -R root:root /work/share
chmod -R 777 /work/share/drafts /work/share/private
chmod 600 tools/tidy.sh public/index.html
chmod 640 /work/outside/kept.txt
