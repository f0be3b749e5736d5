-- The yardstick: one request, made once.
dofile("done.lua")
