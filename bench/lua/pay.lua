-- Customers pay, each request the next payment. Arguments: the PIN, a file of sessions, and a file of pending ids.
-- When the ids run out the last is paid again, which is refused, and the run with it.
dofile("done.lua")

function init(args)
  body = '{"pin":"' .. args[1] .. '"}'
  headers, ids = {}, {}
  for session in io.lines(args[2]) do
    headers[#headers + 1] = { ["Authorization"] = "Bearer " .. session, ["Content-Type"] = "application/json" }
  end
  for id in io.lines(args[3]) do ids[#ids + 1] = id end
  used = 0
end

function request()
  used = used + 1
  local path = "/api/v1/wallet/remote-payments/" .. (ids[used] or ids[#ids]) .. "/pay"
  return wrk.format("POST", path, headers[1 + used % #headers], body)
end
