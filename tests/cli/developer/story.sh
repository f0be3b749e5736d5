# A developer's first quarter of an hour, in an empty folder: the demo, a receiver, an event that is verified.
# As variables: PROGRAM (qirsh), PYTHON, RECEIVER (the file of the docs), URL (where it listens).
set -eu
trap 'kill $(jobs -p) 2>/dev/null; wait' EXIT

wait_for() {  # WORDS FILE
    for _ in $(seq 600); do
        if grep -q "$1" "$2" 2>/dev/null; then return 0; fi
        sleep 0.1
    done
    echo "$1 did not come:"; cat "$2" errors; exit 1
}

"$PROGRAM" demo --port 0 >demo 2>errors &
wait_for '^# 4' demo
set -a; eval "$("$PROGRAM" status --env)"; set +a

"$PROGRAM" listen --forward-to "$URL" >listen 2>>errors &
wait_for whsec_ listen
"$PYTHON" "$RECEIVER" "$(sed -n 's/.*\(whsec_[^ ]*\).*/\1/p' listen)" >received 2>>errors &
for _ in $(seq 600); do curl -s -o answer "$URL" && break; sleep 0.1; done

"$PROGRAM" trigger remote_payment.paid --metadata order=1061 | tee triggered
wait_for '^verified remote_payment.paid' received
wait_for ' 204 ' listen
cat received listen
