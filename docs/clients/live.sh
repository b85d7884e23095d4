#!/usr/bin/env bash
# Checks that a live person is in front of the camera: gets a challenge, then sends frames that show its steps.
#   export FACEMATCH_URL=http://127.0.0.1:8080 FACEMATCH_KEY=…
#   live.sh challenge                                   prints the token, and the steps on the next line
#   live.sh check TOKEN REFERENCE.jpg FRAME1.jpg …      sends 6 to 16 frames in capture order, the first frontal
# Exit codes: 0 verified, 1 not verified, 2 error. Requires bash and curl 7.71.
set -u

fail() {
  printf 'error: %s\n' "$*" >&2
  exit 2
}

usage='usage: live.sh challenge | live.sh check TOKEN REFERENCE FRAME FRAME FRAME FRAME FRAME FRAME …'
[ -n "${FACEMATCH_KEY:-}" ] || fail 'set FACEMATCH_KEY to your API key'
url=${FACEMATCH_URL:-http://127.0.0.1:8080}
while [[ $url == */ ]]; do url=${url%/}; done

folder=$(mktemp -d) || exit 2
trap 'rm -rf "$folder"' EXIT
body=$folder/body

# Prints the first member of this name. To read more of a response, use jq.
member() {
  grep -oE "\"$1\":(\"([^\"\\]|\\\\.)*\"|\[[^]]*\]|[^,}]*)" "$body" | head -n 1 | sed -E 's/^"[^"]*"://; s/^"//; s/"$//'
}

# Quotes a path for curl's -F.
quoted() {
  local path=${1//\\/\\\\}
  printf '"%s"' "${path//\"/\\\"}"
}

# ask PATH STATUS ARGUMENTS…: curl reads the key from standard input, because every user of the machine can see
# arguments. There are no retries, because a challenge is accepted once.
ask() {
  local path=$1 wanted=$2 status
  shift 2
  status=$(printf 'x-api-key: %s\n' "$FACEMATCH_KEY" |
    curl -sS -H @- -o "$body" -w '%{http_code}' --max-time 60 "$@" "$url/API/v1.0/face/match/$path" \
      2>"$folder/stderr") || fail "$(tail -n 1 "$folder/stderr")"
  [ "$status" = "$wanted" ] || fail "$status $(member code): $(member detail) (request_id $(member request_id))"
}

case ${1:-} in
challenge)
  ask challenge 201 -X POST
  member challenge
  member steps | tr -d '[]"' | tr ',' ' '
  ;;
check)
  [ $# -ge 9 ] || fail "$usage"
  for file in "${@:3}"; do [ -r "$file" ] || fail "cannot read $file"; done
  parts=(-F "challenge=$2" -F "image2=@$(quoted "$3")")
  for frame in "${@:4}"; do parts+=(-F "frame=@$(quoted "$frame")"); done
  ask upload/live 200 "${parts[@]}"
  printf 'verified: %s (live: %s %s, match: %s, %s %%)\n' "$(member verified)" "$(member live)" \
    "$(member live_reasons)" "$(member match)" "$(member confidence_percent)"
  [ "$(member verified)" = true ]
  ;;
*) fail "$usage" ;;
esac
