#!/usr/bin/env bash
# usage: commit_test.sh COMMIT_CMAKE FOLDER: check what cmake/commit.cmake writes: clean, changed, with a new file, without git, and
# inside another repository. Exit status 77 without git. Works in FOLDER.
set -uo pipefail

# shellcheck source=tests/support/frame.sh
source "$(dirname "$0")/../support/frame.sh"

script=$(realpath "$1")
folder=$(realpath -m "$2")
export GIT_CEILING_DIRECTORIES=$folder # a repository around FOLDER does not count
export GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b

writes() # SOURCE COMMIT
{
    cmake -D SOURCE="$1" -D HEADER="$folder/commit.h" -P "$script" || complain "commit.cmake failed"
    [[ $(<"$folder/commit.h") == "#define LOCKSTEP_COMMIT \"$2\"" ]] || complain "$1: $(<"$folder/commit.h"), where it should be $2"
}

command -v git >/dev/null || { echo "commit_test: skipped, there is no git" && exit 77; }
rm -rf "$folder"
mkdir -p "$folder/repository/inner" "$folder/none"
git -C "$folder/repository" init -q
echo one >"$folder/repository/file"
git -C "$folder/repository" add file
git -C "$folder/repository" commit -qm one
git -C "$folder/repository" tag v1
commit=$(git -C "$folder/repository" rev-parse HEAD)
writes "$folder/repository" "${commit:0:12}"
touch -d 2001-01-01 "$folder/commit.h"
writes "$folder/repository" "${commit:0:12}"
[[ $(date -r "$folder/commit.h" +%Y) == 2001 ]] || complain "an unchanged header was written again"
touch "$folder/repository/new"
writes "$folder/repository" "${commit:0:12}"
echo two >"$folder/repository/file"
writes "$folder/repository" "${commit:0:12}-dirty"
writes "$folder/none" unknown
writes "$folder/repository/inner" unknown
((failed)) || echo "The commit is as git has it."
exit "$failed"
