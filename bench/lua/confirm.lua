-- Customers confirm on the pay page, each request the next payment. Argument: a file of path, cookie and body, line by line.
-- When the lines run out the last is sent again, which pays nothing: whoever counts what was paid notices.
dofile("done.lua")

function init(args)
  requests = {}
  for line in io.lines(args[1]) do
    local path, cookie, body = line:match("(%S+) (%S+) (%S+)")
    local headers = { ["Cookie"] = cookie, ["Content-Type"] = "application/x-www-form-urlencoded" }
    requests[#requests + 1] = wrk.format("POST", path, headers, body)
  end
  used = 0
end

function request()
  used = used + 1
  return requests[used] or requests[#requests]
end
