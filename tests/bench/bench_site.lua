-- bench_site.lua - for wrk: asks for the addresses in a file, in an order of its own each time.
local paths = {}

function init(args)
    for line in io.lines(args[1]) do
        paths[#paths + 1] = line
    end
    math.randomseed(os.time())
end

function request()
    return wrk.format("GET", paths[math.random(#paths)])
end
