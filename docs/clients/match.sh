#!/usr/bin/env bash
# Compares two photos. With more than two, it compares the first with the others, which must all show one person.
#   FACEMATCH_URL=http://127.0.0.1:8080 FACEMATCH_KEY=… match.sh ONE.jpg TWO.jpg [THREE.jpg …]
# Exit codes: 0 match, 1 no match, 2 error. Requires bash and curl 7.71.
set -u

fail() {
  printf 'error: %s\n' "$*" >&2
  exit 2
}

[ $# -ge 2 ] || fail 'usage: match.sh IMAGE1 IMAGE2 [IMAGE2 …]'
[ -n "${FACEMATCH_KEY:-}" ] || fail 'set FACEMATCH_KEY to your API key'
url=${FACEMATCH_URL:-http://127.0.0.1:8080}
while [[ $url == */ ]]; do url=${url%/}; done
for file in "$@"; do [ -r "$file" ] || fail "cannot read $file"; done

folder=$(mktemp -d) || exit 2
trap 'rm -rf "$folder"' EXIT
body=$folder/body

# Prints the first member with this name, which is at the top level. To read more, use jq.
member() {
  grep -oE "\"$1\":(\"([^\"\\]|\\\\.)*\"|[^,}]*)" "$body" | head -n 1 | sed -E 's/^"[^"]*"://; s/^"//; s/"$//'
}

# Quotes a path for curl's -F.
quoted() {
  local path=${1//\\/\\\\}
  printf '"%s"' "${path//\"/\\\"}"
}

path='' images=(-F "image1=@$(quoted "$1")")
[ $# -eq 2 ] || path=/person
for image in "${@:2}"; do images+=(-F "image2=@$(quoted "$image")"); done
# A match changes nothing on the server, so curl retries up to three times within a minute: after a failed connection, a
# timeout, a server error, 408 or 429. curl reads the key from standard input, because every user of the machine can see
# arguments.
status=$(printf 'x-api-key: %s\n' "$FACEMATCH_KEY" |
  curl -sS -H @- -o "$body" -w '%{http_code}' --max-time 60 --retry 3 --retry-all-errors --retry-max-time 60 \
    "${images[@]}" "$url/API/v1.0/face/match/upload$path" 2>"$folder/stderr") || fail "$(tail -n 1 "$folder/stderr")"
[ "$status" = 200 ] || fail "$status $(member code): $(member detail) (request_id $(member request_id))"

case $(member match) in
true) verdict=match ;;
false) verdict='no match' ;;
*) fail "200, but not a response of facematch: $(head -c 200 "$body")" ;;
esac
beyond=''
[ "$(member extrapolated)" = true ] && beyond=', beyond the measured range'
printf '%s: %s %%%s (the threshold is %s %%)\n' \
  "$verdict" "$(member confidence_percent)" "$beyond" "$(member threshold_percent)"
grep -oE '"warnings":\[.*\]' "$body" | grep -oE '"detail":"([^"\]|\\.)*"' | sed -E 's/^"detail":"(.*)"$/warning: \1/'
[ "$verdict" = match ]
