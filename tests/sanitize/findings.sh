#!/usr/bin/env bash
# Remove or print the sanitizers' reports of a test run. usage: findings.sh clear|show FOLDER
set -euo pipefail
folder=$2
mkdir -p "$folder"
[ "$1" = show ] || { rm -f "$folder"/*; exit 0; }
found=("$folder"/*)
[ -e "${found[0]}" ] || { echo "findings: none"; exit 0; }
cat "${found[@]}"
echo "findings: ${#found[@]} processes, in $folder"
exit 1
