-- Merchants' servers retrieve payments. Arguments: a file of API keys, a seed, and a file of ids, one a line, each with
-- the number of its key unless there is but one.
dofile("done.lua")

function init(args)
  local shops = {}
  for key in io.lines(args[1]) do shops[#shops + 1] = { ["Authorization"] = "Bearer " .. key } end
  math.randomseed(tonumber(args[2]))
  requests = {}
  for line in io.lines(args[3]) do
    local id, shop = line:match("^(%d+) ?(%d*)$")
    requests[#requests + 1] = wrk.format("GET", "/api/v1/remote-payments/" .. id, shops[tonumber(shop) or 1])
  end
end

function request() return requests[math.random(#requests)] end
