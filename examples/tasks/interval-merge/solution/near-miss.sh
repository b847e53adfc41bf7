#!/bin/bash
# Forgets one rule after the solution: a single integer is written as a range again.
set -euo pipefail
sed -i 's/str(start) if end == start + 1 else //' /work/intervals/text.py
