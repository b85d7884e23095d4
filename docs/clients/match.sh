#!/usr/bin/env bash
# Do two photos show the same person? With more than two, the first is compared with the others, all of one person.
#   FACEMATCH_URL=http://127.0.0.1:8080 FACEMATCH_KEY=… match.sh ONE.jpg TWO.jpg [THREE.jpg …]
# Exit codes: 0 a match, 1 no match, 2 an error. Needs bash and curl 7.71.
set -u

fail() {
  printf 'error: %s\n' "$*" >&2
  exit 2
}

[ $# -ge 2 ] || fail 'usage: match.sh IMAGE1 IMAGE2 [IMAGE2 …]'
[ -n "${FACEMATCH_KEY:-}" ] || fail 'put your API key into FACEMATCH_KEY'
url=${FACEMATCH_URL:-http://127.0.0.1:8080}
while [[ $url == */ ]]; do url=${url%/}; done
for file in "$@"; do [ -r "$file" ] || fail "$file cannot be read"; done

folder=$(mktemp -d) || exit 2
trap 'rm -rf "$folder"' EXIT
body=$folder/body

# Returns the first member of that name, which belongs to the response itself. Use jq to read more.
member() {
  grep -oE "\"$1\":(\"([^\"\\]|\\\\.)*\"|[^,}]*)" "$body" | head -n 1 | sed -E 's/^"[^"]*"://; s/^"//; s/"$//'
}

# A path as curl's -F takes it, whatever is in it.
quoted() {
  local path=${1//\\/\\\\}
  printf '"%s"' "${path//\"/\\\"}"
}

path='' images=(-F "image1=@$(quoted "$1")")
[ $# -eq 2 ] || path=/person
for image in "${@:2}"; do images+=(-F "image2=@$(quoted "$image")"); done
# A match changes nothing, so it is sent again if no server listens, the connection ends before the response, or the server has no room
# or asks to wait: up to three times, and not where it asks for more than a minute.
# The key is read from standard input: arguments are seen by every user of the machine.
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
