#!/usr/bin/env bash
# Do two photos show the same person? With more than two, the first is compared with the others, all of one person.
#   FACEMATCH_URL=http://127.0.0.1:8080 FACEMATCH_KEY=… match.sh ONE.jpg TWO.jpg [THREE.jpg …]
# Exit codes: 0 a match, 1 no match, 2 an error. Needs bash and curl.
set -u

max_attempts=4
longest_wait_s=60 # a longer Retry-After is not worth waiting for here: give up instead of coming too early
timeout_s=60

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
head=$folder/head body=$folder/body

# The first member of that name, which is the answer's own; to read more of an answer, use jq.
member() {
  grep -oE "\"$1\":(\"([^\"\\]|\\\\.)*\"|[^,}]*)" "$body" | head -n 1 | sed -E 's/^"[^"]*"://; s/^"//; s/"$//'
}

# A path as curl's -F takes it, whatever is in it.
quoted() {
  local path=${1//\\/\\\\}
  printf '"%s"' "${path//\"/\\\"}"
}

send() {
  local first=$1 path='' image fields=()
  shift
  [ $# -eq 1 ] || path=/person
  for image in "$@"; do fields+=(-F "image2=@$(quoted "$image")"); done
  # The key is read from standard input: arguments are seen by every user of the machine.
  printf 'x-api-key: %s\n' "$FACEMATCH_KEY" |
    curl -sS --max-time "$timeout_s" -H @- -D "$head" -o "$body" -w '%{http_code}' \
      -F "image1=@$(quoted "$first")" "${fields[@]}" \
      "$url/API/v1.0/face/match/upload$path" 2>"$folder/stderr"
}

for ((attempt = 1; ; attempt++)); do
  : >"$head" >"$body"
  status=$(send "$@")
  curl_code=$?
  retry_after=''
  case $curl_code in
  0) # An answer.
    [ "$status" = 200 ] && break
    reason="$status $(member code): $(member detail) (request_id $(member request_id))"
    case $status in
    429 | 503) retry_after=$(grep -iE '^retry-after: *[0-9]+[[:space:]]*$' "$head" | tr -dc 0-9) ;;
    *) fail "$reason" ;;
    esac
    ;;
  7 | 52 | 55 | 56) # Nobody listens, or the connection ended before the answer. Sending it again does no harm.
    reason=$(cat "$folder/stderr")
    ;;
  *) fail "$(cat "$folder/stderr")" ;;
  esac
  [ "$attempt" -lt "$max_attempts" ] || fail "$reason; gave up after $attempt attempts"
  [ "${retry_after:-0}" -le "$longest_wait_s" ] || fail "$reason; it asks to wait $retry_after s"
  # What the server asks for, else half a second and twice as much each time; and up to a second more, so that those who
  # were refused together do not come again together.
  if [ -n "$retry_after" ]; then wait_ms=$((retry_after * 1000)); else wait_ms=$((250 << attempt)); fi
  wait_ms=$((wait_ms + RANDOM % 1000))
  printf '%s; waiting %d ms\n' "$reason" "$wait_ms" >&2
  sleep "$(printf '%d.%03d' $((wait_ms / 1000)) $((wait_ms % 1000)))"
done

case $(member match) in
true) verdict=match ;;
false) verdict='no match' ;;
*) fail "200, but no answer of facematch: $(head -c 200 "$body")" ;;
esac
beyond=''
[ "$(member extrapolated)" = true ] && beyond=', calculated beyond what was measured'
printf '%s: %s %%%s (the threshold is %s %%)\n' \
  "$verdict" "$(member confidence_percent)" "$beyond" "$(member threshold_percent)"
grep -oE '"warnings":\[.*\]' "$body" | grep -oE '"detail":"([^"\]|\\.)*"' | sed -E 's/^"detail":"(.*)"$/warning: \1/'
[ "$verdict" = match ]
