-- Sends the requests of a file in turn, each a path, a tab and an API key, and prints the result as one line.
local requests = {}
local next = 0

function init(arguments)
  for line in io.lines(arguments[1]) do
    local path, key = line:match("([^\t]*)\t(.*)")
    requests[#requests + 1] = wrk.format("GET", path, {["Host"] = wrk.headers["Host"], ["X-API-Key"] = key})
  end
end

function request()
  next = next % #requests + 1
  return requests[next]
end

function done(summary, latency)
  local e = summary.errors
  io.write(string.format("result %d %d %d %d %d %d\n", summary.requests, summary.duration, latency:percentile(50), latency:percentile(99),
    e.status, e.connect + e.read + e.write + e.timeout))
end
