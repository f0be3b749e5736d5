-- What every script ends with: one line of JSON. wrk exits 0 whatever happens, so the counts of failures are in it.
local worker
function setup(thread) worker = thread end

function done(summary, latency)
  local e = summary.errors
  print(string.format(
    '{"requests":%d,"per_s":%.1f,"p50_ms":%.3f,"p99_ms":%.3f,"bad_status":%d,"socket_errors":%d,"used":%d}',
    summary.requests, summary.requests / summary.duration * 1e6,
    latency:percentile(50) / 1000, latency:percentile(99) / 1000,
    e.status, e.connect + e.read + e.write + e.timeout, worker:get("used") or 0))
end
