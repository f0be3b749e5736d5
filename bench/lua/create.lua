-- Merchants' servers create payments in turn. Arguments: a file of API keys, a seed, and the metadata; without metadata
-- there is no Idempotency-Key either. Those are random like UUIDs: it is what clients send, and what an index finds
-- hardest.
dofile("done.lua")

function init(args)
  shops = {}
  for key in io.lines(args[1]) do
    shops[#shops + 1] = { ["Authorization"] = "Bearer " .. key, ["Content-Type"] = "application/json" }
  end
  math.randomseed(tonumber(args[2]))
  metadata = args[3]
  count = 0
end

local function uuid()
  local r = math.random
  return string.format("%08x-%04x-4%03x-%04x-%06x%06x", r(0, 0xffffffff), r(0, 0xffff), r(0, 0xfff),
    r(0x8000, 0xbfff), r(0, 0xffffff), r(0, 0xffffff))
end

function request()
  count = count + 1
  local headers = shops[1 + count % #shops]
  local body = string.format('{"amount":%d,"currency":"SYP","note":"order %d"', 1 + count % 100000, count)
  if metadata then
    headers["Idempotency-Key"] = uuid()
    body = body .. ',"metadata":' .. metadata
  end
  return wrk.format("POST", nil, headers, body .. "}")
end
