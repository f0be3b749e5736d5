-- A merchant's server retrieves payments. Arguments: the API key, a seed, and a file of ids, one a line.
dofile("done.lua")

function init(args)
  local headers = { ["Authorization"] = "Bearer " .. args[1] }
  math.randomseed(tonumber(args[2]))
  requests = {}
  for id in io.lines(args[3]) do
    requests[#requests + 1] = wrk.format("GET", "/api/v1/remote-payments/" .. id, headers)
  end
end

function request() return requests[math.random(#requests)] end
